/*
 * listing.h - one list call of one or many subtrees, brought into the tree while the answer
 * arrives.
 *
 * Every directory of the answer is reported when its last entry has come. From then on it is
 * complete in the tree, if the answer says so and nothing changed here since the request. What a
 * listing taught is valid as long as any answer to the cache, and at least ten times as long as the
 * listing took: so nothing is asked again more often than that. An audit asks only for what changed
 * since some time, and the rest stays as it is known (cache/lease/validity.h). It names the
 * directories that are known, or, where that would be too much for a request, asks for everything
 * below the root. The caller holds the tree (tree_hold), so that nothing just learned is forgotten.
 * A listing belongs to one thread, except for `moved_ms`.
 */
#pragma once

#include "cache/lease/entries.h"
#include "cache/tree/tree.h"

#include "providers/base/call.h"

#include <sys/queue.h>

struct cache; /* cache/session/session.h */

/* Entries in one answer. A directory with more entries is listed without what is below it. */
#define LISTING_LARGE 4000

/*
 * The longest time for which a listing's cost makes its answer valid: the call may have waited for
 * a sandbox to wake.
 */
#define LISTING_BELIEVED_MAX_MS 60000

struct listing_plan {
	struct tree_start *starts;
	size_t starts_count;
	uint32_t depth;           /* 1 or LIST_DEPTH_ALL */
	uint64_t entries_max;     /* 0: no limit */
	bool takes_changing;      /* a first start is complete though its entries keep changing */
	int64_t changed_since_ns; /* not 0: an audit, as in struct list_request */
};

/* Makes room for this many starts; `dir`, whose path is `path`, is the first. ERR_NO_MEMORY. */
enum err listing_plan_first(struct listing_plan *plan, struct tree *t, struct inode *dir,
	const char *path, size_t room, struct error *e);
void listing_plan_release(struct listing_plan *plan, struct tree *t);

/* The outcome for one directory. */
struct listing_outcome {
	enum err err;
	bool complete; /* the directory is complete in the tree */
};

/* Called once for each start and for each directory that the answer came to. */
typedef void (*listing_observer)(
	void *context, const struct inode *dir, const struct listing_outcome *outcome);

struct awaited;  /* a directory that the answer has yet to come to */
struct place_of; /* the place of such a directory in an array */

struct listing {
	struct cache *cache;
	struct listing_plan plan; /* owned, with its starts */
	listing_observer observer;
	void *context;
	/* An audit of everything below the root: plan.starts are the directories to learn of. */
	bool is_wide;
	struct tree_listing learned;
	int64_t asked_ms;
	struct timespec now; /* the least time of the sandbox's clock at the request */
	struct timespec end; /* the sandbox's clock at the end of the answer; 0: there was none */
	_Atomic int64_t moved_ms;   /* when an item last came; 0: none did */
	uint64_t entries;           /* the number of entries received */
	TAILQ_HEAD(, awaited) dirs; /* in the order in which they were named */
	/* The places of plan.starts, sorted by their paths; of an audit only. */
	struct place_of *places;
	struct awaited *dir; /* the directory whose entries arrive now; NULL: none that is known */
	uint64_t dir_entries;
	unsigned strangers;      /* directories in the answer that were not named before */
	struct inode **complete; /* pinned */
	size_t complete_count, complete_room;
};

/*
 * Takes the plan. Its starts are awaited in the tree from now on. To be released also after an
 * error: ERR_NO_MEMORY.
 */
enum err listing_init(struct listing *l, struct cache *c, struct listing_plan *plan,
	listing_observer observer, void *context, struct error *e);
/* After this call no caller waits for its directories. */
void listing_release(struct listing *l);

/* Sends the request. An error is the whole call's: what was learned before it stays. */
enum err listing_run(struct listing *l, const struct call *call, struct error *e);
/* Whether the answer came to its end, and no limit cut it. */
bool listing_is_whole(const struct listing *l);
