/*
 * memory.h - blocks kept in memory, for want of a disk: the least recently used go first.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "cache/blocks/block.h"

struct block_memory;

/* `max`: bytes, including the cost of keeping them. */
enum err block_memory_new(struct block_memory **out, size_t max, struct error *e);
void block_memory_free(struct block_memory *m);

/* The bytes that the blocks take. */
size_t block_memory_used(struct block_memory *m);

bool block_memory_has(struct block_memory *m, const struct block_name *name);
/* Copies the block's `len` bytes; false: the block is not there, or is of another length. */
bool block_memory_get(struct block_memory *m, const struct block_name *name, void *out, size_t len);
void block_memory_put(
	struct block_memory *m, const struct block_name *name, const void *bytes, size_t len);
/* The block is not needed in memory any more. */
void block_memory_drop(struct block_memory *m, const struct block_name *name);
