/*
 * lies.h - what a lying helper makes of the records of an honest one.
 *
 * A record stays a record as the wire has it. What it says is taken from what was said before, of
 * another file or under another name, or is a value at the edge of what can be. Not locked.
 */
#pragma once

#include "providers/helper/wire.h"
#include "tests/hostile/chance.h"

#include <limits.h>

#define POOL_SIZE 64

struct lies {
	struct chance chance;
	const char *secret; /* the absolute path of a file that nobody may be led to */
	unsigned share;     /* so many records of a hundred are lies */
	uint64_t records, told;
	bool is_endless; /* the answer broke off within a directory: entries are to follow */
	/* What was said before; the latest take the place of the oldest. */
	char *dirs[POOL_SIZE], *names[POOL_SIZE], *links[POOL_SIZE];
	struct attr attrs[POOL_SIZE], link_attrs[POOL_SIZE], dir_attrs[POOL_SIZE];
	unsigned dirs_at, names_at, links_at, attrs_at, dir_attrs_at;
	/* Directories that were listed in others, by path. */
	struct known_dir {
		char *path;
		struct attr attr;
	} known[POOL_SIZE];
	unsigned known_at;
	char listed[PATH_MAX]; /* the directory whose entries come */
	struct buf events; /* that are to come before the answer; the caller sends and empties it */
	struct list_decoded decoded; /* scratch */
	char text[8192];
};

void lies_init(struct lies *l, uint64_t seed, const char *secret);
void lies_release(struct lies *l);

/* Of one frame of an answer to a request of `type`; what cannot be read is taken over as it is. */
void lies_retell(struct lies *l, enum frame_type type, const struct buf *in, struct buf *out);
/* An event of a change that perhaps never was. */
void lies_event(struct lies *l, struct buf *out);
/* An entry of a list without an end. */
void lies_entry(struct lies *l, struct buf *out);
