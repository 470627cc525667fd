/*
 * mount.h - one mount from its beginning to its end.
 *
 *      mount_new      asks the kernel for the mount; nothing is served yet
 *      mount_wait     for a mount without a cache: returns when the mount is first used
 *      mount_attach   sets the cache, and the options that depend on the sandbox
 *      mount_start    starts threads (after daemonizing: fork keeps only its caller)
 *      mount_serve    serves until unmounted or stopped; returns after the last reply
 *      mount_free     unmounts, unless that is already done
 */
#pragma once

#include "fs/control/exec_command.h"
#include "providers/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cache;
struct cancel;
struct mount;

enum mount_symlinks { SYMLINKS_REWRITE, SYMLINKS_REFUSE, SYMLINKS_RAW };

struct mount_options {
	const char *source;     /* as the mount table shows it */
	const char *mountpoint; /* absolute */
	/* comma-separated mount options for the kernel and fusermount3 ("ro,noexec"); NULL: none */
	const char *kernel_options;
	bool allow_other, allow_root, read_only, debug;
	bool map_owners; /* the sandbox's user is shown as uid/gid below, and back */
	uid_t uid;
	gid_t gid;
	enum mount_symlinks symlinks;
	bool list_control; /* readdir of the root names .sandbox */
	struct exec_terms exec;
	struct audit *audit; /* record of changes and commands; NULL: none */
	unsigned threads_max;
};

/*
 * `cache` outlives the mount; NULL: there is none until mount_attach(). ERR_UNSUPPORTED: no
 * /dev/fuse. ERR_DENIED: fusermount3 refused (its own words are on stderr).
 */
enum err mount_new(struct mount **out, struct cache *cache, const struct mount_options *options,
	struct error *e);

/* ERR_OK: a request waits for the file system. ERR_GONE: unmounted before that. */
enum err mount_wait(struct mount *m, const struct cancel *cancel, struct error *e);
/* The request that waits is refused; mount_wait() goes on. */
void mount_refuse(struct mount *m, enum err why);
/* `options` replace those of mount_new(), except the ones that the kernel already has. */
enum err mount_attach(
	struct mount *m, struct cache *cache, const struct mount_options *options, struct error *e);
enum err mount_start(struct mount *m, struct error *e);
enum err mount_serve(struct mount *m, struct error *e);
/* Makes mount_serve() return. May be called from a signal's thread. */
void mount_stop(struct mount *m);
void mount_free(struct mount *m);
