/* The directories that the ops of an earlier mount are about, listed before these are bound. */
#include "cache/write/local_inside.h"

#include "cache/lease/walk.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include "providers/base/path.h"

#include <stdlib.h>
#include <string.h>

/*
 * The most requests for the entries of directories. The first ones bring what is below, so this is
 * enough for a hundred thousand files in one place.
 */
#define LISTS_MAX 32

struct dirs {
	char **paths;
	size_t count, room;
};

static void dirs_release(struct dirs *d)
{
	for (size_t n = 0; n < d->count; n++)
		free(d->paths[n]);
	free(d->paths);
}

static bool grow(struct dirs *d)
{
	size_t room = d->room ? 2 * d->room : 64;
	char **grown = reallocarray(d->paths, room, sizeof *grown);

	if (!grown)
		return false;
	d->paths = grown;
	d->room = room;
	return true;
}

/* Takes `path`, which is allocated. false: no memory. Mostly the path is the one before. */
static bool add_dir(struct dirs *d, char *path)
{
	bool is_there = path && d->count && !strcmp(d->paths[d->count - 1], path);

	if (!path || is_there || (d->count == d->room && !grow(d))) {
		free(path);
		return is_there;
	}
	d->paths[d->count++] = path;
	return true;
}

static bool add_dir_of(struct dirs *d, const char *path)
{
	if (!path || path_is_staged(path))
		return true;
	size_t len = (size_t)(path_name(path) - path);

	return add_dir(d, strndup(path, len ? len - 1 : 0));
}

static bool add_dirs_locked(struct writeback *p, struct dirs *d)
{
	const struct op *q;
	bool is_done = true;

	TAILQ_FOREACH(q, &p->queue, link)
	{
		is_done =
			is_done && add_dir_of(d, q->change.path) && add_dir_of(d, q->change.path2);
		if (q->change.op == CHANGE_RMDIR)
			is_done = is_done && add_dir(d, strdup(q->change.path));
	}
	return is_done;
}

/* Whether all entries of the directory are known now, under a live stream. */
static bool list_one(struct writeback *p, struct inode *dir, const char *path, unsigned *lists)
{
	struct cache *c = p->cache;
	const struct call call = cache_call_of_ours(c, &p->cancel);
	bool complete;

	if (local_may(c, dir))
		return true;
	return (*lists)++ < LISTS_MAX &&
		!walk_list(c->walk, &call, dir, path, WALK_FAR, &complete, NULL) &&
		local_may(c, dir);
}

/* A directory that is not there is made, or gets its name, by one of the ops. */
static bool list_way(struct writeback *p, char *path, unsigned *lists)
{
	struct inode *dir = tree_root(p->cache->tree);
	bool is_known = list_one(p, dir, "", lists);

	tree_pin(p->cache->tree, dir);
	for (char *name = path; is_known && *name;) {
		char *end = strchrnul(name, '/');
		char behind = *end;

		*end = 0;
		struct inode *next = tree_peek(p->cache->tree, dir, name);

		tree_unpin(p->cache->tree, dir);
		dir = next;
		if (!dir || !local_is_dir(p->cache, dir))
			break;
		is_known = list_one(p, dir, path, lists);
		*end = behind;
		name = behind ? end + 1 : end;
	}
	tree_unpin(p->cache->tree, dir);
	return is_known;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool replay_list_dirs(struct writeback *p)
{
	struct cache *c = p->cache;
	struct dirs dirs = { 0 };
	unsigned lists = 0;

	pthread_mutex_lock(&p->lock);
	bool is_known = c->walk && c->lease && add_dirs_locked(p, &dirs);

	pthread_mutex_unlock(&p->lock);
	/* Earlier listings are older than the ops that were sent since. */
	tree_invalidate_below(c->tree, tree_root(c->tree));
	if (dirs.count)
		qsort(dirs.paths, dirs.count, sizeof *dirs.paths, compare_texts);
	for (size_t n = 0; n < dirs.count && is_known; n++)
		if (!n || strcmp(dirs.paths[n - 1], dirs.paths[n]) != 0)
			is_known = list_way(p, dirs.paths[n], &lists);
	dirs_release(&dirs);
	return is_known;
}
