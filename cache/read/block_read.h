/*
 * block_read.h - reads of what is stored (block_store.h), and of what little is missing there.
 *
 * A block that went, or was damaged, while those beside it are stored, is fetched alone: one miss, one call, for which all
 * who read in it wait. Of a larger file of which nothing is known to be stored the hashes are asked first, where they may
 * help (hashes.h). Everything else is left to whoever reads ahead.
 *
 * Any function may be called from any thread. Functions take NULL for `r`: nothing is stored. Its lock is held alone.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct block_read;

enum err block_read_new(struct block_read **out, struct cache *c, struct error *e);
/* No read may be under way. */
void block_read_free(struct block_read *r);

/* *served: the read is done, or failed with what is returned. *got < len: the end of the file. */
enum err block_read_read(struct block_read *r, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e);
