/*
 * Which part of the tree the kernel has. Each inode and name has a time until which the kernel may
 * use it. Only for that part a notice is needed, and only once.
 */
#include "cache/tree/tree_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* ---- Negative entries in the kernel ---- */

/* The limit of negative entries that the kernel may keep. */
#define NEGATIVES_MAX 65536

struct negative {
	TAILQ_ENTRY(negative) link;
	LIST_ENTRY(negative) of_name, of_dir;
	struct inode *dir; /* drops this entry when it is freed */
	int64_t until_ms;
	char name[];
};

static size_t negative_bucket(const struct inode *dir, const char *name)
{
	return dentry_hash(dir, name) % NEGATIVE_BUCKETS;
}

static void negative_drop_locked(struct tree *t, struct negative *a)
{
	if (t->negative_taken == a)
		t->negative_taken = TAILQ_NEXT(a, link);
	TAILQ_REMOVE(&t->negatives, a, link);
	LIST_REMOVE(a, of_name);
	LIST_REMOVE(a, of_dir);
	t->negatives_count--;
	free(a);
}

static struct negative *negative_find_locked(
	struct tree *t, const struct inode *dir, const char *name)
{
	struct negative *a;

	LIST_FOREACH(a, &t->negatives_by_name[negative_bucket(dir, name)], of_name)
	{
		if (a->dir == dir && !strcmp(a->name, name))
			return a;
	}
	return NULL;
}

static bool negative_add_locked(
	struct tree *t, struct inode *dir, const char *name, int64_t until_ms)
{
	size_t len = strlen(name) + 1;
	struct negative *a = t->negatives_count < NEGATIVES_MAX ? malloc(sizeof *a + len) : NULL;

	if (!a || !inode_extra_make_locked(dir)) {
		free(a);
		return false;
	}
	a->dir = dir;
	a->until_ms = until_ms;
	memcpy(a->name, name, len);
	TAILQ_INSERT_TAIL(&t->negatives, a, link);
	LIST_INSERT_HEAD(&t->negatives_by_name[negative_bucket(dir, name)], a, of_name);
	LIST_INSERT_HEAD(&dir->extra->negatives, a, of_dir);
	t->negatives_count++;
	return true;
}

static int64_t kernel_until(int64_t until_ms)
{
	int64_t most_ms = tree_now_ms() + TREE_KERNEL_MAX_MS;

	return until_ms < most_ms ? until_ms : most_ms;
}

bool tree_give_negative(struct tree *t, struct inode *dir, const char *name, int64_t until_ms)
{
	int64_t now_ms = tree_now_ms();

	pthread_mutex_lock(&t->lock);
	struct negative *old = negative_find_locked(t, dir, name);

	if (old)
		negative_drop_locked(t, old);
	while (!TAILQ_EMPTY(&t->negatives) && TAILQ_FIRST(&t->negatives)->until_ms <= now_ms)
		negative_drop_locked(t, TAILQ_FIRST(&t->negatives));
	bool added = negative_add_locked(t, dir, name, kernel_until(until_ms));

	pthread_mutex_unlock(&t->lock);
	return added;
}

void negatives_drop_locked(struct tree *t, struct inode *dir)
{
	while (dir->extra && !LIST_EMPTY(&dir->extra->negatives))
		negative_drop_locked(t, LIST_FIRST(&dir->extra->negatives));
}

/* ---- Given to the kernel ---- */

static void raise_until(int64_t *kernel_until_ms, int64_t until_ms)
{
	if (*kernel_until_ms < until_ms)
		*kernel_until_ms = until_ms;
}

/* tree_take_outdated() may be under way and past this entry's bucket, so both limits are raised. */
void kernel_uses_until_locked(struct tree *t, int64_t until_ms)
{
	raise_until(&t->kernel_until_ms, until_ms);
	raise_until(&t->kernel_keeps_until_ms, until_ms);
}

/* A hash of the attributes that are shown. */
static uint64_t shown_hash_locked(const struct tree *t, const struct inode *i)
{
	struct attr a = i->attr;

	show_locked(t, i, &a);
	struct timespec ctime = shown_ctime_locked(i, a.ctime);
	const uint64_t facts[] = { a.dev, a.ino, a.mode, a.nlink, a.uid, a.gid, a.rdev, a.size,
		a.blocks, (uint64_t)a.blksize, (uint64_t)a.atime.tv_sec, (uint64_t)a.atime.tv_nsec,
		(uint64_t)a.mtime.tv_sec, (uint64_t)a.mtime.tv_nsec, (uint64_t)ctime.tv_sec,
		(uint64_t)ctime.tv_nsec };

	return XXH3_64bits(facts, sizeof facts);
}

/* Where two answers differ the kernel may take either one last. */
void kernel_has_attr_locked(struct tree *t, struct inode *i, int64_t until_ms)
{
	int64_t now_ms = tree_now_ms();

	if (until_ms <= now_ms)
		return;
	uint64_t given = shown_hash_locked(t, i);
	bool may_have_other = i->kernel_until_ms > now_ms && i->kernel_attr != given;

	i->kernel_attr = may_have_other ? 0 : given;
	raise_until(&i->kernel_until_ms, kernel_until(until_ms));
	if (i == t->root)
		return;
	t->given++;
	kernel_uses_until_locked(t, i->kernel_until_ms);
}

