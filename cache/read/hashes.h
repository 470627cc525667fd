/*
 * hashes.h - files that may be stored here already, as contents of another sandbox or of another
 * version. The sandbox is asked for their hashes (16 bytes for each 128 KiB), and for contents only
 * where they are not here.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

/* Whether the hashes of a file with that path and size may be worth a question. */
bool hashes_may_help(struct cache *c, const char *path, uint64_t size);

/* `version`: the stable version of the item. */
typedef void (*hashes_sink)(void *context, size_t item, const struct attr *version);

/*
 * One call for many files. `items`: path, target and flags are the caller's, the rest is filled in.
 * Blocks of a file that are here become its own (block_store_adopt()), of a file larger than 1 GiB
 * those in its first 1 GiB. Then `sink` is called for it. A file that cannot be read, or whose
 * version is not stable, is left out.
 */
enum err hashes_adopt(struct cache *c, const struct call *call, struct fetch_item *items,
	size_t count, hashes_sink sink, void *context, struct error *e);

/*
 * As hashes_adopt(), for one file that is open, where it may help; `version`: its known attributes.
 * false: nothing was adopted.
 */
bool hashes_adopt_one(
	struct cache *c, const struct call *call, struct inode *i, const struct attr *version);
