/* The table of names. */
#include "cache/tree_inside.h"

#include <stdlib.h>
#include <string.h>
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

void dentry_lost_locked(struct tree *t, struct dentry *d)
{
	struct inode *i = d->inode;

	kernel_forgets_name_locked(t, d->dir, d->name, d, true);
	i->pins++;
	dentry_drop_locked(t, d);
	lost_from_sight_locked(t, i);
	inode_unpin_locked(t, i);
}

/* ---- Names that lead nowhere ---- */

static bool is_nameless_locked(const struct tree *t, const struct inode *i)
{
	return i != t->root && !i->names && !i->staged;
}

static bool is_under_change(const struct inode *i)
{
	return i->changing || i->owed || i->provisional || i->moving;
}

void names_prune_locked(struct tree *t, struct inode *dir)
{
	dir->pins++;
	negatives_drop_locked(t, dir);
	late_forget_locked(t, dir);
	for (struct dentry *d = dir->children, *next; d; d = next) {
		next = d->sibling_next;
		if (!is_under_change(d->inode))
			dentry_lost_locked(t, d);
	}
	dir->pins--;
	if (!dir->children)
		inode_rest_locked(t, dir);
}

void names_prune_after_locked(struct tree *t, struct inode *i)
{
	struct inode *dir = i->names ? i->names->dir : i;

	if (is_nameless_locked(t, dir) && dir->children && !dir->changing)
		names_prune_locked(t, dir);
}
