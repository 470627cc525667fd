#include "cache/lease/entries.h"

#include "cache/lease/listing.h"
#include "cache/lease/path_request.h"
#include "cache/lease/validity.h"
#include "cache/lease/walk.h"
#include "cache/session/session.h"

/* One look at a directory. */
struct look {
	const struct call *call;
	struct inode *dir;
	enum walk_reach reach;
	struct listing_outcome outcome;
};

static void on_listed(void *context, const struct inode *dir, const struct listing_outcome *outcome)
{
	struct look *l = context;

	(void)dir;
	l->outcome = *outcome;
}

/* A sandbox on this machine is asked for this directory and no more. */
static enum err ask_near(struct cache *c, const char *path, struct look *l, struct error *e)
{
	struct listing_plan plan = { .depth = 1, .takes_changing = l->reach == WALK_AS_IT_IS };
	struct listing listing;
	enum err kind = listing_plan_first(&plan, c->tree, l->dir, path, 1, e);

	l->outcome = (struct listing_outcome){ 0 };
	if (kind)
		return kind;
	kind = listing_init(&listing, c, &plan, on_listed, l, e);
	if (!kind)
		kind = listing_run(&listing, l->call, e);
	listing_release(&listing);
	if (!kind && l->outcome.err)
		kind = error_set(e, l->outcome.err, "%s: %s", path, error_words(l->outcome.err));
	return kind;
}

static enum err ask_entries(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	struct look *l = context;

	(void)path2;
	if (!c->walk)
		return ask_near(c, path, l, e);
	return walk_list(c->walk, l->call, l->dir, path, l->reach, &l->outcome.complete, e);
}

/*
 * A directory that others keep changing, or that is too large to be listed with what is below it,
 * is listed again. In the end the known names are the answer, as a local file system's would be
 * while files come and go.
 */
static enum walk_reach reach_of(int tries)
{
	if (tries == 0)
		return WALK_FAR;
	return tries < CACHE_TRIES - 1 ? WALK_ALONE : WALK_AS_IT_IS;
}

static bool are_known(struct cache *c, struct inode *dir, struct tree_entry **out, size_t *count)
{
	bool known = tree_entries(c->tree, dir, monotonic_ms(), false, out, count);

	if (known && c->walk)
		walk_goes_on(c->walk);
	return known;
}

/*
 * An answer that was got for this reader will do for it, though the answer may be invalid by now.
 */
static enum err entries_held(struct cache *c, const struct call *call, struct inode *dir,
	struct tree_entry **out, size_t *count, struct error *e)
{
	struct look l = { .call = call, .dir = dir };

	for (int tries = 0; tries < CACHE_TRIES && !l.outcome.complete; tries++) {
		enum err kind = tree_entries_are_invalid(c->tree, dir, monotonic_ms())
			? validity_restore(c->validity, call, e)
			: ERR_OK;

		if (!kind && are_known(c, dir, out, count))
			return ERR_OK;
		l.reach = reach_of(tries);
		if (!kind)
			kind = c->upcalls.drain(c, call, dir, e);
		if (!kind)
			kind = cache_with_path(c, dir, NULL, ask_entries, &l, e);
		if (kind)
			return kind;
	}
	if (!tree_entries(c->tree, dir, monotonic_ms(), true, out, count))
		return error_set(e, ERR_NO_MEMORY, "directory");
	return ERR_OK;
}

enum err cache_entries(struct cache *c, const struct call *call, struct inode *dir,
	struct tree_entry **out, size_t *count, struct error *e)
{
	enum err kind = c->upcalls.await_replay(c, call, e);

	if (kind)
		return kind;
	tree_hold(c->tree);
	kind = entries_held(c, call, dir, out, count, e);

	tree_release(c->tree);
	return kind;
}

void cache_entries_free(struct cache *c, struct tree_entry *entries, size_t count)
{
	tree_entries_free(c->tree, entries, count);
}

/*
 * The reason why the listing failed says nothing of the entry in question, unless it is the call's.
 */
static enum err ask_nearby(
	struct cache *c, const struct call *call, struct inode *dir, struct error *e)
{
	struct look l = { .call = call, .dir = dir, .reach = WALK_NEAR };
	struct error why = { 0 };
	enum err kind = cache_with_path(c, dir, NULL, ask_entries, &l, &why);

	return cache_is_of_the_call(kind) ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err entries_ask_for_one(
	struct cache *c, const struct call *call, struct inode *dir, struct error *e)
{
	return c->walk && walk_is_due(c->walk, dir) ? ask_nearby(c, call, dir, e) : ERR_OK;
}

enum err entries_ask_to_decide(
	struct cache *c, const struct call *call, struct inode *dir, struct error *e)
{
	return c->walk ? ask_nearby(c, call, dir, e) : ERR_OK;
}
