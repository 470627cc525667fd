/*
 * walk.h - which directories are listed together, and who waits for them.
 *
 * For sandboxes that are a network away. Whoever reads directories one after the other, or keeps asking for names and
 * attributes that are not known or not believed any more, walks a tree: so a directory is listed with what is below it,
 * breadth first, up to a bound, and while one listing follows the other the bound grows and everything else that is known
 * and not believed comes along. Each listing has a thread: a reader goes on as soon as its own directory is complete, and
 * the rest streams in behind. Who wants a directory that a listing under way will come to waits for that one.
 *
 * Any function may be called from any thread. The lock of a walk is held while the tree is asked, never the other way.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct walk;

enum err walk_new(struct walk **out, struct cache *c, struct error *e);
/* Gives up what is under way and waits for it. Nobody else uses the walk any more. */
void walk_free(struct walk *w);

enum walk_reach {
	WALK_NEAR, /* for single entries: directories below, too */
	WALK_FAR, /* for all entries, as a walk does: others that are known, too, from the second on */
	WALK_ALONE,    /* the directory, of any size, and nothing else */
	WALK_AS_IT_IS, /* the same, and it is complete though others keep changing it */
};

/*
 * Asks for the entries of `dir`, whose path is `path`, or waits for a listing under way. ERR_OK: they were told; *complete:
 * and are all in the tree. Errors are the directory's or the call's.
 */
enum err walk_list(struct walk *w, const struct call *call, struct inode *dir, const char *path,
	enum walk_reach reach, bool *complete, struct error *e);

/*
 * Lists the root with what is below it before anybody asks, from the stream of changes that began with the attach
 * (walk_opening()).
 */
void walk_open(struct walk *w);

/* What the first list of a mount asks for. */
const struct list_request *walk_opening(void);

/* Waits for the end of a listing under way, if there is one, but no longer than so: whoever goes by what is known. */
void walk_settle(struct walk *w, const struct call *call, int64_t limit_ms);

/* A directory was read that needed no listing: the next one that does belongs to the same walk. */
void walk_goes_on(struct walk *w);

/* Somebody is about to go through all that is known: his first listing is not the first step of his walk. */
void walk_announce(struct walk *w);

/*
 * Whether an entry of `dir` that is not known, or not believed, is to be got by listing the directory; else it is to be
 * asked for alone, and counts as having been: the second one within a second is not.
 */
bool walk_is_due(struct walk *w, struct inode *dir);
