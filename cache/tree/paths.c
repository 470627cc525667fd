/* Paths of inodes, built from the names of the directories above. */
#include "cache/tree/tree_inside.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void tree_path_release(struct tree_path *p)
{
	free(p->text);
	p->text = NULL;
}

uint64_t path_stamp_locked(const struct tree *t, const struct inode *i, bool *moving)
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

/* The length of the path of `i`; -1: no path leads to the root. */
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
	const struct inode_extra *x = inode_extra_locked(i);

	if (!name && x->staged)
		return strdup(x->staged);
	/* The sandbox finds the file by its number, if it is at another path. */
	if (!name && !i->names && x->was_at)
		return strdup(x->was_at);
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
		len--; /* without the last slash */
	text[(size_t)len + name_len] = 0;
	return text;
}

/* ---- Lost names ---- */

void remember_place_locked(struct tree *t, struct inode *i)
{
	bool is_in_use = i->opens || i->kernel_refs;
	const struct dentry *d = i->names;

	if (S_ISDIR(i->attr.mode) || S_ISLNK(i->attr.mode))
		return;
	if (!d || d->next_of_inode || !is_in_use || inode_extra_locked(i)->staged || i->provisional)
		return;
	AUTO_FREE char *dir = path_build_locked(t, d->dir, NULL);
	struct inode_extra *x = inode_extra_make_locked(i);

	if (!x)
		return;
	free(x->was_at);
	x->was_at = dir ? path_join(dir, d->name) : NULL;
}

char *tree_was_at(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	const struct inode_extra *x = inode_extra_locked(i);
	bool is_lost = i != t->root && !i->names && !x->staged && !i->gone;
	char *path = is_lost && x->was_at ? strdup(x->was_at) : NULL;

	pthread_mutex_unlock(&t->lock);
	return path;
}

void tree_looked_in_vain(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	if (i->extra) {
		free(i->extra->was_at);
		i->extra->was_at = NULL;
	}
	pthread_mutex_unlock(&t->lock);
}

static bool leads_to_root_locked(const struct tree *t, const struct inode *i)
{
	while (i != t->root && i->names)
		i = i->names->dir;
	return i == t->root;
}

/*
 * A name in a directory that others moved is useless while `i` has another name: a name that leads
 * to the root comes first.
 */
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
	out->is_unsynced = i->local_effects || path_is_unsynced_locked(t, i);
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

unsigned depth_in_locked(const struct tree *t, const struct inode *dir)
{
	unsigned depth = 0;

	for (; dir != t->root && dir->names; dir = dir->names->dir)
		depth++;
	return depth;
}
