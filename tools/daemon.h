/*
 * daemon.h - moves the program into the background; a parent stays and reports the result.
 *
 *      child   daemon_split ... daemon_say ... daemon_serving    (or daemon_failed, at any time)
 *      parent  daemon_split, daemon_wait: passes on the child's lines, tries the mount itself once
 *              the child serves, and returns the exit status
 *
 * The child reports over a pipe and keeps it, so that a mount that fails soon after its start is
 * still explained.
 */
#pragma once

#include "tools/exits.h"

#include <stdbool.h>
#include <sys/types.h>

struct daemon {
	pid_t child; /* 0: this process is the child; -1: no split, all is in the foreground */
	int fd;      /* end of the pipe; -1 in the foreground */
};

#define DAEMON_FOREGROUND                                                                          \
	{                                                                                          \
		.child = -1, .fd = -1                                                              \
	}

/* Forks; both sides return. To be called before threads start: fork keeps only its caller. */
enum err daemon_split(struct daemon *d, struct error *e);

static inline bool daemon_is_parent(const struct daemon *d)
{
	return d->child > 0;
}

/*
 * Waits until the mount answers or fails. On failure the mount is removed, and the reason is on
 * stderr.
 */
enum exits daemon_wait(struct daemon *d, const char *mountpoint);

/*
 * For the child. In the foreground the first two print at once and the last only leaves the
 * directory.
 */

/* A line for the parent's caller, on stdout. */
__attribute__((format(printf, 2, 3))) void daemon_say(struct daemon *d, const char *format, ...);
void daemon_failed(struct daemon *d, const struct error *why);
/* Leaves the terminal, the session and the directory; stderr leads nowhere from here on. */
void daemon_serving(struct daemon *d);
