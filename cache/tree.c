#include "cache/tree_inside.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#define TABLE_ROOM_FIRST 1024

int64_t tree_now_ms(void)
{
	return monotonic_ms();
}

bool tree_wait_locked(struct tree *t, int64_t end_ms)
{
	struct timespec end = { .tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000 };

	return pthread_cond_timedwait(&t->settled, &t->lock, &end) == 0;
}

/* ---- The table of inodes ---- */

static size_t inode_bucket(const struct tree *t, uint64_t dev, uint64_t ino)
{
	uint64_t key[2] = { dev, ino };

	return XXH3_64bits(key, sizeof key) & (t->inodes_room - 1);
}

static void inodes_grow_locked(struct tree *t)
{
	size_t old_room = t->inodes_room, room = old_room ? old_room * 2 : TABLE_ROOM_FIRST;
	struct inode **old = t->inodes, **grown = calloc(room + 1, sizeof *grown);

	if (!grown)
		return; /* longer chains, still right */
	t->inodes = grown;
	t->inodes_room = room;
	if (old)
		grown[room] = old[old_room];
	for (size_t b = 0; b < old_room; b++)
		for (struct inode *i = old[b], *next; i; i = next) {
			size_t to = inode_bucket(t, i->attr.dev, i->attr.ino);

			next = i->next_in_bucket;
			i->next_in_bucket = grown[to];
			grown[to] = i;
		}
	free(old);
}

static size_t bucket_of_locked(const struct tree *t, const struct inode *i)
{
	return i->hashed ? inode_bucket(t, i->attr.dev, i->attr.ino) : t->inodes_room;
}

static void inode_enter_bucket_locked(struct tree *t, struct inode *i)
{
	struct inode **first = &t->inodes[bucket_of_locked(t, i)];

	i->next_in_bucket = *first;
	*first = i;
}

static void inode_leave_bucket_locked(struct tree *t, struct inode *i)
{
	struct inode **at = &t->inodes[bucket_of_locked(t, i)];

	while (*at != i)
		at = &(*at)->next_in_bucket;
	*at = i->next_in_bucket;
}

struct inode *inode_new_locked(struct tree *t, const struct attr *attr)
{
	struct inode *i = calloc(1, sizeof *i);

	if (!i)
		return NULL;
	i->magic = INODE_MAGIC;
	i->attr = *attr;
	if (t->inodes_count >= t->inodes_room)
		inodes_grow_locked(t);
	if (!t->inodes_room) {
		free(i);
		return NULL;
	}
	i->hashed = true;
	inode_enter_bucket_locked(t, i);
	t->inodes_count++;
	return i;
}

struct inode *inode_find_locked(struct tree *t, const struct attr *attr)
{
	struct inode *i = t->inodes[inode_bucket(t, attr->dev, attr->ino)];

	while (i && (i->attr.dev != attr->dev || i->attr.ino != attr->ino))
		i = i->next_in_bucket;
	return i;
}

void inode_unhash_locked(struct tree *t, struct inode *i)
{
	if (!i->hashed)
		return;
	inode_leave_bucket_locked(t, i);
	i->hashed = false;
	inode_enter_bucket_locked(t, i);
}

void inode_hash_locked(struct tree *t, struct inode *i)
{
	struct inode *other = inode_find_locked(t, &i->attr);

	if (other)
		inode_unhash_locked(t, other);
	inode_leave_bucket_locked(t, i);
	i->hashed = true;
	inode_enter_bucket_locked(t, i);
}

static bool inode_is_used(const struct tree *t, const struct inode *i)
{
	return i == t->root || i->kernel_refs || i->pins || i->opens || i->children || i->staged;
}

static void idle_remove_locked(struct tree *t, struct inode *i)
{
	if (!i->is_idle)
		return;
	*(i->idle_prev ? &i->idle_prev->idle_next : &t->idle_oldest) = i->idle_next;
	*(i->idle_next ? &i->idle_next->idle_prev : &t->idle_newest) = i->idle_prev;
	i->idle_prev = i->idle_next = NULL;
	i->is_idle = false;
	t->idle_count--;
}

