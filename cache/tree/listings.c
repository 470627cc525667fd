/* Whole directories: results of listings, directories still to be listed, and entries. */
#include "cache/tree/tree_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Listings under way ---- */

void tree_listing_begins(struct tree *t, struct tree_listing *l)
{
	pthread_mutex_lock(&t->lock);
	l->number = ++t->listings;
	/* A new number, which no earlier question has. */
	l->seen = ++t->serial;
	LIST_INSERT_HEAD(&t->under_way, l, link);
	pthread_mutex_unlock(&t->lock);
}

void tree_listing_ends(struct tree *t, struct tree_listing *l)
{
	pthread_mutex_lock(&t->lock);
	LIST_REMOVE(l, link);
	pthread_mutex_unlock(&t->lock);
}

static void drop_unlisted_locked(struct tree *t, struct inode *dir, const struct tree_listing *l)
{
	dir->pins++;
	for (struct dentry *d = dir->children, *next; d; d = next) {
		next = d->sibling_next;
		if (d->listed < l->number && !is_only_here_locked(d, l->seen))
			dentry_lost_locked(t, d);
	}
	dir->pins--;
}

bool tree_learn_complete(struct tree *t, struct inode *dir, const struct tree_listing *l)
{
	pthread_mutex_lock(&t->lock);
	bool is_valid = is_news_locked(t, dir, l->seen);

	if (is_valid) {
		drop_unlisted_locked(t, dir, l);
		dir->complete = true;
		dir->complete_until_ms = validity_end_locked(t, dir, l->seen, l->name_until_ms);
		dir->listed_until_ms = validity_end_locked(t, dir, l->seen, l->until_ms);
		resolve_complete_locked(t, dir, l->seen);
	}
	pthread_mutex_unlock(&t->lock);
	return is_valid;
}

static void raise_from(int64_t *until_ms, int64_t from_ms, int64_t to_ms)
{
	if (*until_ms >= from_ms && *until_ms < to_ms)
		*until_ms = to_ms;
}

static void extend_validity_locked(struct tree *t, struct inode *dir,
	const struct tree_listing *from, const struct tree_listing *until)
{
	timed_locked(t, until->until_ms);
	timed_locked(t, until->name_until_ms);
	for (struct dentry *d = dir->children; d; d = d->sibling_next) {
		raise_from(&d->until_ms, from->name_until_ms, until->name_until_ms);
		raise_from(&d->inode->attr_until_ms, from->until_ms, until->until_ms);
	}
	raise_from(&dir->complete_until_ms, from->name_until_ms, until->name_until_ms);
	raise_from(&dir->listed_until_ms, from->until_ms, until->until_ms);
	raise_from(&dir->attr_until_ms, from->until_ms, until->until_ms);
}

void tree_extend_validity(struct tree *t, struct inode *dir, const struct tree_listing *from,
	const struct tree_listing *until)
{
	pthread_mutex_lock(&t->lock);
	/* An invalidation leaves a time that is over as it is: nothing may revive that. */
	if (t->invalidated <= from->seen)
		extend_validity_locked(t, dir, from, until);
	pthread_mutex_unlock(&t->lock);
}

void tree_await(struct tree *t, struct inode *dir, uint32_t number)
{
	pthread_mutex_lock(&t->lock);
	dir->awaited = number;
	pthread_mutex_unlock(&t->lock);
}

void tree_await_ends(struct tree *t, struct inode *dir, uint32_t number)
{
	pthread_mutex_lock(&t->lock);
	if (dir->awaited == number)
		dir->awaited = 0;
	pthread_mutex_unlock(&t->lock);
}

uint32_t tree_awaited(struct tree *t, const struct inode *dir)
{
	pthread_mutex_lock(&t->lock);
	uint32_t number = dir->awaited;

	pthread_mutex_unlock(&t->lock);
	return number;
}

/* ---- Directories to be listed ---- */

bool is_complete_locked(const struct tree *t, const struct inode *dir, int64_t now_ms)
{
	bool is_valid = dir->provisional || is_valid_locked(t, dir->complete_until_ms, now_ms);

	return dir->complete && dir->changing == dir->local_effects && is_valid;
}

static bool is_listed_locked(const struct tree *t, const struct inode *dir, int64_t now_ms)
{
	bool is_valid = dir->provisional || is_valid_locked(t, dir->listed_until_ms, now_ms);

	return is_complete_locked(t, dir, now_ms) && is_valid;
}

