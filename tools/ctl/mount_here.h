/*
 * mount_here.h - a sandbox that sandboxfs shows in a directory for as long as a command of ours wants it.
 */
#pragma once

#include "tools/ctl/guard.h"
#include "tools/ctl/target.h"

#include <sys/types.h>

struct mount_here {
	char *dir;    /* absolute; owned */
	bool is_made; /* a directory of ours, removed in the end */
	pid_t sandboxfs;
};

/* Whether one could be mounted on `dir` (NULL: on a new directory): asked before there is a sandbox. Errors as below. */
enum err mount_here_check(const char *dir, struct error *e);

/*
 * Mounts `t` on `dir`, or, where that is NULL, on a new directory, with these `-o` options, which are ended by NULL; NULL: no
 * more than `t` says. The guard waits for the end of the mount. ERR_BUSY: a sandbox is mounted there already.
 * ERR_INTERRUPTED: t->call was cancelled. On failure there is nothing to unmount.
 */
enum err mount_here_start(struct mount_here *m, const struct target *t, const struct guard *guard,
	const char *dir, char *const *options, struct error *e);

/* Unmounts when the sandbox has all that was changed. ERR_IO: it has not; sandboxfs has said why. */
enum err mount_here_end(struct mount_here *m, struct error *e);
