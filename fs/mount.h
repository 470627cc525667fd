/*
 * mount.h - one mount from its beginning to its end.
 *
 *      mount_new      the kernel is asked for the mount; nothing is served yet
 *      mount_wait     of a mount without a cache: returns when somebody uses it
 *      mount_attach   the cache and what is known of the sandbox
 *      mount_start    threads start (after daemonizing: fork keeps only its caller)
 *      mount_serve    serves until unmounted or told to stop; returns after the last reply
 *      mount_free     unmounts if that is still to be done
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
	const char *source;     /* what the mount table shows */
	const char *mountpoint; /* absolute */
	const char *
		kernel_options; /* comma-separated mount options for the kernel and fusermount3 ("ro,noexec"); NULL none */
	bool allow_other, allow_root, read_only, debug;
	bool map_owners; /* the sandbox's user is shown as uid/gid below, and back */
	uid_t uid;
	gid_t gid;
	enum mount_symlinks symlinks;
	bool list_control; /* readdir of the root names .sandbox */
	struct exec_terms exec;
	struct audit *audit; /* has a record of what is changed; NULL: there is none */
	unsigned threads_max;
};

/* The cache outlives the mount; NULL: there is none until mount_attach(). ERR_UNSUPPORTED: no /dev/fuse; ERR_DENIED: fusermount3 refused (its own words on stderr). */
enum err mount_new(struct mount **out, struct cache *cache, const struct mount_options *options,
	struct error *e);

/* ERR_OK: somebody waits for what there is to be. ERR_GONE: unmounted before that. */
enum err mount_wait(struct mount *m, const struct cancel *cancel, struct error *e);
/* Who waits is refused; mount_wait() goes on. */
void mount_refuse(struct mount *m, enum err why);
/* `options` in place of those of mount_new(), as far as the kernel does not have them. */
enum err mount_attach(
	struct mount *m, struct cache *cache, const struct mount_options *options, struct error *e);
enum err mount_start(struct mount *m, struct error *e);
enum err mount_serve(struct mount *m, struct error *e);
/* From a signal's thread: makes mount_serve() return. */
void mount_stop(struct mount *m);
void mount_free(struct mount *m);