bool tree_is_listed(struct tree *t, const struct inode *dir, int64_t now_ms)
{
	pthread_mutex_lock(&t->lock);
	bool is = is_listed_locked(t, dir, now_ms);

	pthread_mutex_unlock(&t->lock);
	return is;
}

bool tree_was_complete(struct tree *t, const struct inode *dir)
{
	pthread_mutex_lock(&t->lock);
	bool was = dir->complete;

	pthread_mutex_unlock(&t->lock);
	return was;
}

bool tree_was_listed(struct tree *t, const struct inode *dir)
{
	pthread_mutex_lock(&t->lock);
	bool was = dir->complete || (dir->names && dir->names->dir->complete);

	pthread_mutex_unlock(&t->lock);
	return was;
}

int64_t tree_asked_alone(struct tree *t, struct inode *dir, int64_t now_ms)
{
	pthread_mutex_lock(&t->lock);
	int64_t ago_ms = now_ms - dir->asked_ms;

	dir->asked_ms = now_ms;
	pthread_mutex_unlock(&t->lock);
	return ago_ms;
}

bool tree_lists_alone(struct tree *t, const struct inode *dir)
{
	pthread_mutex_lock(&t->lock);
	bool alone = dir->lists_alone;

	pthread_mutex_unlock(&t->lock);
	return alone;
}

void tree_set_lists_alone(struct tree *t, struct inode *dir, bool alone)
{
	pthread_mutex_lock(&t->lock);
	dir->lists_alone = alone;
	pthread_mutex_unlock(&t->lock);
}

struct inode *tree_parent(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	struct inode *dir = i == t->root ? i : i->names ? i->names->dir : NULL;

	if (dir)
		dir->pins++;
	pthread_mutex_unlock(&t->lock);
	return dir;
}

/* A queue of directories found on the way down. */
struct descent {
	struct inode **dirs;
	size_t first, count, room;
	bool is_cut; /* there was no memory for all */
};

/* Without memory the directory is left out, and is listed alone when a program needs it. */
static void descent_add(struct descent *d, struct inode *dir)
{
	if (d->count == d->room) {
		size_t room = d->room ? d->room * 2 : 256;
		struct inode **grown = reallocarray(d->dirs, room, sizeof(struct inode *));

		if (!grown) {
			d->is_cut = true;
			return;
		}
		d->dirs = grown;
		d->room = room;
	}
	d->dirs[d->count++] = dir;
}

/* A mount point is listed only when a program enters it: /proc may be one. */
static void descend_locked(struct descent *d, const struct inode *dir)
{
	for (const struct dentry *c = dir->children; c; c = c->sibling_next)
		if (S_ISDIR(c->inode->attr.mode) && c->inode->attr.dev == dir->attr.dev)
			descent_add(d, c->inode);
}

bool is_above_locked(const struct tree *t, const struct inode *dir, const struct inode *i)
{
	while (i != dir && i != t->root && i->names)
		i = i->names->dir;
	return i == dir;
}

/* The next audit restores entries that lack only the tree's validity. */
static bool wants_listing_locked(const struct tree *t, const struct inode *dir, int64_t now_ms)
{
	bool is_held = dir->complete && dir->complete_until_ms == TREE_HELD;

	return !dir->awaited && !dir->lists_alone && !dir->changing && !is_held &&
		!is_listed_locked(t, dir, now_ms) && !path_is_unsynced_locked(t, dir);
}

/* false: no room. */
static bool start_fill_locked(
	struct tree *t, struct inode *dir, struct tree_start *out, size_t *bytes)
{
	char *path = path_build_locked(t, dir, NULL);
	size_t size = path ? strlen(path) + 1 : 0;
	bool moving;

	if (!path || size > *bytes) {
		free(path);
		return false;
	}
	*bytes -= size;
	*out = (struct tree_start){
		.dir = dir, .path = path, .stamp = path_stamp_locked(t, dir, &moving)
	};
	dir->pins++;
	inode_wake_locked(t, dir);
	return true;
}

size_t tree_unlisted(struct tree *t, const struct inode *except, int64_t now_ms,
	struct tree_start *out, size_t room, size_t bytes)
{
	struct descent d = { 0 };
	size_t count = 0;

