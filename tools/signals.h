/*
 * signals.h - INT, TERM and HUP end the mount cleanly; HUP may instead open a new file of records.
 *
 * One thread waits for the signals. No handler runs, so no system call of other threads is ever cut
 * short. Before there is a mount a signal cancels the calls under way. Blocked signals and an
 * ignored SIGPIPE are inherited: code that starts a program restores the defaults for it.
 */
#pragma once

#include "providers/base/call.h"

struct mount;
struct signals;

/* To be called before any other thread starts: threads inherit the blocked signals. */
enum err signals_new(struct signals **out, struct error *e);
void signals_free(struct signals *s);

/* Thrown by the first signal; for calls made before there is a mount. Belongs to `s`. */
const struct cancel *signals_cancel(const struct signals *s);

/* The signal that threw it; 0: none so far. */
int signals_taken(const struct signals *s);

/* Ends the program as that signal would have, so that the parent process sees it. */
_Noreturn void signals_die(int number);

/*
 * From now on HUP makes `audit` open its file again, unless HUP may mean that this process's
 * terminal has gone. NULL: HUP ends the mount.
 */
struct audit;
void signals_reopen(struct signals *s, struct audit *audit);

/*
 * From now on a signal stops `mount`, also a signal that came before; NULL: there is no mount any
 * more.
 */
void signals_stop(struct signals *s, struct mount *mount);
