/*
 * growing.h - the blocks of files that this mount is writing, by the version in the last answer.
 *
 * A large file comes into being change by change, and each change makes a version of it. Notes of
 * all those versions would fill the table of versions (block_index.h). So a file that grows has one
 * record in memory, which the next change moves on: the record is found by the path and by the
 * version that the change met.
 *
 * The number of records is fixed: the one that was moved on longest ago makes room. Any function
 * may be called from any thread.
 */
#pragma once

#include "cache/blocks/block.h"

/*
 * Until a file has grown its blocks are in memory (memory.h), where a larger one would leave no
 * room.
 */
#define GROWING_SIZE_MAX ((uint64_t)16 * 1024 * 1024)

struct growing;

struct growing_file {
	uint64_t path; /* the hash of the path */
	struct attr version;
	struct block_name *names; /* the name of each block; all zero: not known */
};

enum err growing_new(struct growing **out, struct error *e);
/* Frees the records, too. */
void growing_free(struct growing *g);

bool growing_is_known(const struct block_name *name);

/*
 * The version `version` of the file at `path`, with room for names of `size` bytes; NULL: no
 * memory.
 */
struct growing_file *growing_file_new(const char *path, const struct attr *version, uint64_t size);
void growing_file_free(struct growing_file *f);
bool growing_file_resize(struct growing_file *f, uint64_t size);
void growing_file_move(struct growing_file *f, const char *path, const struct attr *version);

/*
 * The record of the file that was of version `met` at `path` leaves the table; NULL: there is none.
 */
struct growing_file *growing_take(struct growing *g, const char *path, const struct version *met);
/* Any record; NULL: there is none. */
struct growing_file *growing_take_any(struct growing *g);
/* Returns the record that makes room, or NULL. */
struct growing_file *growing_put(struct growing *g, struct growing_file *f);

/* Finds the name of block `index` of a version; false: not known. */
bool growing_find(
	struct growing *g, const struct attr *version, uint64_t index, struct block_name *out);
