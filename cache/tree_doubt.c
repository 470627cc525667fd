/* What the kernel may know, and how all of it comes into doubt. */
#include "cache/tree_inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names that the kernel may know without there being a dentry: that they do not exist, or that they did ---- */

/* Of those that were told within the time they are believed. More are told, but not to be believed. */
#define ABSENCES_MAX 65536

struct absence {
	STAILQ_ENTRY(absence) link;
	struct inode *dir; /* pinned */
	int64_t until_ms;
	char name[];
};

static void absence_drop_locked(struct tree *t)
{
	struct absence *a = STAILQ_FIRST(&t->absences);

	STAILQ_REMOVE_HEAD(&t->absences, link);
	t->absences_count--;
	inode_unpin_locked(t, a->dir);
	free(a);
}

static bool absence_add_locked(
	struct tree *t, struct inode *dir, const char *name, int64_t until_ms)
{
	size_t len = strlen(name) + 1;
	struct absence *a = t->absences_count < ABSENCES_MAX ? malloc(sizeof *a + len) : NULL;

	if (!a)
		return false;
	*a = (struct absence){ .dir = dir, .until_ms = until_ms };
	memcpy(a->name, name, len);
	STAILQ_INSERT_TAIL(&t->absences, a, link);
	t->absences_count++;
	dir->pins++;
	inode_wake_locked(t, dir);
	return true;
}

bool tree_absence_told(struct tree *t, struct inode *dir, const char *name, int64_t until_ms)
{
	int64_t now_ms = tree_now_ms();

	pthread_mutex_lock(&t->lock);
	while (!STAILQ_EMPTY(&t->absences) && STAILQ_FIRST(&t->absences)->until_ms <= now_ms)
		absence_drop_locked(t);
	bool added = absence_add_locked(t, dir, name, until_ms);

	pthread_mutex_unlock(&t->lock);
	return added;
}

void dentry_lost_locked(struct tree *t, struct dentry *d)
{
	int64_t until_ms = believed_until_locked(t, d->until_ms);
	struct inode *i = d->inode;

	if (i->kernel_refs && until_ms > tree_now_ms())
		absence_add_locked(t, d->dir, d->name, until_ms);
	i->pins++;
	dentry_drop_locked(t, d);
	lost_from_sight_locked(t, i);
	inode_unpin_locked(t, i);
}

void absences_free(struct tree *t)
{
	struct absence *a;

	while ((a = STAILQ_FIRST(&t->absences))) {
		STAILQ_REMOVE_HEAD(&t->absences, link);
		free(a);
	}
}

/* ---- Everything in doubt ---- */

/* Pinned, so that it can be told without the lock. */
static void told_add(struct tree_told *all, size_t *count, const struct tree_told *one)
{
	if (one->inode)
		one->inode->pins++;
	else
		one->dir->pins++;
	all[(*count)++] = *one;
}

static struct tree_told *collect_locked(struct tree *t, size_t *count)
{
	struct tree_told *all =
		calloc(t->inodes_count + t->names_count + t->absences_count + 1, sizeof *all);
	struct absence *a;

	*count = 0;
	if (!all)
		return NULL;
	FOR_EACH_INODE(t, i)
	{
		if (i->kernel_refs || i == t->root)
			told_add(all, count,
				&(struct tree_told){ .inode = i, .pages = i->opens > 0 });
	}
	for (size_t b = 0; b < t->names_room; b++)
		for (struct dentry *d = t->names[b]; d; d = d->next_in_bucket)
			if (d->dir->kernel_refs || d->dir == t->root)
				told_add(all, count,
					&(struct tree_told){
						.dir = d->dir, .name = strdup(d->name) });
	STAILQ_FOREACH(a, &t->absences, link)
	told_add(all, count, &(struct tree_told){ .dir = a->dir, .name = strdup(a->name) });
	return all;
}

/* What is held comes back with the next audit, unless it is to be forgotten. */
static void doubt_belief(int64_t *until_ms, bool forget)
{
	if (forget || *until_ms != TREE_HELD)
		*until_ms = 0;
}

static void doubt_locked(struct tree *t, bool forget)
{
	t->doubted = ++t->serial; /* answers under way are older than this */
	t->trusted_until_ms = 0;
	FOR_EACH_INODE(t, i)
	{
		doubt_belief(&i->attr_until_ms, forget);
		doubt_belief(&i->complete_until_ms, forget);
	}
	for (size_t b = 0; b < t->names_room; b++)
		for (struct dentry *d = t->names[b]; d; d = d->next_in_bucket)
			doubt_belief(&d->until_ms, forget);
	while (!STAILQ_EMPTY(&t->absences))
		absence_drop_locked(t);
}

void tree_doubt_all(struct tree *t, tree_tell tell, void *context)
{
	size_t count;

	pthread_mutex_lock(&t->lock);
	struct tree_told *all = collect_locked(t, &count);

	doubt_locked(t, false);
	pthread_mutex_unlock(&t->lock);
	for (size_t n = 0; n < count; n++) {
		if (all[n].inode || all[n].name)
			tell(context, &all[n]);
		tree_unpin(t, all[n].inode);
		tree_unpin(t, all[n].dir);
		free((char *)all[n].name);
	}
	free(all);
}

void tree_forget(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	doubt_locked(t, true);
	/* While a stream begins nothing is held anyway. */
	if (t->held_from == UINT64_MAX)
		t->held_before = t->serial;
	else
		t->held_from = t->serial;
	pthread_mutex_unlock(&t->lock);
}
