/*
 * remote.h - changes that only the sandbox can decide. Each is its own barrier and is sent at once,
 * and the call returns with the sandbox's answer. Local changes: cache/write/local.h,
 * cache/write/writeback.h.
 */
#pragma once

#include "cache/tree/tree.h"
#include "cache/write/create_args.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

/*
 * Lets the sandbox apply `change`. The inodes of `scope` are under change: the caller has begun it
 * (tree_change_begins), and ends it when the names in the tree are as the change leaves them. So no
 * answer from in between is valid. The tree adopts the attributes in the answer: those of `target`,
 * the file at path (or path2) afterwards, and of the directories `dir` and `dir2`. Each may be
 * NULL.
 */
struct change_about {
	struct tree_scope scope;
	struct inode *target, *dir, *dir2;
	/* From writeback_next_number(), where the caller asks again itself; else 0. */
	uint64_t number;
};

enum err remote_change(struct cache *c, const struct call *call, struct change *change,
	struct change_about *about, struct change_result *result, struct error *e);

/* The change that makes an entry, without its path and the expected directory. */
struct change remote_creation(const struct cache *c, const struct create_args *making);

/*
 * Checks the inode number in an answer for `i` (may be NULL), which the change found by its number.
 * Another number means that the file was copied up from a lower layer.
 */
void remote_check_copied(
	struct cache *c, struct inode *i, const struct change *sent, const struct change_result *r);

/* A staging name that was never used before: "/u-<journal>-<n>". Allocated; NULL without memory. */
char *remote_staged_name(struct cache *c);

/*
 * Removes a staged file, if there is one, and frees its path. `i`: the inode whose other names then
 * have one link less, pinned; or NULL.
 */
enum err remote_drop_staged(struct cache *c, struct inode *i, char *staged);
