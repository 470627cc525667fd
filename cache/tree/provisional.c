/* Provisional inodes, and paths with names that the sandbox does not have yet. */
#include "cache/tree/tree_inside.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Made here ---- */

/*
 * A file system that does not count the directories in a directory says 1 of each. A layered file
 * system, which has no time of birth, says so only of directories that are in several layers.
 */
static uint32_t links_of_made(const struct inode *dir, uint32_t mode)
{
	bool is_layered = !dir->attr.btime_ns && !dir->provisional;

	return S_ISDIR(mode) && (dir->attr.nlink > 1 || is_layered) ? 2 : 1;
}

uint64_t number_locked(struct tree *t)
{
	return TREE_PROVISIONAL + ++t->provisionals;
}

static struct attr attr_of_made(struct tree *t, const struct inode *dir, const struct attr *wanted)
{
	struct attr attr = *wanted;

	attr.dev = dir->attr.dev;
	attr.ino = number_locked(t);
	attr.btime_ns = 0;
	attr.nlink = links_of_made(dir, attr.mode);
	attr.blksize = dir->attr.blksize;
	attr.blocks = 0;
	return attr;
}

/* Answers under way are older than the new inode. */
static void note_made_locked(struct tree *t, struct inode *dir, struct inode *i, struct dentry *d,
	const struct tree_news *news)
{
	uint64_t made = ++t->serial;

	i->changed = made;
	if (!dir->changing)
		dir->changed = made;
	i->provisional = true;
	i->made_here = true;
	i->own = true;
	i->attr_until_ms = validity_end_locked(t, i, made, news->until_ms);
	d->until_ms = validity_end_locked(t, dir, made, news->name_until_ms);
	if (S_ISDIR(i->attr.mode)) {
		i->complete = true;
		i->complete_until_ms = d->until_ms;
		i->listed_until_ms = i->attr_until_ms;
	}
	if (news->link)
		inode_set_link_locked(i, news->link);
}

struct inode *tree_apply_local_made(
	struct tree *t, struct inode *dir, const char *name, const struct tree_news *news)
{
	pthread_mutex_lock(&t->lock);
	struct attr attr = attr_of_made(t, dir, &news->attr);
	struct inode *i = inode_new_locked(t, &attr);
	struct dentry *d = i ? dentry_new_locked(t, dir, name, i) : NULL;

	if (i) {
		inode_unhash_locked(t, i);
		i->pins++;
	}
	if (d) {
		note_made_locked(t, dir, i, d, news);
	} else if (i) {
		inode_unpin_locked(t, i);
		i = NULL;
	}
	pthread_mutex_unlock(&t->lock);
	return i;
}

bool tree_is_provisional(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool is = i->provisional;

	pthread_mutex_unlock(&t->lock);
	return is;
}

/* ---- Answers of the sandbox ---- */

/* Without memory the sandbox's number is shown. */
static void show_number_locked(struct inode *i, uint64_t number)
{
	struct inode_extra *x = inode_extra_make_locked(i);

	if (x)
		x->shown_ino = number;
}

void take_identity_locked(struct tree *t, struct inode *i, const struct attr *attr)
{
	take_back_locked(t, i);
	show_number_locked(i, i->attr.ino);
	i->provisional = false;
	i->attr.dev = attr->dev;
	i->attr.ino = attr->ino;
	i->attr.btime_ns = attr->btime_ns;
	/* An inode that has lost its names meanwhile is not found by number. */
	if (!i->gone || inode_extra_locked(i)->staged)
		inode_hash_locked(t, i);
}

void tree_rebind(struct tree *t, struct inode *i, const struct attr *attr)
{
	pthread_mutex_lock(&t->lock);
	uint64_t own = inode_extra_locked(i)->shown_ino, shown = own ? own : i->attr.ino;

	if (!i->provisional && !is_same_file(&i->attr, attr)) {
		inode_unhash_locked(t, i);
		take_identity_locked(t, i, attr);
		show_number_locked(i, shown);
		/*
		 * Answers to earlier questions are about the former inode: they do not prove that
		 * the name is another file's.
		 */
		i->moved = ++t->serial;
		if (i->extra)
			i->extra->replaced = i->moved;
	}
	pthread_mutex_unlock(&t->lock);
}

void tree_taken(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	i->complete = false;
	i->complete_until_ms = 0;
	/* In layers the directory may belong to a lower one, and then cannot be moved. */
	i->made_here = false;
	kernel_forgets_absent_locked(t, i);
	kernel_forgets_inode_locked(t, i, true);
	pthread_mutex_unlock(&t->lock);
}

static bool stands_at_locked(
	struct tree *t, const struct dentry *d, const char *path, const char *path2)
{
	char *own = path_build_locked(t, d->dir, d->name);
	bool is = own && (!strcmp(own, path) || (path2 && !strcmp(own, path2)));

	free(own);
	return is;
}

