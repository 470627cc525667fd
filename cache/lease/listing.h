/*
 * listing.h - one list call of one or many subtrees, brought into the tree while it arrives.
 *
 * Every directory of the answer is told when its last entry has come, and is complete in the tree from then on if the
 * answer says so and nothing changed here since it was asked. What a listing taught is believed for as long as the cache
 * believes any answer, and at least ten times as long as the listing took: so nothing is asked again more often than that.
 * An audit asks only for what changed since some time, and what it does not tell stays as it is known (cache/lease/validity.h). It
 * names the directories that are known, or, where that would be too much for a request, asks for everything below the root.
 * The asker holds the tree (tree_hold), so that nothing just learned is forgotten. A listing belongs to one thread, but
 * for `items`.
 */
#pragma once

#include "cache/lease/entries.h"
#include "cache/tree/tree.h"

#include "providers/base/call.h"

#include <sys/queue.h>

struct cache; /* cache/session/session.h */

/* Of one answer; one directory with more entries is listed without what is below it. */
#define LISTING_LARGE 4000

/* Belief on account of a listing's cost ends here: it may have waited for a sandbox to wake. */
#define LISTING_BELIEVED_MAX_MS 60000

struct listing_plan {
	struct tree_start *starts;
	size_t starts_count;
	uint32_t depth;           /* 1 or LIST_DEPTH_ALL */
	uint64_t entries_max;     /* 0: no limit */
	bool takes_changing;      /* a first start that others keep changing is taken as it is */
	int64_t changed_since_ns; /* not 0: an audit, as in struct list_request */
};

/* Makes room for so many starts; `dir`, whose path is `path`, is the first. ERR_NO_MEMORY. */
enum err listing_plan_first(struct listing_plan *plan, struct tree *t, struct inode *dir,
	const char *path, size_t room, struct error *e);
void listing_plan_release(struct listing_plan *plan, struct tree *t);

/* What became of one directory. */
struct listing_outcome {
	enum err err;
	bool complete; /* in the tree */
};

/* Called once for each start and for each directory that the answer came to. */
typedef void (*listing_told)(
	void *context, const struct inode *dir, const struct listing_outcome *outcome);

struct awaited;  /* a directory that the answer has yet to come to */
struct place_of; /* where one is found */

struct listing {
	struct cache *cache;
	struct listing_plan plan; /* owned, with its starts */
	listing_told told;
	void *context;
	bool is_wide; /* an audit of everything below the root: plan.starts are what is to be learned of */
	struct tree_listing learned;
	int64_t asked_ms;
	struct timespec now;      /* the sandbox's clock was at least this when it was asked */
	struct timespec end;      /* and showed this at the end of the answer; 0: there was none */
	_Atomic int64_t moved_ms; /* when an item last came; 0: none did */
	uint64_t entries;         /* of them */
	TAILQ_HEAD(, awaited) dirs; /* in the order in which they were named */
	struct place_of *places;    /* an audit's: of plan.starts, sorted by their paths */
	struct awaited *dir;        /* whose entries are being told; NULL: of none that we know */
	uint64_t dir_entries;
	unsigned strangers;      /* directories told that were not named before */
	struct inode **complete; /* pinned */
	size_t complete_count, complete_room;
};

/* Takes the plan; its starts are awaited in the tree from now on. To be released also after an error: ERR_NO_MEMORY. */
enum err listing_init(struct listing *l, struct cache *c, struct listing_plan *plan,
	listing_told told, void *context, struct error *e);
/* Nothing of it is awaited any more. */
void listing_release(struct listing *l);

/* Asks. An error is the whole call's: what was learned before it stays. */
enum err listing_run(struct listing *l, const struct call *call, struct error *e);
/* The answer came to its end, and no limit cut it. */
bool listing_is_whole(const struct listing *l);
