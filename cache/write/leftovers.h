/*
 * leftovers.h - what a mount has put into staging and what is nothing without it: removed from there at the mount's end.
 *
 * These are files that were removed while they were open, the records that the helper keeps of the mount's journal, and the
 * file of its change stream. Where the journal was there before, an earlier mount was killed: what that one left goes, too.
 *
 * The records stay where a change is still pending, for the next mount sends it, and then go after STAGING_OWED_S. They also
 * stay where a change was not answered, or may not have been because the mount before was killed: a copy of it may still be
 * on its way, and is refused by them. No copy is on its way for as long as LEFTOVERS_LATE_MS. So records are removed where
 * the last change without an answer was longer ago; else they go that long after the mount, when somebody next attaches.
 */
#pragma once

#include "providers/verbs.h"

#include <stdbool.h>

struct cache;

/*
 * Longer than a connection that is gone sends what was written to it (some two minutes), than a
 * gateway keeps a request (minutes), and than one that got through runs.
 */
#define LEFTOVERS_LATE_MS ((int64_t)3600 * 1000)

/* The mount's own. */
struct leftovers_journal {
	unsigned char id[JOURNAL_ID_SIZE];
	bool was_there;   /* an earlier mount left it */
	bool is_all_sent; /* nothing is pending in it */
};

/* After all else has ended. `journal` NULL: the mount had none. */
void leftovers_remove(struct cache *c, const struct leftovers_journal *journal);