	pthread_mutex_lock(&t->lock);
	descent_add(&d, t->root);
	while (d.first < d.count && count < room) {
		struct inode *dir = d.dirs[d.first++];

		if (dir == except)
			continue;
		if (is_above_locked(t, dir, except) || !wants_listing_locked(t, dir, now_ms))
			descend_locked(&d, dir);
		else if (start_fill_locked(t, dir, &out[count], &bytes))
			count++;
		else
			break;
	}
	pthread_mutex_unlock(&t->lock);
	free(d.dirs);
	return count;
}

/* Adds all directories below, too. */
static void descend_to_end_locked(struct tree *t, struct descent *d)
{
	descent_add(d, t->root);
	for (size_t n = 0; n < d->count; n++)
		descend_locked(d, d->dirs[n]);
}

/*
 * Leaves out directories of which only the inode is known: nothing in them has to be asked for.
 * Returns the count; SIZE_MAX: no memory.
 */
static size_t background_fetch_known_locked(
	struct tree *t, const struct descent *d, struct tree_start *out)
{
	size_t count = 0, bytes = SIZE_MAX;

	for (size_t n = 0; n < d->count; n++) {
		struct inode *dir = d->dirs[n];

		if (!dir->children && !dir->complete && dir != t->root)
			continue;
		if (path_is_unsynced_locked(t, dir)) {
			invalidate_entries_locked(dir);
			continue;
		}
		if (!start_fill_locked(t, dir, &out[count], &bytes))
			return SIZE_MAX;
		count++;
	}
	return count;
}

struct tree_start *tree_known_dirs(struct tree *t, size_t *count)
{
	struct descent d = { 0 };
	struct tree_start *starts;
	size_t known = SIZE_MAX;

	pthread_mutex_lock(&t->lock);
	descend_to_end_locked(t, &d);
	starts = d.is_cut ? NULL : calloc(d.count + 1, sizeof *starts);
	if (starts)
		known = background_fetch_known_locked(t, &d, starts);
	pthread_mutex_unlock(&t->lock);
	free(d.dirs);
	if (known != SIZE_MAX) {
		*count = known;
		return starts;
	}
	for (size_t n = 0; starts && starts[n].dir; n++)
		tree_start_release(t, &starts[n]);
	free(starts);
	return NULL;
}

bool tree_start_holds(struct tree *t, const struct tree_start *s)
{
	bool moving;

	pthread_mutex_lock(&t->lock);
	bool holds = path_stamp_locked(t, s->dir, &moving) == s->stamp && !moving;

	pthread_mutex_unlock(&t->lock);
	return holds;
}

void tree_start_release(struct tree *t, struct tree_start *s)
{
	tree_unpin(t, s->dir);
	free(s->path);
	*s = (struct tree_start){ 0 };
}

/* ---- Entries ---- */

static size_t count_children_locked(const struct inode *dir)
{
	size_t count = 0;

	for (const struct dentry *d = dir->children; d; d = d->sibling_next)
		count++;
	return count;
}

/* Returns the count that memory sufficed for. */
static size_t copy_entries_locked(
	struct tree *t, const struct inode *dir, struct tree_entry *entries)
{
	size_t n = 0;

	for (struct dentry *d = dir->children; d; d = d->sibling_next) {
		entries[n].name = strdup(d->name);
		if (!entries[n].name)
			break;
		entries[n++].inode = d->inode;
		d->inode->pins++;
		inode_wake_locked(t, d->inode);
	}
	return n;
}

bool tree_entries(struct tree *t, struct inode *dir, int64_t now_ms, bool anyway,
	struct tree_entry **out, size_t *count)
{
	struct tree_entry *entries = NULL;
	size_t wanted = 0;

	*count = 0;
	pthread_mutex_lock(&t->lock);
	if (anyway || is_complete_locked(t, dir, now_ms)) {
		wanted = count_children_locked(dir);
		entries = calloc(wanted + 1, sizeof *entries);
	}
	if (entries)
		*count = copy_entries_locked(t, dir, entries);
	pthread_mutex_unlock(&t->lock);
	if (*count < wanted) {
		tree_entries_free(t, entries, *count);
		entries = NULL;
		*count = 0;
	}
	*out = entries;
	return entries;
}

void tree_entries_free(struct tree *t, struct tree_entry *entries, size_t count)
{
	for (size_t n = 0; n < count; n++) {
		tree_unpin(t, entries[n].inode);
		free(entries[n].name);
	}
	free(entries);
}
