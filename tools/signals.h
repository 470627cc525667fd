/*
 * signals.h - INT, TERM and HUP end the mount cleanly; HUP may stand for a new file of records.
 *
 * One thread waits for them; no handler runs, so that no system call of the others is ever cut short. Before there is a
 * mount they cancel what is being waited for. Blocked signals and an ignored SIGPIPE are inherited: who starts a program
 * gives it back the defaults.
 */
#pragma once

#include "providers/base/call.h"

struct mount;
struct signals;

/* Before any other thread starts: those inherit what is blocked here. */
enum err signals_new(struct signals **out, struct error *e);
void signals_free(struct signals *s);

/* Thrown by the first signal; for calls made before there is a mount. Belongs to `s`. */
const struct cancel *signals_cancel(const struct signals *s);

/* The signal that threw it; 0: none did yet. */
int signals_taken(const struct signals *s);

/* Ends the program as that signal would have, so that whoever started it knows. */
_Noreturn void signals_die(int number);

/*
 * From now on HUP has `audit` open its file again, where this process has no terminal that could
 * have gone; NULL: HUP ends the mount.
 */
struct audit;
void signals_reopen(struct signals *s, struct audit *audit);

/* From now on a signal stops `mount`, also one that came before; NULL: there is none any more. */
void signals_stop(struct signals *s, struct mount *mount);