static void inode_free_locked(struct tree *t, struct inode *i)
{
	idle_remove_locked(t, i);
	inode_leave_bucket_locked(t, i);
	t->inodes_count--;
	i->magic = 0;
	free(i->link);
	free(i->staged);
	free(i);
}

void inode_wake_locked(struct tree *t, struct inode *i)
{
	idle_remove_locked(t, i);
}

void inode_unpin_locked(struct tree *t, struct inode *i)
{
	i->pins--;
	inode_rest_locked(t, i);
}

/* Forgets the longest unused inode, and with it that its directories are complete. */
static void idle_trim_locked(struct tree *t)
{
	while (!t->holds && t->idle_count > t->idle_max) {
		struct inode *oldest = t->idle_oldest;

		/* Off the list and pinned: its directory may come to rest by this, and trim in its turn. */
		idle_remove_locked(t, oldest);
		oldest->pins++;
		while (oldest->names) {
			oldest->names->dir->complete = false;
			dentry_drop_locked(t, oldest->names);
		}
		inode_free_locked(t, oldest);
	}
}

void inode_rest_locked(struct tree *t, struct inode *i)
{
	if (inode_is_used(t, i) || i->is_idle)
		return;
	if (!i->names) {
		inode_free_locked(t, i);
		return;
	}
	i->idle_prev = t->idle_newest;
	*(t->idle_newest ? &t->idle_newest->idle_next : &t->idle_oldest) = i;
	t->idle_newest = i;
	i->is_idle = true;
	t->idle_count++;
	idle_trim_locked(t);
}

/* ---- The table of names ---- */

uint32_t dentry_hash(const struct inode *dir, const char *name)
{
	return (uint32_t)XXH3_64bits_withSeed(name, strlen(name), (uint64_t)(uintptr_t)dir);
}

static void names_grow_locked(struct tree *t)
{
	size_t old_room = t->names_room, room = old_room ? old_room * 2 : TABLE_ROOM_FIRST;
	struct dentry **old = t->names, **grown = calloc(room, sizeof *grown);

	if (!grown)
		return;
	t->names = grown;
	t->names_room = room;
	for (size_t b = 0; b < old_room; b++)
		for (struct dentry *d = old[b], *next; d; d = next) {
			next = d->next_in_bucket;
			d->next_in_bucket = grown[d->hash & (room - 1)];
			grown[d->hash & (room - 1)] = d;
		}
	free(old);
}

struct dentry *dentry_find_locked(struct tree *t, const struct inode *dir, const char *name)
{
	uint32_t hash = dentry_hash(dir, name);
	struct dentry *d = t->names_room ? t->names[hash & (t->names_room - 1)] : NULL;

	while (d && (d->hash != hash || d->dir != dir || strcmp(d->name, name)))
		d = d->next_in_bucket;
	return d;
}

static void dentry_attach_inode(struct dentry *d, struct inode *i)
{
	d->inode = i;
	d->next_of_inode = i->names;
	i->names = d;
}

static void dentry_detach_inode(struct dentry *d)
{
	struct dentry **at = &d->inode->names;

	while (*at != d)
		at = &(*at)->next_of_inode;
	*at = d->next_of_inode;
	d->inode = NULL;
}

struct dentry *dentry_new_locked(
	struct tree *t, struct inode *dir, const char *name, struct inode *i)
{
	size_t len = strlen(name);
	struct dentry *d = calloc(1, sizeof *d + len + 1);

	if (t->names_count >= t->names_room)
		names_grow_locked(t);
	if (!d || !t->names_room) {
		free(d);
		return NULL;
	}
	memcpy(d->name, name, len + 1);
	d->hash = dentry_hash(dir, name);
	d->next_in_bucket = t->names[d->hash & (t->names_room - 1)];
	t->names[d->hash & (t->names_room - 1)] = d;
	t->names_count++;
	d->dir = dir;
	d->sibling_next = dir->children;
	if (dir->children)
		dir->children->sibling_prev = d;
	dir->children = d;
	inode_wake_locked(t, dir);
	dentry_attach_inode(d, i);
	return d;
}

