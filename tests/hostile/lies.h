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
#define GONE_SIZE 8
#define OLD_SIZE  16
#define OLD_MAX   65536 /* bytes of a frame that is kept */

struct lies {
	struct chance chance;
	const char *secret; /* the absolute path of a file that nobody may be led to */
	bool is_wild;       /* with lists without an end, and few rings */
	unsigned share;     /* so many records of a hundred are lies */
	uint64_t records, changed;
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
	struct attr gone[GONE_SIZE]; /* directories that events said to be removed */
	unsigned gone_at;
	char hidden[PATH_MAX]; /* the last of them: answers are that it is not there; "": none */
	bool has_hidden;       /* an answer was; the caller takes note */
	/* The first path of the request that is answered; NULL: unknown. Its caller's. */
	const char *asked;
	bool is_earlier; /* the request came before the directory was removed */
	/* An answer that would make a ring of directories: it is to come after its events. */
	bool is_ring;
	/*
	 * Frames of lists, by their first directory: an old one may come again in place of a new
	 * one.
	 */
	struct old_frame {
		char *path;
		struct buf bytes;
	} old[OLD_SIZE];
	unsigned old_at;
	char listed[PATH_MAX]; /* the directory whose entries come */
	struct buf events; /* that are to come before the answer; the caller sends and empties it */
	struct list_decoded decoded; /* scratch */
	char text[8192];
};

void lies_init(struct lies *l, uint64_t seed, const char *secret);
void lies_release(struct lies *l);

/* Whether the path is that of a directory that was removed, or below it. */
bool lies_is_hidden(const struct lies *l, const char *path);

/* Of one frame of an answer to a request of `type`; what cannot be read is taken over as it is. */
void lies_retell(struct lies *l, enum frame_type type, const struct buf *in, struct buf *out);
/* An event of a change that perhaps never was. */
void lies_event(struct lies *l, struct buf *out);
/* An entry of a list without an end. */
void lies_entry(struct lies *l, struct buf *out);
