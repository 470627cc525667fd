/*
 * entries.h - the entries of whole directories, brought into the tree as cache/metadata.h promises.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

/*
 * Called before a single entry of `dir` is asked for: if listing the directory is due, it is listed
 * instead. ERR_OK says nothing of the entry: the tree is looked at again, and may still not know
 * it.
 */
enum err entries_ask_for_one(
	struct cache *c, const struct call *call, struct inode *dir, struct error *e);
/*
 * Asks once for the entries of `dir`, so that a change of them can be decided here. ERR_OK says
 * nothing of the entries either.
 */
enum err entries_ask_to_decide(
	struct cache *c, const struct call *call, struct inode *dir, struct error *e);

/* All entries of a directory, to be given back with cache_entries_free(). */
enum err cache_entries(struct cache *c, const struct call *call, struct inode *dir,
	struct tree_entry **out, size_t *count, struct error *e);
void cache_entries_free(struct cache *c, struct tree_entry *entries, size_t count);
