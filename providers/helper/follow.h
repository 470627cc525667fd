/*
 * follow.h - the way to an inode that others renamed.
 *
 * A change of a file, or a read of one, is of an inode, and was asked for by the name that the
 * inode had. As on a local file system it goes to the inode, wherever that is by now: its
 * directory is searched, the directories above it, and then the tree below these, breadth first,
 * without leaving the file system, which no rename does.
 *
 * A number may be given again once its file is gone. So an inode is found by its time of birth,
 * too, or, where that says nothing (a file system of layers), by having been born before its
 * version was known.
 */
#pragma once

#include "providers/helper/root.h"

/*
 * Entries that are read for all that one request looks for: some 30 ms. An entry that is looked at,
 * or a directory that is opened, counts for more.
 */
#define FOLLOW_ENTRIES_MAX 50000

struct follow {
	const struct root *root;
	size_t left; /* of FOLLOW_ENTRIES_MAX */
};

/*
 * `out` is the place of `path` as root_place() found it, which answered `k`. Where another inode
 * or none has that name it becomes the place of `target`, wherever that is in the tree, and the
 * result ERR_OK. Of an inode that is not found all stays as it is. `known` is what the inode was
 * when it was looked at, or NULL.
 */
enum err follow_place(struct follow *f, const char *path, const struct expect *target,
	const struct version *known, enum err k, struct place *out, struct error *e);
