/*
 * daemon.h - into the background, leaving behind a parent that tells how it went.
 *
 *      child   daemon_split ... daemon_say ... daemon_serving    (or daemon_failed, at any time)
 *      parent  daemon_split, daemon_wait: passes on what the child says, tries the mount itself once the child says that
 *              it serves, and returns the exit status
 *
 * The child reports over a pipe that it keeps, so that a mount that fails right after it began is still explained.
 */
#pragma once

#include "tools/exits.h"

#include <stdbool.h>
#include <sys/types.h>

struct daemon {
	pid_t child; /* 0: this is the child; -1: nothing was split, all is in the foreground */
	int fd;      /* of the pipe; -1 in the foreground */
};

#define DAEMON_FOREGROUND                                                                          \
	{                                                                                          \
		.child = -1, .fd = -1                                                              \
	}

/* Forks; both sides return. Before threads start: fork keeps only its caller. */
enum err daemon_split(struct daemon *d, struct error *e);

static inline bool daemon_is_parent(const struct daemon *d)
{
	return d->child > 0;
}

/* Until the mount answers, or does not: then nothing of it is left, and why stands on stderr. */
enum exits daemon_wait(struct daemon *d, const char *mountpoint);

/* The child's side; in the foreground the first two print at once and the last only leaves the directory. */

/* A line for whoever started us, on stdout. */
__attribute__((format(printf, 2, 3))) void daemon_say(struct daemon *d, const char *format, ...);
void daemon_failed(struct daemon *d, const struct error *why);
/* Leaves the terminal, the session and the directory; from here on nobody sees stderr. */
void daemon_serving(struct daemon *d);
