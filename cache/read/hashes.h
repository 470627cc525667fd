/*
 * hashes.h - files of which perhaps all is here, as contents of another sandbox or of another version: the sandbox is asked
 * what they are made of (16 bytes for each 128 KiB), and for the contents only where that is not here.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

/* Whether asking may be worth while for a file of that path. */
bool hashes_may_help(struct cache *c, const char *path, uint64_t size);

/* `version`: what the item is of by now, as far as that is settled. */
typedef void (*hashes_sink)(void *context, size_t item, const struct attr *version);

/*
 * One call for many files. `items`: path, target and flags are the caller's, the rest is filled in. What is here of each
 * becomes its own (block_store_adopt()), then `sink` is told; not so of one that cannot be read, or is too large.
 */
enum err hashes_adopt(struct cache *c, const struct call *call, struct fetch_item *items,
	size_t count, hashes_sink sink, void *context, struct error *e);

/* The same of one file that is open, where it may help; `version`: what is known of it. false: nothing was adopted. */
bool hashes_adopt_one(
	struct cache *c, const struct call *call, struct inode *i, const struct attr *version);
