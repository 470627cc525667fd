/*
 * entries.h - the entries of whole directories, brought into the tree: what cache/metadata.h promises of them.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

/*
 * Before a single entry of `dir` is asked for: if listing the directory is due instead, that is done. ERR_OK says nothing
 * of the entry: the tree is looked at again, and may still not know it.
 */
enum err entries_ask_for_one(
	struct cache *c, const struct call *call, struct inode *dir, struct error *e);
/*
 * The entries of `dir` are wanted so that a change of them can be decided here, and are asked for once. ERR_OK says nothing
 * of them either.
 */
enum err entries_ask_to_decide(
	struct cache *c, const struct call *call, struct inode *dir, struct error *e);

/* All entries of a directory, to be given back with cache_entries_free(). */
enum err cache_entries(struct cache *c, const struct call *call, struct inode *dir,
	struct tree_entry **out, size_t *count, struct error *e);
void cache_entries_free(struct cache *c, struct tree_entry *entries, size_t count);
