/*
 * jail_options.h - bwrap(1) and its options for a jail: what the jail shows, hides and allows.
 *
 * The root of the jail is a directory of the sandbox, read-only: every jail of the sandbox shows
 * the same inodes at the same paths, but for /proc, /dev, /run and the directory /etc, which each
 * jail has for itself. bwrap makes the missing points for mounts in that directory. No command can
 * write there, so no link of a command's is ever on the way to such a point.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "providers/local/bubblewrap.h"

/* The descriptors of bwrap. The last one is only for a long command. */
enum jail_fd {
	JAIL_IN,
	JAIL_OUT,
	JAIL_ERR,
	JAIL_ARGS,
	JAIL_INFO,
	JAIL_REPORT,
	JAIL_FILTER,
	JAIL_GATE,
	JAIL_RESOLV,
	JAIL_TEXT,
	JAIL_FDS
};
/* No descriptors. */
#define JAIL_FDS_NONE                                                                              \
	{                                                                                          \
		-1, -1, -1, -1, -1, -1, -1, -1, -1, -1                                             \
	}

/*
 * Opens JAIL_ARGS, JAIL_FILTER and, where the jail needs it, JAIL_RESOLV: `fds` is the caller's to
 * close, also after a failure. `own`: more options, for this process alone, and `env` its
 * variables; both end with NULL, and `env` may be NULL.
 */
enum err jail_options_open(const struct jail *jail, const char *const *own, const char *const *env,
	int fds[JAIL_FDS], struct error *e);

/* Starts bwrap with the first `count` of `fds`. ERR_UNSUPPORTED: it is not installed. */
enum err jail_start(
	pid_t *pid, const char *const *argv, const int *fds, size_t count, struct error *e);
