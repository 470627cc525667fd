/*
 * caller.h - the process behind a request, as /proc tells of it.
 *
 * The kernel names the thread that asked; 0 where that is not visible from here (another PID namespace).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct caller {
	pid_t process; /* the thread group */
	uint64_t
		pending; /* signals that wait for the thread or its process and are not blocked; bit 0 is signal 1 */
};

/* Reads the text of /proc/PID/status. */
bool caller_parse(const char *status, struct caller *out);

/* Whether one of the pending signals asks the process to stop: INT, TERM, HUP, QUIT or KILL. */
bool caller_is_stopped(const struct caller *caller);

/* The process that `thread` belongs to; `thread` itself where that cannot be read. */
pid_t caller_process(pid_t thread);

/* Whether `thread` has a reason to give up what it waits for. What cannot be seen is no reason. */
bool caller_gives_up(pid_t thread);

/* Whether `thread` is being killed: KILL is pending, as it is too once a signal ends a process by default. */
bool caller_is_dying(pid_t thread);
