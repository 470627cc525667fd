/*
 * follow.h - the way to an inode that others renamed.
 *
 * A change or a read of a file is of an inode, named by the path that the inode had. As on a local
 * file system, the request goes to the inode wherever it is by now. The search covers the inode's
 * directory, the directories above it and then the tree below these, breadth first. The search does
 * not leave the file system, since no rename does.
 *
 * An inode number may be reused once its file is gone. So an inode is also recognized by its time
 * of birth. Where the time of birth is unusable (a file system of layers), the inode must have been
 * born before its version was known.
 */
#pragma once

#include "providers/helper/root.h"

/*
 * Entries read in all searches of one request: some 30 ms. A stat of an entry or an open of a
 * directory counts for more.
 */
#define FOLLOW_ENTRIES_MAX 50000

struct follow {
	const struct root *root;
	size_t left; /* entries left of FOLLOW_ENTRIES_MAX */
};

/*
 * `out` is the place of `path` as root_place() found it, with the result `k`. Where the name is
 * missing or is another inode, `out` becomes the place of `target`, wherever that is in the tree,
 * and the result is ERR_OK. If the inode is not found, `out` and `k` stay as they are. `known` is
 * the version of the inode when it was read, or NULL.
 */
enum err follow_place(struct follow *f, const char *path, const struct expect *target,
	const struct version *known, enum err k, struct place *out, struct error *e);