/* Whether `i` has one of the two paths. */
static bool is_found_locked(
	struct tree *t, const struct inode *i, const char *path, const char *path2)
{
	for (const struct dentry *d = i->names; d; d = d->next_of_inode)
		if (stands_at_locked(t, d, path, path2))
			return true;
	return false;
}

void tree_copied_up(struct tree *t, struct inode *i, const char *path, const char *path2,
	unsigned ended, const struct attr *attr)
{
	tree_rebind(t, i, attr);
	pthread_mutex_lock(&t->lock);
	bool is_found = i->unsynced <= ended && is_found_locked(t, i, path, path2);

	for (struct dentry *d = i->names, *next; d && is_found; d = next) {
		next = d->next_of_inode;
		if (stands_at_locked(t, d, path, path2))
			continue;
		d->dir->complete = false;
		dentry_lost_locked(t, d);
	}
	pthread_mutex_unlock(&t->lock);
}

bool tree_is_movable(struct tree *t, struct inode *i, const struct inode *to)
{
	pthread_mutex_lock(&t->lock);
	bool is = !S_ISDIR(i->attr.mode) || i->attr.btime_ns || i->made_here;

	is = is && may_be_in_locked(t, i, to);

	pthread_mutex_unlock(&t->lock);
	return is;
}

bool may_be_copied_up_locked(const struct inode *i)
{
	return !S_ISDIR(i->attr.mode) && !i->attr.btime_ns && i->attr.nlink > 1 && !i->provisional;
}

bool tree_may_be_copied_up(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool may = may_be_copied_up_locked(i);

	pthread_mutex_unlock(&t->lock);
	return may;
}

void tree_number(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	if (!i->provisional && !inode_extra_locked(i)->shown_ino)
		show_number_locked(i, number_locked(t));
	pthread_mutex_unlock(&t->lock);
}

void tree_replacing(struct tree *t, struct inode *i, int delta)
{
	pthread_mutex_lock(&t->lock);
	struct inode_extra *x = inode_extra_make_locked(i);

	/* Without memory the change is refused. */
	if (x && (delta > 0 || x->replacing))
		x->replacing += (unsigned)delta;
	pthread_mutex_unlock(&t->lock);
}

static void refuse_name_locked(struct tree *t, struct dentry *d)
{
	struct inode *dir = d->dir;

	take_back_locked(t, dir);
	dir->complete = false;
	dir->attr_until_ms = 0;
	kernel_forgets_name_locked(t, dir, d->name, d, true);
	kernel_forgets_inode_locked(t, dir, false);
	dentry_drop_locked(t, d);
}

void tree_refused_made(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	take_back_locked(t, i);
	i->pins++;
	i->provisional = false;
	i->gone = i->complete = false;
	i->attr_until_ms = 0;
	if (i->extra)
		free(take(i->extra->staged));
	while (i->names)
		refuse_name_locked(t, i->names);
	kernel_forgets_inode_locked(t, i, true);
	inode_unpin_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

/* ---- Paths with pending changes ---- */

bool is_only_here_locked(const struct dentry *d, uint64_t seen)
{
	return d && (d->inode->unsynced || inode_extra_locked(d->inode)->replaced > seen);
}

void tree_mark_unsynced(struct tree *t, struct inode *i, int delta)
{
	pthread_mutex_lock(&t->lock);
	i->unsynced += (unsigned)delta;
	pthread_mutex_unlock(&t->lock);
}

static struct inode *unsynced_ancestor_locked(const struct tree *t, struct inode *i)
{
	while (!i->unsynced && !i->provisional && i != t->root && i->names)
		i = i->names->dir;
	return i->unsynced || i->provisional ? i : NULL;
}

bool path_is_unsynced_locked(const struct tree *t, const struct inode *i)
{
	return unsynced_ancestor_locked(t, (struct inode *)i);
}

bool tree_path_is_unsynced(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool is_unsynced = path_is_unsynced_locked(t, i);

	pthread_mutex_unlock(&t->lock);
	return is_unsynced;
}

static struct inode *unsynced_on_any_locked(const struct tree *t, struct inode *i)
{
	struct inode *unsynced = unsynced_ancestor_locked(t, i);

	for (const struct dentry *d = i->names; d && !unsynced; d = d->next_of_inode)
		unsynced = unsynced_ancestor_locked(t, d->dir);
	return unsynced;
}

struct inode *tree_unsynced_on_paths(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	struct inode *unsynced = unsynced_on_any_locked(t, i);

	if (unsynced)
		unsynced->pins++;
	pthread_mutex_unlock(&t->lock);
	return unsynced;
}

struct inode *tree_unsynced_on_path(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	struct inode *unsynced = unsynced_ancestor_locked(t, i);

	if (unsynced)
		unsynced->pins++;
	pthread_mutex_unlock(&t->lock);
	return unsynced;
}
