/*
 * inherited.h - state that a program takes over from the process that started it.
 *
 * exec(2) keeps ignored and blocked signals, descriptors, the umask and the working directory. A
 * program that waits for its children, ends on a signal or serves for weeks depends on all of them,
 * so each main() brings them to known values first. Libc only, for the helper's sake.
 */
#pragma once

#include <sys/types.h>

/*
 * The first call of a main(). Every signal has its default action, except those by which nohup(1)
 * and shells shield a program (HUP, INT, QUIT, TSTP, TTIN, TTOU), which stay ignored; none is
 * blocked; the three standard streams are open, a closed one for reading; the umask is 0. Returns
 * the umask of the caller, for files that are made in the caller's name.
 *
 * Descriptors and the working directory stay, because words of the command line may refer to them.
 */
mode_t inherited_reset(void);

/*
 * Closes every descriptor above the standard streams: locks, pipes and sockets of the caller. For a
 * program that outlives its caller. To be called once the program has opened or resolved the files
 * of its command line, and before it opens a file to keep.
 */
void inherited_close(void);
