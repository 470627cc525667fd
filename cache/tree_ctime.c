/*
 * The ctime of a change made here stays as it was shown, though the sandbox made the change later. To git a file with
 * another ctime than a moment ago is one that somebody has changed: a merge that looks twice would give up. It stays until
 * the kernel has forgotten the inode, another change moves it, or a barrier says that from now on all is as the sandbox has
 * it. What the tree itself compares is always the sandbox's.
 */
#include "cache/tree_inside.h"

#include <stdlib.h>

struct kept_ctime {
	struct inode *inode;
	struct timespec shown, real;
	LIST_ENTRY(kept_ctime) link; /* tree.kept_ctimes */
};

struct timespec shown_ctime_locked(const struct inode *i, struct timespec ctime)
{
	const struct kept_ctime *kept = inode_extra_locked(i)->kept_ctime;

	return kept && time_equals(kept->real, ctime) ? kept->shown : ctime;
}

void forget_ctime_locked(struct inode *i)
{
	struct kept_ctime *kept = inode_extra_locked(i)->kept_ctime;

	if (!kept)
		return;
	LIST_REMOVE(kept, link);
	free(kept);
	i->extra->kept_ctime = NULL;
}

/* Without memory it moves. */
void keep_ctime_locked(struct tree *t, struct inode *i, struct timespec shown)
{
	forget_ctime_locked(i);
	if (time_equals(shown, i->attr.ctime))
		return;
	struct kept_ctime *kept = inode_extra_make_locked(i) ? malloc(sizeof *kept) : NULL;

	if (!kept)
		return;
	*kept = (struct kept_ctime){ .inode = i, .shown = shown, .real = i->attr.ctime };
	LIST_INSERT_HEAD(&t->kept_ctimes, kept, link);
	i->extra->kept_ctime = kept;
}

struct timespec tree_shown_ctime(struct tree *t, struct inode *i, const struct attr *attr)
{
	pthread_mutex_lock(&t->lock);
	struct timespec shown = shown_ctime_locked(i, attr->ctime);

	pthread_mutex_unlock(&t->lock);
	return shown;
}

void tree_show_real_ctime(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	if (inode_extra_locked(i)->kept_ctime) {
		forget_ctime_locked(i);
		take_back_locked(t, i);
	}
	pthread_mutex_unlock(&t->lock);
}

/* One by one they would be taken back for as long as nobody else gets at the tree. */
static void show_real_later_locked(struct tree *t, struct inode *i)
{
	forget_ctime_locked(i);
	kernel_forgets_inode_locked(t, i, false);
}

void tree_show_real_ctimes(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	while (!LIST_EMPTY(&t->kept_ctimes))
		show_real_later_locked(t, LIST_FIRST(&t->kept_ctimes)->inode);
	pthread_mutex_unlock(&t->lock);
}
