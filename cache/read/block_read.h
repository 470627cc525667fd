/*
 * block_read.h - reads of stored contents (block_store.h), and of the little that is missing there.
 *
 * A block that was removed or damaged, while its neighbours are stored, is fetched alone: one miss,
 * one call, for which all readers of the block wait. Of a larger file without stored blocks the
 * hashes are asked for first, where they may help (hashes.h). Everything else is left to
 * read-ahead.
 *
 * Any function may be called from any thread. Functions take NULL for `r`: nothing is stored. Its
 * lock is held alone.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct block_read;

enum err block_read_new(struct block_read **out, struct cache *c, struct error *e);
/* Called when no read is under way. */
void block_read_free(struct block_read *r);

/* *served: the read is done, or failed with the result. *got < len: the end of the file. */
enum err block_read_read(struct block_read *r, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e);
