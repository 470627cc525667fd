/*
 * mount_here.h - a sandbox that sandboxfs shows in a directory for as long as a command of ours
 * needs it.
 */
#pragma once

#include "tools/ctl/guard.h"
#include "tools/ctl/target.h"

#include <sys/types.h>

struct mount_here {
	char *dir;    /* absolute; owned */
	bool is_made; /* a new directory of ours, which is removed at the end */
	pid_t sandboxfs;
};

/*
 * Whether a sandbox could be mounted on `dir` (NULL: on a new directory). Asked before there is a
 * sandbox. Errors as below.
 */
enum err mount_here_check(const char *dir, struct error *e);

/*
 * Mounts `t` on `dir` (NULL: on a new directory) with the `-o` options of `options`, ended by NULL;
 * NULL: only those of `t`. The guard waits for the end of the mount. ERR_BUSY: a sandbox is mounted
 * there already. ERR_INTERRUPTED: t->call was cancelled. On failure there is nothing to unmount.
 */
enum err mount_here_start(struct mount_here *m, const struct target *t, const struct guard *guard,
	const char *dir, char *const *options, struct error *e);

/* Unmounts when the sandbox has all changes. ERR_IO: it has not; sandboxfs has printed why. */
enum err mount_here_end(struct mount_here *m, struct error *e);
