/*
 * path_request.h - requests by path, while renames here move the place that the path leads to.
 */
#pragma once

#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

/* How many times an operation asks, where renames here move its path during each request. */
#define CACHE_TRIES 64
/* The first tries, during which renames go on. During the later ones renames wait. */
#define CACHE_TRIES_FREE 4

/* A place in the tree: an inode, or a name in one. */
struct cache_place {
	struct inode *inode;
	const char *name; /* NULL: the inode itself */
};

/*
 * Calls `ask` with the path of `one` (and of `two`, where two->inode is not NULL), and again while
 * it fails through paths that a rename here moved meanwhile. Where an inode itself, asked for
 * alone, turns out not to be where it was, that name is dropped and another one tried. A change
 * that succeeds was done in the right place, since it names its directory. An answer about a name
 * (cache_ask_name) counts only if the path to it did not move.
 */
typedef enum err (*cache_ask)(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e);
enum err cache_with_paths(struct cache *c, const struct cache_place *one,
	const struct cache_place *two, cache_ask ask, void *context, struct error *e);
/* As cache_with_paths(), for a caller that has begun a move itself. */
enum err cache_move_paths(struct cache *c, const struct cache_place *one,
	const struct cache_place *two, cache_ask ask, void *context, struct error *e);
enum err cache_with_path(struct cache *c, struct inode *i, const char *name, cache_ask ask,
	void *context, struct error *e);
enum err cache_ask_name(struct cache *c, struct inode *dir, const char *name, cache_ask ask,
	void *context, struct error *e);
