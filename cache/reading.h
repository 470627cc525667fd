/*
 * reading.h - contents fetched from the sandbox, one item a call, and what the answer says of the file learned.
 */
#pragma once

#include "cache/cache.h"
#include "cache/tree.h"

/* What was asked and what came. */
struct reading {
	struct fetch_item item; /* kind, offset and length: the caller's; the rest is filled in */
	unsigned char *out;     /* `room` bytes */
	size_t room, got;
	uint64_t found; /* where a seek led */
	struct attr attr;
	uint64_t seen; /* when it was asked */
};

enum err reading_do(struct cache *c, const struct call *call, struct inode *i, struct reading *r,
	struct error *e);

/* Brings what was asked at `seen` into the tree; if the contents changed behind our back the kernel is told. */
void reading_learn(struct cache *c, struct inode *i, uint64_t seen, const struct attr *attr);
