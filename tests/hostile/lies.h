/*
 * lies.h - what a lying helper makes of the records of an honest one.
 *
 * A record stays well-formed on the wire. Its values are taken from earlier records, of another
 * file or under another name, or lie at the edge of the possible range. Not locked.
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
	const char *secret; /* the absolute path of a file that no reader may be led to */
	bool is_wild;       /* with lists without an end, and few rings */
	unsigned share;     /* how many records of a hundred are lies */
	uint64_t records, changed;
	bool is_endless; /* the answer broke off within a directory: entries are to follow */
	/* Values from earlier records; the latest take the place of the oldest. */
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
	/* the last removed directory: answers report it as not found; "": none */
	char hidden[PATH_MAX];
	bool has_hidden; /* an answer reported `hidden` as not found; the caller clears the flag */
	/* The first path of the request that is answered, owned by the caller; NULL: unknown. */
	const char *asked;
	bool is_earlier; /* the request came before the directory was removed */
	/* The answer would make a ring of directories: its events have to arrive first. */
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
	struct buf events; /* events to send before the answer; the caller sends and empties them */
	struct list_decoded decoded; /* scratch */
	char text[8192];
};

void lies_init(struct lies *l, uint64_t seed, const char *secret);
void lies_release(struct lies *l);

/* Whether the path is that of a removed directory, or is below one. */
bool lies_is_hidden(const struct lies *l, const char *path);

/* Rewrites one frame of an answer to a request of `type`. A frame that cannot be read is copied. */
void lies_retell(struct lies *l, enum frame_type type, const struct buf *in, struct buf *out);
/* Appends an event of a change that perhaps never happened. */
void lies_event(struct lies *l, struct buf *out);
/* Appends an entry of a list without an end. */
void lies_entry(struct lies *l, struct buf *out);
