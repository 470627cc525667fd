/*
 * child.h - programs that sandboxctl starts here.
 */
#pragma once

#include "tools/signals.h"

#include <stdbool.h>
#include <sys/types.h>

struct child_request {
	char *const *argv; /* ended by NULL; the program is looked for as in a shell */
	const char *dir;   /* working directory; NULL: ours */
	/*
	 * Signals of the terminal do not reach the program. It gets TERM when sandboxctl ends for
	 * any reason.
	 */
	bool is_apart;
	mode_t file_mask; /* umask of the program */
	/*
	 * A descriptor that is open as long as the program lives, as its standard input: sandboxfs
	 * keeps no other descriptor that it inherits. 0 or -1: none.
	 */
	int held;
};

/*
 * The program gets the signals as sandboxctl got them from its own caller. The child ends with 127
 * where the program is missing, and with 126 where it cannot be run, with a message.
 */
enum err child_start(const struct child_request *r, pid_t *out, struct error *e);

/*
 * Waits until the program has ended; *status as in waitpid(2). Signals that `s` takes meanwhile are
 * passed on to the program, except those that the terminal sends to both. After TERM or HUP it has
 * ten seconds to end.
 */
void child_wait(pid_t pid, const struct signals *s, int *status);

/* The exit code in a shell's form: 128 and the signal's number where a signal ended the program. */
int child_exit_code(int status);