int64_t tree_give_name(struct tree *t, struct inode *dir, const char *name, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	struct dentry *d = dentry_find_locked(t, dir, name);
	bool may_keep = d && d->inode == i && !may_be_copied_up_locked(i);
	int64_t until_ms = may_keep ? valid_until_locked(t, d->until_ms) : 0;

	if (until_ms) {
		raise_until(&d->kernel_until_ms, kernel_until(until_ms));
		kernel_uses_until_locked(t, d->kernel_until_ms);
	}
	pthread_mutex_unlock(&t->lock);
	return until_ms;
}

/* ---- Outdated ---- */

static bool has_attr_locked(const struct tree *t, const struct inode *i, int64_t now_ms)
{
	return (i->kernel_refs || i == t->root) && i->kernel_until_ms > now_ms;
}

static bool has_name_locked(const struct tree *t, const struct dentry *d, int64_t now_ms)
{
	return d->inode->kernel_refs && (d->dir->kernel_refs || d->dir == t->root) &&
		d->kernel_until_ms > now_ms;
}

/* Pages of a closed file are checked when it is opened; pages of a link are never checked. */
static bool uses_pages(const struct inode *i)
{
	return i->opens || (S_ISLNK(i->attr.mode) && i->kernel_refs);
}

void kernel_forgets_inode_locked(struct tree *t, struct inode *i, bool pages)
{
	bool has_attr = has_attr_locked(t, i, tree_now_ms());

	if (pages && !i->opens)
		i->has_pages = false;
	if (!has_attr && !(pages && uses_pages(i)))
		return;
	i->kernel_until_ms = 0;
	tell_locked(t, &(struct tree_report){ .inode = i, .pages = pages });
}

void tree_drop_pages(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	kernel_forgets_inode_locked(t, i, true);
	pthread_mutex_unlock(&t->lock);
}

void kernel_forgets_name_locked(
	struct tree *t, struct inode *dir, const char *name, struct dentry *d, bool is_gone)
{
	struct negative *a = negative_find_locked(t, dir, name);
	bool has_name = d && has_name_locked(t, d, tree_now_ms());
	/* A name keeps its inode in the kernel even after its validity. */
	bool keeps_inode = is_gone && d && d->inode->kernel_refs;

	if (!a && !has_name && !keeps_inode)
		return;
	if (a)
		negative_drop_locked(t, a);
	if (d)
		d->kernel_until_ms = 0;
	tell_locked(t, &(struct tree_report){ .dir = dir, .name = name, .is_gone = is_gone });
}

void kernel_forgets_absent_locked(struct tree *t, struct inode *dir)
{
	while (dir->extra && !LIST_EMPTY(&dir->extra->negatives)) {
		struct negative *a = LIST_FIRST(&dir->extra->negatives);

		tell_locked(t, &(struct tree_report){ .dir = dir, .name = a->name });
		negative_drop_locked(t, a);
	}
}

/* ---- Taking all that is outdated ---- */

/* Whether an answer is leased again after an invalidation. */
static bool is_held_again_locked(const struct tree *t, int64_t until_ms, int64_t now_ms)
{
	return until_ms == TREE_HELD && !t->is_offline && is_valid_locked(t, until_ms, now_ms);
}

/*
 * An open file must be stable, for its pages: contents that changed within a clock tick look
 * equal.
 */
static bool keeps_attr_locked(const struct tree *t, const struct inode *i, int64_t now_ms)
{
	return is_held_again_locked(t, i->attr_until_ms, now_ms) && !i->changing &&
		(!i->opens || i->stable) && i->kernel_attr == shown_hash_locked(t, i);
}

static bool keeps_negative_locked(struct tree *t, const struct negative *a, int64_t now_ms)
{
	return a->dir->complete && a->dir->changing == a->dir->local_effects &&
		is_held_again_locked(t, a->dir->complete_until_ms, now_ms) &&
		!dentry_find_locked(t, a->dir, a->name);
}

/* The limit of buckets for which the lock is held. */
#define BUCKETS_AT_ONCE 4096

struct taking {
	struct tree *tree;
	struct tree_outdated *out;
	size_t count, room;
	size_t buckets; /* left for this call */
	int64_t now_ms;
};

static void take_name(struct taking *k, struct inode *dir, const char *name)
{
	char *copy = strdup(name);

	if (copy)
		k->out[k->count++] = (struct tree_outdated){ .inode = dir, .name = copy };
}

static void take_negatives_locked(struct taking *k)
{
	struct negative *a;

	while (k->count < k->room && (a = k->tree->negative_taken)) {
		k->tree->negative_taken = TAILQ_NEXT(a, link);
		if (a->until_ms > k->now_ms && keeps_negative_locked(k->tree, a, k->now_ms))
			continue;
		if (a->until_ms > k->now_ms)
			take_name(k, a->dir, a->name);
		negative_drop_locked(k->tree, a);
	}
}

