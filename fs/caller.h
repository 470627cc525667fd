/*
 * caller.h - the process behind a request, as /proc shows it.
 *
 * The kernel names the thread that asked. The number is 0 where the thread is not visible from
 * here: in another PID namespace than the mount's, unless that is below it. Where /proc is that of
 * another namespace no number means anything. A process that cannot be seen gives no reason to act.
 */
#pragma once

#include "fs/lost_signals.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Signals are sets: bit 0 is signal 1. */
struct caller {
	pid_t process;            /* the thread group */
	uint64_t pending;         /* not blocked, and sent to the thread or to the process */
	uint64_t process_pending; /* not blocked, and sent to the process */
	uint64_t shielded;        /* blocked or ignored */
	bool is_exiting;          /* takes signals no longer, and closes its files */
	int killed_by;            /* the signal that ends the process; 0: none */
	pid_t session;            /* number of the session's leader */
	bool has_terminal;
	/* in its terminal's foreground: it gets HUP when the session's leader ends */
	bool is_foreground;
};

/* Reads the texts of /proc/PID/status and /proc/PID/stat. */
bool caller_parse(const char *status, const char *stat, struct caller *out);

/* Whether a pending signal asks the process to stop: INT, TERM, HUP, QUIT or KILL. */
bool caller_is_stopped(const struct caller *caller);

/* The process that `thread` belongs to; `thread` itself where that cannot be read. */
pid_t caller_process(pid_t thread);

/*
 * Whether `thread` is being killed: KILL is pending. The kernel also sets KILL pending once another
 * signal ends a process by default.
 */
bool caller_is_dying(pid_t thread);

/* Whether a signal ends the process, which closes its files thereby. */
bool caller_was_killed(pid_t thread);

/* ---- A caller that waits for an answer ---- */

struct caller_watch {
	pid_t thread;
	bool is_exiting; /* from the beginning of the request to its end: the thread is in it */
	bool may_lose_terminal;
	struct lost_signals lost;
};

void caller_watch_begin(struct caller_watch *w, pid_t thread);
void caller_watch_end(struct caller_watch *w);

/*
 * Whether the caller has a reason to give up. `is_interrupted`: the kernel said that some signal
 * came, as it does for a caller that is not exiting; a resized window sends one, too.
 */
bool caller_gives_up(const struct caller_watch *w, bool is_interrupted);
