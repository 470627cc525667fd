/*
 * leftovers.h - the files of a mount in staging that have no use after it: removed at the mount's
 * end.
 *
 * These are files that were removed while they were open, the records that the helper keeps of the
 * mount's journal, and the file of its change stream. Where the journal existed before the mount,
 * an earlier mount was killed: its files are removed, too.
 *
 * The records stay where a change is pending, since the next mount sends it; they are removed after
 * STAGING_UNSYNCED_S. The records also stay where a change had no answer, or may have had none
 * because the mount before was killed. A copy of that change may be under way, and the records make
 * the helper refuse it. No copy is under way for as long as LEFTOVERS_LATE_MS. So records are
 * removed where the last change without an answer is longer ago. Else they are removed that long
 * after the mount, at the next attach.
 */
#pragma once

#include "providers/verbs.h"

#include <stdbool.h>

struct cache;

/*
 * A copy of a request may be under way in a connection that is gone (some two minutes), in a
 * gateway (minutes), or still running. This is longer than all of these.
 */
#define LEFTOVERS_LATE_MS ((int64_t)3600 * 1000)

/* The mount's own journal. */
struct leftovers_journal {
	unsigned char id[JOURNAL_ID_SIZE];
	bool was_there;   /* an earlier mount left it */
	bool is_all_sent; /* no change is pending */
};

/* Called after everything else has ended. `journal` NULL: the mount had none. */
void leftovers_remove(struct cache *c, const struct leftovers_journal *journal);
