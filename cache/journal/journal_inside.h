/*
 * journal_inside.h - what journal.c, load.c, read.c and segments.c share; no other file includes
 * it.
 *
 * Functions that end in _locked expect journal.lock to be held.
 */
#pragma once

#include "cache/journal/dir.h"
#include "cache/journal/segment.h"

#include <pthread.h>

struct journal {
	struct journal_dir dir;
	unsigned char id[JOURNAL_ID_SIZE];
	bool was_there; /* an earlier owner left the journal */
	uint64_t size_max, segment_max;
	pthread_mutex_t lock; /* guards what follows */
	TAILQ_HEAD(segments, segment)
	segments; /* in the order of their numbers; entries go to the last one */
};

/* ---- The row of segments (segments.c) ---- */

struct segment *segments_last_locked(const struct journal *j);
/* The segment that has the entry; NULL: the segment is gone. */
struct segment *segments_find_locked(const struct journal *j, uint64_t number);
uint64_t segments_size_locked(const struct journal *j);
uint64_t segments_unsynced_locked(const struct journal *j);
uint64_t segments_next_sequence_locked(const struct journal *j);

/* Begins a new last segment that takes entries: the first of all, or the next. */
enum err segments_begin_locked(struct journal *j, struct error *e);
/* Removes the segments whose entries are all done, except the last one. */
void segments_remove_done_locked(struct journal *j);
void segments_remove(struct journal *j, struct segment *s);
void segments_remove_all(struct journal *j);
/* Frees the segments; the files stay. */
void segments_release(struct journal *j);

/*
 * Loads the segments in the directory (load.c). ERR_PROTOCOL: they make no journal. Without any the
 * journal has no ID yet.
 */
enum err segments_load(struct journal *j, struct error *e);