void dentry_drop_locked(struct tree *t, struct dentry *d)
{
	struct dentry **at = &t->names[d->hash & (t->names_room - 1)];
	struct inode *dir = d->dir, *i = d->inode;

	while (*at != d)
		at = &(*at)->next_in_bucket;
	*at = d->next_in_bucket;
	t->names_count--;
	*(d->sibling_prev ? &d->sibling_prev->sibling_next : &dir->children) = d->sibling_next;
	if (d->sibling_next)
		d->sibling_next->sibling_prev = d->sibling_prev;
	dentry_detach_inode(d);
	free(d);
	if (!i->names)
		inode_wake_locked(t, i);
	inode_rest_locked(t, i);
	inode_rest_locked(t, dir);
}

void dentry_retarget_locked(struct tree *t, struct dentry *d, struct inode *i)
{
	struct inode *old = d->inode;

	if (old == i)
		return;
	dentry_detach_inode(d);
	dentry_attach_inode(d, i);
	if (!old->names)
		inode_wake_locked(t, old);
	inode_rest_locked(t, old);
}

/* ---- Life ---- */

struct tree *tree_new(const struct attr *root, size_t idle_max)
{
	AUTO_FREE struct tree *t = calloc(1, sizeof *t);
	pthread_condattr_t monotonic;

