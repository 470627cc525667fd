/*
 * entries.h - the entries of whole directories, brought into the tree: what cache/metadata.h promises of them.
 */
#pragma once

#include "cache/cache_inside.h"

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
