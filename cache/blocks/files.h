/*
 * files.h - blocks in a directory of this machine, one file each, for all mounts of one user.
 *
 * A file is DIR/blocks/ab/cdef..., named by the hash of its contents. The hash is checked at each
 * read, so that a damaged file is a miss and is removed. A file is written under another name and
 * renamed: it is whole, unless the machine lost its power, and then its hash shows that. Files are
 * kept within a budget when they are written: the least recently used go first. Several processes
 * do so at once. No link leads out of the directory, which is its user's alone.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "cache/blocks/block.h"
#include "cache/session/stats.h"

struct block_files;

/*
 * `dir`: made if it does not exist, parents as well. `max`: bytes that files take; 0: as much as 10
 * % of the free space, at most 10 GiB. `stats` count the blocks that are removed. The error says
 * what is wrong with the directory.
 */
enum err block_files_open(struct block_files **out, const char *dir, uint64_t max,
	struct stats *stats, struct error *e);
void block_files_free(struct block_files *f);

uint64_t block_files_max(const struct block_files *f);
/* The bytes that the files take by now, of all processes that share the directory. */
uint64_t block_files_used(const struct block_files *f);
/* The path of the directory as it was given. */
const char *block_files_dir(const struct block_files *f);

/*
 * A file outside the folder of blocks, open for reading and writing, made if it does not exist; -1
 * and errno: it cannot be.
 */
int block_files_open_extra(const struct block_files *f, const char *name);

/* Whether there is a block of that name and length, whatever the file holds. */
bool block_files_has(struct block_files *f, const struct block_name *name, size_t len);
/* Reads the block's `len` bytes. A file whose contents do not have the name's hash is removed. */
bool block_files_get(struct block_files *f, const struct block_name *name, void *out, size_t len);
/* ERR_NO_SPACE, ERR_READ_ONLY, ...: the directory does not take it. */
enum err block_files_put(struct block_files *f, const struct block_name *name, const void *bytes,
	size_t len, struct error *e);
