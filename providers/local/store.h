/*
 * store.h - where the sandboxes of this machine lie on its disk.
 *
 *      $XDG_DATA_HOME/sandboxfs/NAME/       0700, so that nobody else meets what is set-user-ID in a sandbox
 *              lock                         shared while somebody is connected, exclusive while it is deleted
 *              tree/                        in no jail, so that no command replaces what is in it
 *                      user/                /home/user of the jail: the working directory
 *                      .staging/            /home/.staging; renames between both work
 *              home/                        what else commands have put into /home
 *              tmp/                         /tmp of the jail
 *              dev/                         of root's sandboxes: their devices
 *              limits                       what bounds its programs, where that was asked for
 *      $XDG_DATA_HOME/sandboxfs/.NAME.disk  what is mounted on NAME/ to bound it (disk.h)
 *
 * What lies below `user`, `.staging`, `home` and `tmp` is the sandbox's to choose, also as symbolic
 * links: it is only ever opened with O_NOFOLLOW, one name at a time. These directories themselves
 * are mounted in the jail, where no command can rename or remove them; one whose mode keeps its
 * owner out gets it back when the sandbox is opened. Until November 2026 `tree` was /home of the
 * jail: what commands put in the place of `user` or `.staging` is moved into `home`.
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
	char *devices;  /* .../NAME/dev; NULL: there are none, devices.h */
	int lock_fd;    /* holds the shared lock */
	int tree_fd;    /* `tree`, open */
	int staging_fd; /* `staging`, open */
	char note[200]; /* what was broken and is repaired; "": nothing */
	struct local_limits limits;
};

#define LOCAL_STORE_NONE                                                                           \
	(struct local_store)                                                                       \
	{                                                                                          \
		.lock_fd = -1, .tree_fd = -1, .staging_fd = -1                                     \
	}

/* ERR_INVALID: not a name for a sandbox; the sentence has the rule. */
enum err local_store_check_name(const char *name, struct error *e);

/*
 * Makes what is missing of NAME and holds it. Limits that are asked for become the sandbox's.
 * ERR_BUSY: it is being deleted. ERR_DENIED: others may change what is there.
 */
enum err local_store_open(
	struct local_store *s, const char *name, const struct local_limits *asked, struct error *e);
void local_store_close(struct local_store *s);

/* ERR_NOT_FOUND: there is none of that name. */
enum err local_store_find(const char *name, struct error *e);

/* Makes a sandbox with a name that was free. */
enum err local_store_create(char name[128], struct error *e);

/* Removes NAME with all it holds; absent is success. ERR_BUSY: somebody is connected to it. */
enum err local_store_delete(const char *name, struct error *e);

/* The names that there are, in the order of the directory. */
enum err local_store_list(sandbox_sink sink, void *context, struct error *e);
