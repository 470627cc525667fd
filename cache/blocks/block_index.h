/*
 * block_index.h - the blocks that the versions of files are made of, in one table (records.h) for
 * all sandboxes.
 *
 * A version of a file is told apart by (sandbox, dev, ino, btime, size, mtime, ctime): its bytes
 * never change. The caller notes only versions that are stable (tree_stable_at()), so that later
 * bytes have a later ctime.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "cache/blocks/block.h"

struct block_index;

/* The table has about this many bytes for each record: pages fill unevenly. */
#define VERSIONS_RECORD_BYTES 64

/* One block of one version of one file. */
struct block_place {
	unsigned char bytes[16];
};

/* `sandbox`: the hash of the facts that tell sandboxes apart. */
struct block_place block_place(
	const struct block_name *sandbox, const struct attr *version, uint64_t index);

/*
 * Takes `fd`, open for reading and writing. A file less than half as long as `bytes` is made
 * `bytes` long and forgets all.
 */
enum err block_index_open(struct block_index **out, int fd, uint64_t bytes, struct error *e);
void block_index_free(struct block_index *v);

bool block_index_find(
	struct block_index *v, const struct block_place *place, struct block_name *out);
/* false: the file cannot be written. */
bool block_index_note(
	struct block_index *v, const struct block_place *place, const struct block_name *name);