static void take_inode_locked(struct taking *k, struct inode *i)
{
	bool has_attr = i != k->tree->root && has_attr_locked(k->tree, i, k->now_ms);
	bool keeps = has_attr ? keeps_attr_locked(k->tree, i, k->now_ms) : !i->opens;

	if (keeps || k->count == k->room) {
		raise_until(&k->tree->kernel_keeps_until_ms,
			i == k->tree->root ? 0 : i->kernel_until_ms);
		return;
	}
	i->kernel_until_ms = 0;
	k->out[k->count++] = (struct tree_outdated){ .inode = i, .pages = i->opens > 0 };
}

static void take_dentry_locked(struct taking *k, struct dentry *d)
{
	bool keeps = !has_name_locked(k->tree, d, k->now_ms) ||
		is_held_again_locked(k->tree, d->until_ms, k->now_ms);

	if (keeps || k->count == k->room) {
		raise_until(&k->tree->kernel_keeps_until_ms, d->kernel_until_ms);
		return;
	}
	d->kernel_until_ms = 0;
	take_name(k, d->dir, d->name);
}

/*
 * A bucket is taken whole. No honest sandbox makes one that is longer than the room: what is left
 * of such a one the next doubt takes.
 */
static bool fits(const struct taking *k, size_t chain)
{
	return !k->count || chain <= k->room - k->count;
}

static bool take_inodes_locked(struct taking *k)
{
	struct tree *t = k->tree;

	for (; t->inodes_taken < t->inodes_room && k->buckets; t->inodes_taken++, k->buckets--) {
		struct inode *first = t->inodes[t->inodes_taken];
		size_t chain = 0;

		for (const struct inode *i = first; i; i = i->next_in_bucket)
			chain++;
		if (!fits(k, chain))
			return false;
		for (struct inode *i = first; i; i = i->next_in_bucket)
			take_inode_locked(k, i);
	}
	return t->inodes_taken == t->inodes_room;
}

static bool take_names_locked(struct taking *k)
{
	struct tree *t = k->tree;

	for (; t->names_taken < t->names_room && k->buckets; t->names_taken++, k->buckets--) {
		struct dentry *first = t->names[t->names_taken];
		size_t chain = 0;

		for (const struct dentry *d = first; d; d = d->next_in_bucket)
			chain++;
		if (!fits(k, chain))
			return false;
		for (struct dentry *d = first; d; d = d->next_in_bucket)
			take_dentry_locked(k, d);
	}
	return t->names_taken == t->names_room;
}

void taking_begins_locked(struct tree *t)
{
	bool is_used = t->kernel_until_ms > tree_now_ms();

	t->negative_taken = TAILQ_FIRST(&t->negatives);
	/* The pages of an open file are used, whatever time that says. */
	t->inodes_taken = is_used || t->opens ? 0 : t->inodes_room;
	t->names_taken = is_used ? 0 : t->names_room;
	t->kernel_keeps_until_ms = 0;
}

bool tree_take_outdated(struct tree *t, struct tree_outdated *out, size_t room, size_t *count)
{
	struct taking k = { .tree = t,
		.out = out,
		.room = room,
		.buckets = BUCKETS_AT_ONCE,
		.now_ms = tree_now_ms() };

	pthread_mutex_lock(&t->lock);
	take_negatives_locked(&k);
	bool is_over = !t->negative_taken && take_inodes_locked(&k) && take_names_locked(&k);

	if (is_over)
		t->kernel_until_ms = t->kernel_keeps_until_ms;
	pthread_mutex_unlock(&t->lock);
	*count = k.count;
	return !is_over;
}

static bool kernel_has_names_locked(const struct tree *t, size_t count)
{
	int64_t now_ms = tree_now_ms();
	size_t found = 0;

	for (size_t b = 0; b < t->names_room && found < count; b++)
		for (const struct dentry *d = t->names[b]; d; d = d->next_in_bucket)
			found += has_name_locked(t, d, now_ms);
	return found >= count;
}

bool tree_kernel_has_names(struct tree *t, size_t count)
{
	pthread_mutex_lock(&t->lock);
	bool has = kernel_has_names_locked(t, count);

	pthread_mutex_unlock(&t->lock);
	return has;
}

bool tree_kernel_uses_names(struct tree *t, size_t count)
{
	pthread_mutex_lock(&t->lock);
	bool uses = t->given != t->given_before && kernel_has_names_locked(t, count);

	if (uses)
		t->given_before = t->given;
	pthread_mutex_unlock(&t->lock);
	return uses;
}

bool tree_is_nameless(struct tree *t, const struct inode *dir, const char *name)
{
	pthread_mutex_lock(&t->lock);
	bool is_nameless = !dentry_find_locked(t, dir, name);

	pthread_mutex_unlock(&t->lock);
	return is_nameless;
}