	if (!t)
		return NULL;
	t->idle_max = idle_max;
	t->held_from = UINT64_MAX;
	LIST_INIT(&t->under_way);
	STAILQ_INIT(&t->absences);
	TAILQ_INIT(&t->late);
	t->root = inode_new_locked(t, root);
	if (!t->root) {
		free(t->inodes);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&t->settled, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return take(t);
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	late_release_locked(t);
	unwatched_release_locked(t);
	for (size_t b = 0; b < t->names_room; b++)
		for (struct dentry *d = t->names[b], *next; d; d = next) {
			next = d->next_in_bucket;
			free(d);
		}
	absences_free(t);
	for (size_t b = 0; b <= t->inodes_room; b++)
		while (t->inodes[b])
			inode_free_locked(t, t->inodes[b]);
	free(t->names);
	free(t->inodes);
	pthread_cond_destroy(&t->settled);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

struct inode *tree_root(struct tree *t)
{
	return t->root;
}

void tree_pin(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	i->pins++;
	inode_wake_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

void tree_unpin(struct tree *t, struct inode *i)
{
	if (!i)
		return;
	pthread_mutex_lock(&t->lock);
	inode_unpin_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

void tree_kernel_get(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	i->kernel_refs++;
	inode_wake_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

void tree_hold(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->holds++;
	pthread_mutex_unlock(&t->lock);
}

void tree_release(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->holds--;
	idle_trim_locked(t);
	pthread_mutex_unlock(&t->lock);
}

void tree_counts(struct tree *t, uint64_t *inodes, uint64_t *names)
{
	pthread_mutex_lock(&t->lock);
	*inodes = t->inodes_count;
	*names = t->names_count;
	pthread_mutex_unlock(&t->lock);
}

/* ---- Paths ---- */

void tree_path_release(struct tree_path *p)
{
	free(p->text);
	p->text = NULL;
}

/*
 * When anything on the way was last moved; *moving: it is being moved. Of a way that changed, the lowest step that did is
 * still on it and newer than the whole way was.
 */
static uint64_t path_stamp_locked(const struct tree *t, const struct inode *i, bool *moving)
{
	uint64_t stamp = 0;

	*moving = false;
	for (;; i = i->names->dir) {
		stamp = i->moved > stamp ? i->moved : stamp;
		*moving |= i->moving > 0;
		if (i == t->root || !i->names)
			return stamp;
	}
}

/* The length of the path of `i`, or -1 when it hangs in the air. */
static ssize_t path_length_locked(const struct tree *t, const struct inode *i)
{
	ssize_t len = 0;

	for (; i != t->root; i = i->names->dir) {
		if (!i->names)
			return -1;
		len += (ssize_t)strlen(i->names->name) + 1;
		if (len > PATH_MAX * 16)
			return -1;
	}
	return len;
}

/* Writes the components backwards from `end`, each with a slash after it. */
static void path_write_locked(const struct tree *t, const struct inode *i, char *end)
{
	for (; i != t->root; i = i->names->dir) {
		size_t len = strlen(i->names->name);

		*--end = '/';
		end -= len;
		memcpy(end, i->names->name, len);
	}
}

char *path_build_locked(struct tree *t, struct inode *i, const char *name)
{
	if (!name && i->staged)
		return strdup(i->staged);
	ssize_t len = path_length_locked(t, i);
	size_t name_len = name ? strlen(name) : 0;

	if (len < 0)
		return NULL;
	char *text = malloc((size_t)len + name_len + 1);

	if (!text)
		return NULL;
	path_write_locked(t, i, text + len);
	if (name)
		memcpy(text + len, name, name_len);
	else if (len)
		len--; /* the last slash */
	text[(size_t)len + name_len] = 0;
	return text;
}

static bool leads_to_root_locked(const struct tree *t, const struct inode *i)
{
	while (i != t->root && i->names)
		i = i->names->dir;
	return i == t->root;
}

/* A name in a directory that was moved in the sandbox is of no use while there is another one: that comes first. */
static void choose_name_locked(const struct tree *t, struct inode *i)
{
	struct dentry **at = &i->names;

	while (*at && !leads_to_root_locked(t, (*at)->dir))
		at = &(*at)->next_of_inode;
	struct dentry *good = *at;

	if (!good || good == i->names)
		return;
	*at = good->next_of_inode;
	good->next_of_inode = i->names;
	i->names = good;
}

enum err tree_path(
	struct tree *t, struct inode *i, const char *name, struct tree_path *out, struct error *e)
{
	bool moving;

	pthread_mutex_lock(&t->lock);
	tree_path_release(out);
	choose_name_locked(t, i);
	out->stamp = path_stamp_locked(t, i, &moving);
	out->is_owed = i->foreseen || owes_path_locked(t, i);
	out->dir = i->names ? i->names->dir : NULL;
	out->text = path_build_locked(t, i, name);
	pthread_mutex_unlock(&t->lock);
	if (!out->text)
		return error_set(e, ERR_STALE, "a file that has no name any more");
	return ERR_OK;
}

bool tree_path_held(struct tree *t, struct inode *i, const struct tree_path *p)
{
	int64_t end_ms = tree_now_ms() + TREE_WAIT_MS;
	bool moving;

	pthread_mutex_lock(&t->lock);
	uint64_t stamp = path_stamp_locked(t, i, &moving);
	bool held = stamp == p->stamp && !moving;

	while (moving && tree_wait_locked(t, end_ms))
		path_stamp_locked(t, i, &moving);
	pthread_mutex_unlock(&t->lock);
	return held;
}

unsigned dir_depth_locked(const struct tree *t, const struct inode *dir)
{
	unsigned depth = 0;

	for (; dir != t->root && dir->names; dir = dir->names->dir)
		depth++;
	return depth;
}

unsigned inode_depth_locked(const struct tree *t, const struct inode *i)
{
	unsigned least = i->names ? UINT_MAX : 0;

	for (const struct dentry *d = i->names; d; d = d->next_of_inode) {
		unsigned depth = dir_depth_locked(t, d->dir);

		least = depth < least ? depth : least;
	}
	return least;
}

unsigned tree_depth(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	unsigned depth = inode_depth_locked(t, i);

	pthread_mutex_unlock(&t->lock);
	return depth;
}
