/*
 * Requests by path, while renames here move the place that the path leads to.
 */
#include "cache/lease/path_request.h"

#include "cache/lease/find_again.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

bool cache_may_be_lost(enum err kind)
{
	return kind == ERR_NOT_FOUND || kind == ERR_STALE || kind == ERR_NOT_DIR;
}

bool cache_is_of_the_call(enum err kind)
{
	switch (kind) {
	case ERR_INTERRUPTED:
	case ERR_TIMEOUT:
	case ERR_UNREACHABLE:
	case ERR_GONE:
	case ERR_AUTH: return true;
	default: return false;
	}
}

bool cache_is_no_answer(enum err kind)
{
	bool is_of_the_server = kind == ERR_BUSY || kind == ERR_IO || kind == ERR_PROTOCOL;
	/* The quota of an account: a quota inside the sandbox is reported for each change. */
	bool is_of_the_vendor = kind == ERR_QUOTA;

	return is_of_the_server || is_of_the_vendor || kind == ERR_NO_MEMORY ||
		cache_is_of_the_call(kind);
}

bool cache_is_offline(enum err kind)
{
	return kind == ERR_UNREACHABLE || kind == ERR_TIMEOUT || kind == ERR_BUSY;
}

struct asking {
	const struct cache_place *one, *two;
	bool is_question; /* the answer is worth nothing if the paths moved meanwhile */
	bool is_move;     /* the request is for a rename, which must not make renames wait */
	cache_ask ask;
	void *context;
};

/* An inode that is not where it was loses this name. Another name, if it has one, is tried next. */
static bool try_other_name(
	struct cache *c, const struct asking *a, const struct tree_path *path, enum err kind)
{
	const struct cache_place *one = a->one;

	if (!cache_may_be_lost(kind) || one->name || a->two->inode ||
		one->inode == tree_root(c->tree))
		return false;
	return tree_name_failed(c->tree, one->inode, path);
}

static bool paths_held(struct cache *c, const struct asking *a, const struct tree_path *path,
	const struct tree_path *path2)
{
	bool held = tree_path_held(c->tree, a->one->inode, path);

	return (!a->two->inode || tree_path_held(c->tree, a->two->inode, path2)) && held;
}

/* The path of a place, once the sandbox has the names on it. */
static enum err synced_path(
	struct cache *c, const struct cache_place *place, struct tree_path *out, struct error *e)
{
	const struct call call = { .progress_ms = cache_progress_ms(c) };
	enum err kind = ERR_OK;

	do {
		kind = c->upcalls.drain_path(c, &call, place->inode, e);
		if (!kind)
			kind = tree_path(c->tree, place->inode, place->name, out, e);
	} while (!kind && c->writeback && tree_path_is_unsynced(c->tree, place->inode));
	return kind;
}

/* Finds places that are in use here and were renamed by others. */
static bool try_again_found(struct cache *c, const struct asking *a, enum err kind)
{
	if (!cache_may_be_lost(kind))
		return false;
	bool is_found = find_again(c, a->one->inode);

	return (a->two->inode && find_again(c, a->two->inode)) || is_found;
}

static enum err ask_once(struct cache *c, const struct asking *a, bool *again, struct error *e)
{
	const struct cache_place *one = a->one, *two = a->two;
	AUTO_TREE_PATH struct tree_path path = { 0 };
	AUTO_TREE_PATH struct tree_path path2 = { 0 };

	*again = false;
	enum err kind = synced_path(c, one, &path, e);

	if (!kind && two->inode)
		kind = synced_path(c, two, &path2, e);
	if (kind) {
		*again = try_again_found(c, a, kind);
		return kind;
	}
	kind = a->ask(c, path.text, path2.text, a->context, e);

	if (kind && !cache_may_be_lost(kind)) {
		cache_note_error(c, path.text, e);
		return kind;
	}
	if (!kind && !a->is_question)
		return ERR_OK;
	*again = !paths_held(c, a, &path, &path2) || try_other_name(c, a, &path, kind) ||
		try_again_found(c, a, kind);
	if (*again && !kind)
		kind = error_set(e, ERR_STALE, "%s: is renamed all the time", path.text);
	return kind;
}

static enum err ask_with_paths(struct cache *c, const struct asking *a, struct error *e)
{
	enum err kind = ERR_STALE;
	bool again = true;

	for (int tries = 0; again && tries < CACHE_TRIES; tries++) {
		struct error own = { 0 };
		bool hold = tries >= CACHE_TRIES_FREE && !a->is_move;

		if (hold)
			tree_stop_moves(c->tree);
		kind = ask_once(c, a, &again, &own);
		if (hold)
			tree_let_moves(c->tree);
		if (kind && (!again || tries == CACHE_TRIES - 1))
			error_set(e, kind, "%s", own.text);
	}
	return kind;
}

static const struct cache_place nowhere;

enum err cache_with_paths(struct cache *c, const struct cache_place *one,
	const struct cache_place *two, cache_ask ask, void *context, struct error *e)
{
	const struct asking a = { .one = one, .two = two, .ask = ask, .context = context };

	return ask_with_paths(c, &a, e);
}

enum err cache_move_paths(struct cache *c, const struct cache_place *one,
	const struct cache_place *two, cache_ask ask, void *context, struct error *e)
{
	const struct asking a = {
		.one = one, .two = two, .is_move = true, .ask = ask, .context = context
	};

	return ask_with_paths(c, &a, e);
}

enum err cache_with_path(struct cache *c, struct inode *i, const char *name, cache_ask ask,
	void *context, struct error *e)
{
	const struct cache_place one = { i, name };

	return cache_with_paths(c, &one, &nowhere, ask, context, e);
}

enum err cache_ask_name(struct cache *c, struct inode *dir, const char *name, cache_ask ask,
	void *context, struct error *e)
{
	const struct cache_place one = { dir, name };
	const struct asking a = {
		.one = &one, .two = &nowhere, .is_question = true, .ask = ask, .context = context
	};

	return ask_with_paths(c, &a, e);
}
