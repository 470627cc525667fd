/*
 * follow.h - the way to an inode that others renamed.
 *
 * A change of a file, or a read of one, is of an inode, and was asked for by the name that the
 * inode had. As on a local file system it goes to the inode, wherever that is by now: its
 * directory is searched, the directories above it, and then the tree, breadth first, as far as
 * FOLLOW_ENTRIES_MAX.
 */
#pragma once

#include "providers/helper/root.h"

/* Entries that are read in search of one inode: some milliseconds. */
#define FOLLOW_ENTRIES_MAX 10000

/*
 * The place of `path` as root_place() finds it, or, where another inode or none has that name, of
 * `target`, wherever it is in the tree. What is not found is as root_place() left it. An unset
 * `target` is not looked for.
 */
enum err follow_place(const struct root *r, const char *path, const struct expect *parent,
	const struct expect *target, struct place *out, struct error *e);
