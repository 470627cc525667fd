/*
 * pieces.h - writes to one file in the order in which they were made, contiguous ones joined.
 *
 * Not locked.
 */
#pragma once

#include "providers/verbs.h"

#include <sys/queue.h>

/* One change: CHANGE_WRITE, CHANGE_APPEND or CHANGE_SYNC. */
struct piece {
	TAILQ_ENTRY(piece) link;
	enum change_op op;
	uint64_t offset; /* CHANGE_APPEND: where it should land, as far as is known here */
	size_t len, room;
	unsigned char *bytes;
};

struct pieces {
	TAILQ_HEAD(piece_list, piece) list;
	size_t count;
	size_t bytes; /* of contents */
	size_t cost;  /* bytes of memory, with what sending them will take beside the contents */
};

/* What a piece takes beside its contents. */
#define PIECE_COST (sizeof(struct piece) + sizeof(struct change) + sizeof(struct change_result))

void pieces_init(struct pieces *p);
void pieces_release(struct pieces *p);
/* Moves all of `from` to `to`, which is empty. */
void pieces_take(struct pieces *to, struct pieces *from);

/*
 * Adds a change. One that begins in the last piece or where it ends is written into it, as long as that stays within
 * VERB_DATA_MAX: in the end the file is the same. false: no memory.
 */
bool pieces_add(
	struct pieces *p, enum change_op op, uint64_t offset, const void *bytes, size_t len);

/* Whether both are nothing but CHANGE_WRITEs and none of one reaches into those of the other: then either may come first. */
bool pieces_are_apart(const struct pieces *a, const struct pieces *b);

/* The size that a file of `size` bytes has after them. */
uint64_t pieces_end(const struct pieces *p, uint64_t size);

/* Fills one change for each, with its needs: after one that fails none is done. Paths and targets are the caller's. */
void pieces_changes(const struct pieces *p, struct change *out);
