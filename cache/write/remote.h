/*
 * remote.h - changes that only the sandbox can decide: each is its own barrier, sent at once, and the call returns with the
 * sandbox's answer. What is decided here follows behind (cache/write/local.h, cache/write/writeback.h).
 */
#pragma once

#include "cache/tree/tree.h"
#include "cache/write/create_args.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

/*
 * Does `change`. The inodes of `scope` are under change: the caller has begun it
 * (tree_change_begins) and ends it when the names in the tree are what the change made them, so that no answer from in
 * between is believed. The attributes that come back are adopted for those named: `target` what path (or path2) names
 * afterwards, `dir` and `dir2` the directories; each may be NULL.
 */
struct change_about {
	struct tree_scope scope;
	struct inode *target, *dir, *dir2;
	uint64_t
		number; /* of writeback_next_number(), under which it is asked again; 0: it is not */
};

enum err remote_change(struct cache *c, const struct call *call, struct change *change,
	struct change_about *about, struct change_result *result, struct error *e);

/* What makes it, but for the path and the directory expected there. */
struct change remote_creation(const struct cache *c, const struct create_args *making);

/*
 * What an answer tells of the inode of `i` (may be NULL), which the change found by its number:
 * another number says that it was copied from a lower layer.
 */
void remote_check_copied(
	struct cache *c, struct inode *i, const struct change *sent, const struct change_result *r);

/* A staging name that was never used before: "/u-<journal>-<n>". Allocated; NULL without memory. */
char *remote_staged_name(struct cache *c);

/*
 * Removes a staged file, if there is one, and frees its path. `i`: whose other names have one link less by it, pinned; or
 * NULL.
 */
enum err remote_drop_staged(struct cache *c, struct inode *i, char *staged);
