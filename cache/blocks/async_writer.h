/*
 * async_writer.h - blocks that a thread of its own writes to the disk, so that the thread that
 * fetched them goes on fetching.
 *
 * Making a file takes the disk longer than a network brings a small one. Any function may be called
 * from any thread.
 */
#pragma once

#include "cache/blocks/block_index.h"

struct async_writer;

/* A block to be written; its bytes are kept elsewhere. */
struct async_writer_block {
	struct block_place place;
	struct block_name name;
	size_t len;
};

/* `write` is called by the thread, one block at a time, in order. */
enum err async_writer_new(struct async_writer **out,
	void (*write)(void *context, const struct async_writer_block *block), void *context,
	struct error *e);
/* Returns when all blocks are written. */
void async_writer_free(struct async_writer *l);

/* false: as much as may wait does so already, and the caller writes the block itself. */
bool async_writer_add(struct async_writer *l, const struct async_writer_block *block);
