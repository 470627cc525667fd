/*
 * partial_blocks.h - blocks of which only some bytes came yet: reads begin and end where the kernel wants, not where blocks do.
 *
 * A fixed pool: the one that was added to longest ago makes room. Any function may be called from any thread.
 */
#pragma once

#include "cache/blocks/block_index.h"

struct partial;

enum err partial_new(struct partial **out, struct error *e);
void partial_free(struct partial *p);

/* Bytes from `at` of a block that is `block_len` long. Returns the whole block, to be freed, once all of it was added. */
unsigned char *partial_add(struct partial *p, const struct block_place *place, size_t block_len,
	size_t at, const void *bytes, size_t len);
/* Whether all of [at, at + len) was added, and is copied. */
bool partial_read(
	struct partial *p, const struct block_place *place, size_t at, void *out, size_t len);
