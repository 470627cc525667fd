/*
 * walk.h - which directories are listed together, and which callers wait for a listing.
 *
 * For sandboxes that are a network away. A reader of one directory after the other walks a tree; so
 * does one that keeps asking for names and attributes that are not known or not valid any more. A
 * directory of a walk is listed with what is below it, breadth first, up to a bound. While one
 * listing follows the other the bound grows, and everything else that is known and not valid comes
 * along. Each listing has a thread: a reader goes on as soon as its own directory is complete, and
 * the rest streams in behind. A caller that wants a directory that a listing under way will come to
 * waits for that listing.
 *
 * Any function may be called from any thread. The lock of a walk is held while the tree is asked,
 * never the other way.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct walk;

enum err walk_new(struct walk **out, struct cache *c, struct error *e);
/* Cancels what is under way and waits for it. The walk has no other user any more. */
void walk_free(struct walk *w);

enum walk_reach {
	WALK_NEAR, /* for single entries: directories below, too */
	/*
	 * For all entries, as in a walk: other directories that are known, too, from the second
	 * listing on.
	 */
	WALK_FAR,
	WALK_ALONE, /* the directory, of any size, and nothing else */
	/* As WALK_ALONE, and the directory is complete though others keep changing it. */
	WALK_AS_IT_IS,
};

/*
 * Asks for the entries of `dir`, whose path is `path`, or waits for a listing under way. ERR_OK:
 * the entries have come; *complete: all are in the tree. Errors are the directory's or the call's.
 */
enum err walk_list(struct walk *w, const struct call *call, struct inode *dir, const char *path,
	enum walk_reach reach, bool *complete, struct error *e);

/*
 * Lists the root with what is below it before the first question, from the stream of changes that
 * began with the attach (walk_opening()).
 */
void walk_open(struct walk *w);

/* The first list request of a mount. */
const struct list_request *walk_opening(void);

/*
 * Waits for the end of a listing under way, if there is one, but no longer than `limit_ms`: for a
 * caller that decides by what is known.
 */
void walk_wait_idle(struct walk *w, const struct call *call, int64_t limit_ms);

/* A directory was read that needed no listing: the next one that does belongs to the same walk. */
void walk_goes_on(struct walk *w);

/*
 * A reader is about to go through all that is known: its first listing is not the first step of its
 * walk.
 */
void walk_announce(struct walk *w);

/*
 * Whether an entry of `dir` that is not known, or not valid, is to be got by listing the directory.
 * Else it is to be asked for alone. This call counts as such a question: at the second one within a
 * second a listing is due.
 */
bool walk_is_due(struct walk *w, struct inode *dir);
