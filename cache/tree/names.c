/* The table of names. */
#include "cache/tree/tree_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

uint32_t dentry_hash(const struct inode *dir, const char *name)
{
	return (uint32_t)XXH3_64bits_withSeed(name, strlen(name), (uint64_t)(uintptr_t)dir);
}

static void names_grow_locked(struct tree *t)
{
	size_t old_room = t->names_room, room = old_room ? old_room * 2 : TREE_ROOM_FIRST;
	struct dentry **old = t->names, **grown = calloc(room, sizeof *grown);

	if (!grown)
		return;
	t->names = grown;
	t->names_room = room;
	t->names_taken = 0;
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

/* A file that had lost its last name to others has a new path by this name. */
static void dentry_attach_inode(struct dentry *d, struct inode *i)
{
	if (!i->names && inode_extra_locked(i)->was_at) {
		free(i->extra->was_at);
		i->extra->was_at = NULL;
	}
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

bool may_be_in_locked(const struct tree *t, const struct inode *i, const struct inode *dir)
{
	if (i == t->root || i == dir || !S_ISDIR(dir->attr.mode))
		return false;
	return !i->children || !is_above_locked(t, i, dir);
}

struct dentry *dentry_new_locked(
	struct tree *t, struct inode *dir, const char *name, struct inode *i)
{
	bool has_other = S_ISDIR(i->attr.mode) && i->names;
	bool may = !has_other && may_be_in_locked(t, i, dir);
	size_t len = strlen(name);
	struct dentry *d = may ? calloc(1, sizeof *d + len + 1) : NULL;

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
	d->link_is_ours = false;
	if (!old->names)
		inode_wake_locked(t, old);
	inode_rest_locked(t, old);
}

/* ---- Lost names ---- */

static bool is_nameless_locked(const struct tree *t, const struct inode *i)
{
	return i != t->root && !i->names && !inode_extra_locked(i)->staged;
}

static bool is_under_change(const struct inode *i)
{
	return i->changing || i->unsynced || i->provisional || i->moving;
}

/* Drops a name. A directory that is lost with it is pinned and put at the head of `lost`. */
static void lose_name_locked(struct tree *t, struct dentry *d, struct inode **lost)
{
	struct inode *i = d->inode;

	kernel_forgets_name_locked(t, d->dir, d->name, d, true);
	remember_place_locked(t, i);
	i->pins++;
	inode_wake_locked(t, i);
	dentry_drop_locked(t, d);
	/* A link found again elsewhere was not written there. */
	i->link_is_ours &= i->names != NULL;
	if (i->names || i == t->root) {
		inode_unpin_locked(t, i);
		return;
	}
	i->attr_until_ms = 0;
	i->complete_until_ms = 0;
	i->idle_next = *lost;
	*lost = i;
}

/* Adds the directories that are lost with the names. */
static void lose_names_in_locked(struct tree *t, struct inode *dir, struct inode **lost)
{
	dir->pins++;
	negatives_drop_locked(t, dir);
	deferred_event_forget_locked(t, dir);
	for (struct dentry *d = dir->children, *next; d; d = next) {
		next = d->sibling_next;
		if (!is_under_change(d->inode))
			lose_name_locked(t, d, lost);
	}
	dir->pins--;
	if (!dir->children)
		inode_rest_locked(t, dir);
}

/* Works on one directory after the other: the stack does not grow with the depth of the tree. */
static void lose_all_locked(struct tree *t, struct inode *lost)
{
	while (lost) {
		struct inode *i = lost;

		lost = i->idle_next;
		i->idle_next = NULL;
		lose_names_in_locked(t, i, &lost);
		invalidate_entries_locked(i);
		for (const struct dentry *d = i->children; d; d = d->sibling_next)
			invalidate_below_locked(d->inode);
		inode_unpin_locked(t, i);
	}
}

void dentry_lost_locked(struct tree *t, struct dentry *d)
{
	struct inode *lost = NULL;

	lose_name_locked(t, d, &lost);
	lose_all_locked(t, lost);
}

void names_prune_locked(struct tree *t, struct inode *dir)
{
	struct inode *lost = NULL;

	lose_names_in_locked(t, dir, &lost);
	lose_all_locked(t, lost);
}

void names_prune_after_locked(struct tree *t, struct inode *i)
{
	struct inode *dir = i->names ? i->names->dir : i;

	if (is_nameless_locked(t, dir) && dir->children && !dir->changing)
		names_prune_locked(t, dir);
}
