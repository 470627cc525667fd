/*
 * memory.h - blocks kept in memory, for want of a disk: the least recently used go first.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "cache/blocks/block.h"

struct block_memory;

/* `max`: bytes, with what keeping them costs. */
enum err block_memory_new(struct block_memory **out, size_t max, struct error *e);
void block_memory_free(struct block_memory *m);

/* Bytes that they take. */
size_t block_memory_used(struct block_memory *m);

bool block_memory_has(struct block_memory *m, const struct block_name *name);
/* Copies its `len` bytes; false: it is not there, or is of another length. */
bool block_memory_get(struct block_memory *m, const struct block_name *name, void *out, size_t len);
void block_memory_put(
	struct block_memory *m, const struct block_name *name, const void *bytes, size_t len);
/* Nobody needs it here any more. */
void block_memory_drop(struct block_memory *m, const struct block_name *name);
