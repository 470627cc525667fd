/* The table of inodes, and which of them may be forgotten. */
#include "cache/tree/tree_inside.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static size_t bucket_of_number(size_t room, uint64_t dev, uint64_t ino)
{
	uint64_t key[2] = { dev, ino };

	return XXH3_64bits(key, sizeof key) & (room - 1);
}

/*
 * An inode that is not found by number has a bucket by its address, since many such inodes may have
 * one number.
 */
static size_t bucket_of(size_t room, const struct inode *i)
{
	return i->hashed || i->keeps_number ? bucket_of_number(room, i->attr.dev, i->attr.ino)
					    : XXH3_64bits(&i, sizeof i) & (room - 1);
}

static void inodes_grow_locked(struct tree *t)
{
	size_t old_room = t->inodes_room, room = old_room ? old_room * 2 : TREE_ROOM_FIRST;
	struct inode **old = t->inodes, **grown = calloc(room, sizeof *grown);

	if (!grown)
		return; /* chains get longer, but stay right */
	t->inodes = grown;
	t->inodes_room = room;
	t->inodes_taken = 0;
	for (size_t b = 0; b < old_room; b++)
		for (struct inode *i = old[b], *next; i; i = next) {
			size_t to = bucket_of(room, i);

			next = i->next_in_bucket;
			i->next_in_bucket = grown[to];
			grown[to] = i;
		}
	free(old);
}

static void inode_enter_bucket_locked(struct tree *t, struct inode *i)
{
	struct inode **first = &t->inodes[bucket_of(t->inodes_room, i)];

	i->next_in_bucket = *first;
	*first = i;
	kernel_uses_until_locked(t, i->kernel_until_ms);
}

static void inode_leave_bucket_locked(struct tree *t, struct inode *i)
{
	struct inode **at = &t->inodes[bucket_of(t->inodes_room, i)];

	while (*at != i)
		at = &(*at)->next_in_bucket;
	*at = i->next_in_bucket;
}

const struct inode_extra *inode_extra_locked(const struct inode *i)
{
	static const struct inode_extra nothing;

	return i->extra ? i->extra : &nothing;
}

struct inode_extra *inode_extra_make_locked(struct inode *i)
{
	if (!i->extra)
		i->extra = calloc(1, sizeof *i->extra);
	return i->extra;
}

void inode_set_link_locked(struct inode *i, const char *text)
{
	if (!inode_extra_make_locked(i))
		return;
	free(i->extra->link);
	i->extra->link = strdup(text);
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
	if (!t->inodes_room || (is_number_kept_locked(t, attr) && !inode_extra_make_locked(i))) {
		free(i);
		return NULL;
	}
	if (i->extra)
		i->extra->shown_ino = number_locked(t);
	i->hashed = true;
	inode_enter_bucket_locked(t, i);
	t->inodes_count++;
	return i;
}

struct inode *inode_find_locked(struct tree *t, const struct attr *attr)
{
	struct inode *i = t->inodes[bucket_of_number(t->inodes_room, attr->dev, attr->ino)];

	while (i && (!i->hashed || i->attr.dev != attr->dev || i->attr.ino != attr->ino))
		i = i->next_in_bucket;
	return i;
}

void inode_unhash_locked(struct tree *t, struct inode *i)
{
	if (!i->hashed && !i->keeps_number)
		return;
	inode_leave_bucket_locked(t, i);
	i->hashed = i->keeps_number = false;
	inode_enter_bucket_locked(t, i);
}

static bool is_remembered(const struct inode *i)
{
	return i->kernel_refs || i->opens;
}

void inode_retire_locked(struct tree *t, struct inode *i)
{
	if (!i->hashed)
		return;
	inode_leave_bucket_locked(t, i);
	i->hashed = false;
	i->keeps_number = is_remembered(i) && !inode_extra_locked(i)->shown_ino;
	inode_enter_bucket_locked(t, i);
}

bool is_number_kept_locked(const struct tree *t, const struct attr *attr)
{
	const struct inode *i = t->inodes[bucket_of_number(t->inodes_room, attr->dev, attr->ino)];

	while (i &&
		!(i->keeps_number && is_remembered(i) && i->attr.dev == attr->dev &&
			i->attr.ino == attr->ino))
		i = i->next_in_bucket;
	return i;
}

void inode_hash_locked(struct tree *t, struct inode *i)
{
	struct inode *other = inode_find_locked(t, &i->attr);

	if (other)
		inode_unhash_locked(t, other);
	inode_leave_bucket_locked(t, i);
	i->keeps_number = false;
	i->hashed = true;
	inode_enter_bucket_locked(t, i);
}

/* Whether there are uses other than names in the directory. */
static bool inode_is_held(const struct tree *t, const struct inode *i)
{
	return i == t->root || i->kernel_refs || i->pins || i->opens ||
		inode_extra_locked(i)->staged;
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

void inode_free_locked(struct tree *t, struct inode *i)
{
	idle_remove_locked(t, i);
	inode_leave_bucket_locked(t, i);
	t->inodes_count--;
	i->magic = 0;
	negatives_drop_locked(t, i);
	forget_ctime_locked(i);
	if (i->extra) {
		free(i->extra->link);
		free(i->extra->staged);
		free(i->extra->was_at);
		free(i->extra);
	}
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

void inodes_trim_locked(struct tree *t)
{
	if (t->is_trimming)
		return;
	t->is_trimming = true;
	while (!t->holds && t->idle_count > t->idle_max) {
		struct inode *oldest = t->idle_oldest;

		/*
		 * The inode is off the list and pinned, since its directory may come to rest now.
		 */
		idle_remove_locked(t, oldest);
		oldest->pins++;
		while (oldest->names) {
			oldest->names->dir->complete = false;
			dentry_drop_locked(t, oldest->names);
		}
		inode_free_locked(t, oldest);
	}
	t->is_trimming = false;
}

void inode_rest_locked(struct tree *t, struct inode *i)
{
	if (inode_is_held(t, i) || i->is_idle)
		return;
	if (i->children) {
		/*
		 * An answer under way may have taught names in a directory after its own name was
		 * lost.
		 */
		if (!i->names)
			names_prune_locked(t, i);
		return;
	}
	if (!i->names) {
		inode_free_locked(t, i);
		return;
	}
	i->idle_prev = t->idle_newest;
	*(t->idle_newest ? &t->idle_newest->idle_next : &t->idle_oldest) = i;
	t->idle_newest = i;
	i->is_idle = true;
	t->idle_count++;
	inodes_trim_locked(t);
}
