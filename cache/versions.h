/*
 * versions.h - which blocks the files of one sandbox are made of.
 *
 * A version of a file is what (dev, ino, btime, size, mtime, ctime) tell apart: its bytes never change. Whoever notes one
 * knows that it is settled (tree_unsettled()), so that later bytes have a later ctime.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "cache/block.h"

struct versions;

/* So many blocks are known at most, in 10 MiB; then the half that was noted first is forgotten. */
#define VERSIONS_MAX ((size_t)256 * 1024)

/* One block of one version of one file. */
struct block_place {
	unsigned char bytes[16];
};

struct block_place block_place(const struct attr *version, uint64_t index);

enum err versions_new(struct versions **out, struct error *e);
void versions_free(struct versions *v);

bool versions_find(struct versions *v, const struct block_place *place, struct block_name *out);
void versions_note(
	struct versions *v, const struct block_place *place, const struct block_name *name);
