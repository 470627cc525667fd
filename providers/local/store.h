/*
 * store.h - where the sandboxes of this machine lie on its disk.
 *
 * $XDG_DATA_HOME/sandboxfs/NAME/       0700: no other user reaches a set-user-ID file of a sandbox
 *         lock                         shared while a mount is connected, exclusive for deletion
 *         tree/                        in no jail, so no command replaces its entries
 *                 user/                /home/user of the jail: the working directory
 *                 .staging/            /home/.staging; renames between both work
 *         home/                        other entries that commands have made in /home
 *         tmp/                         /tmp of the jail
 *         root/                        / of the jail (jail_root.h)
 *         dev/                         of root's sandboxes: their devices
 *         limits                       the limits of its programs, if any were asked for
 * $XDG_DATA_HOME/sandboxfs/.NAME.disk  mounted on NAME/ to bound its size (disk.h)
 *
 * The entries below `user`, `.staging`, `home` and `tmp` are the sandbox's to choose, also symbolic
 * links: they are opened with O_NOFOLLOW, one name at a time. These directories are mounted in the
 * jail, where no command can rename or remove them. If a command has removed the owner's rights
 * from such a directory, the next open of the sandbox restores its mode. Until November 2026
 * `tree` was /home of the jail: an entry that a command put in the place of `user` or `.staging` is
 * moved into `home`.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/local/limits.h"
#include "providers/provider.h"

#include <stdbool.h>

#define LOCAL_NAME_MAX 63

struct local_store {
	char *tree;     /* .../NAME/tree */
	char *home;     /* .../NAME/home */
	char *user;     /* .../NAME/tree/user */
	char *staging;  /* .../NAME/tree/.staging */
	char *tmp;      /* .../NAME/tmp */
	char *root;     /* .../NAME/root */
	char *devices;  /* .../NAME/dev; NULL: no devices, devices.h */
	int lock_fd;    /* holds the shared lock */
	int tree_fd;    /* `tree`, open */
	int staging_fd; /* `staging`, open */
	char note[200]; /* a repair of this open, for a person; "": none */
	struct local_limits limits;
};

#define LOCAL_STORE_NONE                                                                           \
	(struct local_store)                                                                       \
	{                                                                                          \
		.lock_fd = -1, .tree_fd = -1, .staging_fd = -1                                     \
	}

/* ERR_INVALID: not a valid name of a sandbox; the sentence has the rule. */
enum err local_store_check_name(const char *name, struct error *e);

/*
 * Makes the missing parts of NAME and holds its lock. Limits that are asked for become the
 * sandbox's. ERR_BUSY: the sandbox is being deleted. ERR_DENIED: others could change its directory.
 */
enum err local_store_open(
	struct local_store *s, const char *name, const struct local_limits *asked, struct error *e);
void local_store_close(struct local_store *s);

/* ERR_NOT_FOUND: no sandbox of that name. */
enum err local_store_find(const char *name, struct error *e);

/* Makes a sandbox with a free name. */
enum err local_store_create(char name[128], struct error *e);

/* Removes NAME with all its contents; success if absent. ERR_BUSY: a mount is connected to it. */
enum err local_store_delete(const char *name, struct error *e);

/* Lists the names of sandboxes, in the order of the directory. */
enum err local_store_list(sandbox_sink sink, void *context, struct error *e);
