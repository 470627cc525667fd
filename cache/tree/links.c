/* The texts of symbolic links. */
#include "cache/tree/tree_inside.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool tree_link_text(struct tree *t, struct inode *i, char *out, size_t room, bool *is_ours)
{
	pthread_mutex_lock(&t->lock);
	const char *text = inode_extra_locked(i)->link;
	bool known = text && strlen(text) < room;

	if (known) {
		strcpy(out, text);
		*is_ours = i->link_is_ours;
	}
	pthread_mutex_unlock(&t->lock);
	return known;
}

void tree_link_is_ours(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	i->link_is_ours = true;
	for (struct dentry *d = i->names; d; d = d->next_of_inode)
		d->link_is_ours = true;
	pthread_mutex_unlock(&t->lock);
}

bool are_names_ours_locked(const struct inode *link)
{
	const struct dentry *d = link->names;

	while (d && d->link_is_ours)
		d = d->next_of_inode;
	return link->link_is_ours && !d;
}

bool tree_link_name_is_ours(
	struct tree *t, struct inode *dir, const char *name, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	const struct dentry *d = dentry_find_locked(t, dir, name);
	bool is_ours = i->link_is_ours && d && d->inode == i && d->link_is_ours;

	pthread_mutex_unlock(&t->lock);
	return is_ours;
}

/* ---- For later mounts ---- */

void find_link_locked(struct tree *t, struct inode *link)
{
	const char *text = inode_extra_locked(link)->link;

	if (!t->shown || !text || !S_ISLNK(link->attr.mode))
		return;
	for (struct dentry *d = link->names; d; d = d->next_of_inode) {
		AUTO_FREE char *path =
			d->link_is_ours ? NULL : path_build_locked(t, d->dir, d->name);

		if (!path || !shown_knows_link(t->shown, &link->attr, path, text))
			continue;
		link->link_is_ours = true;
		d->link_is_ours = true;
	}
}

void note_link_locked(struct tree *t, struct inode *link)
{
	const char *text = inode_extra_locked(link)->link;

	if (!text || !link->link_is_ours || link->provisional)
		return;
	for (const struct dentry *d = link->names; d; d = d->next_of_inode) {
		AUTO_FREE char *path =
			d->link_is_ours ? path_build_locked(t, d->dir, d->name) : NULL;

		if (path)
			shown_note_link(t->shown, &link->attr, path, text);
	}
}

/* The next name below `top` after `d`. */
static const struct dentry *next_below(const struct dentry *d, const struct inode *top)
{
	if (d->inode->children)
		return d->inode->children;
	while (!d->sibling_next && d->dir != top)
		d = d->dir->names;
	return d->sibling_next;
}

void tree_note_links(struct tree *t, struct inode *top)
{
	if (!t->shown)
		return;
	pthread_mutex_lock(&t->lock);
	note_link_locked(t, top);
	for (const struct dentry *d = top->children; d; d = next_below(d, top))
		note_link_locked(t, d->inode);
	pthread_mutex_unlock(&t->lock);
}

/* ---- Links that the kernel knows ---- */

static bool is_below_locked(const struct tree *t, const struct inode *i, const struct inode *dir)
{
	while (i != dir && i != t->root && i->names)
		i = i->names->dir;
	return i == dir;
}

static size_t pin_links_locked(struct tree *t, const struct inode *top, struct inode **out)
{
	size_t count = 0;

	FOR_EACH_INODE(t, i)
	{
		if (i->kernel_refs && S_ISLNK(i->attr.mode) && is_below_locked(t, i, top)) {
			i->pins++;
			out[count++] = i;
		}
	}
	return count;
}

void tree_each_link(struct tree *t, struct inode *top,
	void (*tell)(void *context, struct inode *link), void *context)
{
	struct inode **links = NULL;
	size_t count = 0;

	pthread_mutex_lock(&t->lock);
	if (S_ISDIR(top->attr.mode) || S_ISLNK(top->attr.mode))
		links = calloc(t->inodes_count + 1, sizeof(struct inode *));
	if (links)
		count = pin_links_locked(t, top, links);
	pthread_mutex_unlock(&t->lock);
	for (size_t n = 0; n < count; n++) {
		tell(context, links[n]);
		tree_unpin(t, links[n]);
	}
	free(links);
}
