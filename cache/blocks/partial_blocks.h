/*
 * partial_blocks.h - blocks of which only some bytes came yet: the kernel's reads do not begin and
 * end where blocks do.
 *
 * The pool is fixed: the block that was added to longest ago makes room. Any function may be called
 * from any thread.
 */
#pragma once

#include "cache/blocks/block_index.h"

struct partial_blocks;

enum err partial_blocks_new(struct partial_blocks **out, struct error *e);
void partial_blocks_free(struct partial_blocks *p);

/*
 * Adds bytes from `at` on of a block that is `block_len` long. Returns the whole block, to be
 * freed, once all of it was added.
 */
unsigned char *partial_blocks_add(struct partial_blocks *p, const struct block_place *place,
	size_t block_len, size_t at, const void *bytes, size_t len);
/* Copies [at, at + len) if all of it was added; false: it was not. */
bool partial_blocks_read(struct partial_blocks *p, const struct block_place *place, size_t at,
	void *out, size_t len);
