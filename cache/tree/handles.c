/* Open files. An open file that has lost its name is in staging until its last close. */
#include "cache/tree/tree_inside.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <sys/stat.h>

struct inode *tree_made_nameless(struct tree *t, const struct tree_news *news, char *staged)
{
	pthread_mutex_lock(&t->lock);
	struct inode *old = inode_find_locked(t, &news->attr);

	if (old)
		inode_unhash_locked(t, old);
	struct inode *i = inode_new_locked(t, &news->attr);

	if (i && !inode_extra_make_locked(i)) {
		inode_free_locked(t, i);
		i = NULL;
	}
	if (i) {
		i->pins++;
		i->extra->staged = staged;
		i->gone = true;
		i->attr_until_ms = timed_locked(t, news->until_ms);
	}
	pthread_mutex_unlock(&t->lock);
	return i;
}

/*
 * Whether nothing leads to the inode any more: a caller that means its name has to look that up
 * again.
 */
static bool is_lost_locked(const struct tree *t, const struct inode *i)
{
	return i != t->root && !i->names && !i->opens;
}

static enum err open_inode(struct tree *t, struct inode *i, bool may_be_lost, struct error *e)
{
	int64_t end_ms = tree_now_ms() + TREE_WAIT_MS;
	enum err kind = ERR_OK;

	pthread_mutex_lock(&t->lock);
	while (i->removing && tree_wait_locked(t, end_ms))
		;
	bool is_lost = i->gone || (!may_be_lost && is_lost_locked(t, i));

	if (i->removing || (is_lost && !inode_extra_locked(i)->staged))
		kind = error_set(e, ERR_STALE, "removed");
	else
		i->opens++, t->opens++;
	pthread_mutex_unlock(&t->lock);
	return kind;
}

enum err tree_open(struct tree *t, struct inode *i, struct error *e)
{
	return open_inode(t, i, false, e);
}

enum err tree_open_found(struct tree *t, struct inode *i)
{
	return open_inode(t, i, true, NULL);
}

/* Hands the staging path to the caller when no program can use the staged file any more. */
static char *leave_staging_locked(struct tree *t, struct inode *i)
{
	bool is_over = S_ISREG(i->attr.mode) ? !i->opens : !i->kernel_refs;

	if (!inode_extra_locked(i)->staged || !is_over)
		return NULL;
	char *staged = take(i->extra->staged);

	take_back_locked(t, i);
	if (i->gone)
		inode_retire_locked(t, i);
	return staged;
}

char *tree_close(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	i->opens--, t->opens--;
	char *staged = leave_staging_locked(t, i);

	inode_rest_locked(t, i);
	pthread_mutex_unlock(&t->lock);
	return staged;
}

bool tree_may_be_read(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool may = i == t->root || i->names || i->opens;

	pthread_mutex_unlock(&t->lock);
	return may;
}

bool tree_is_open(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool is_open = i->opens > 0;

	pthread_mutex_unlock(&t->lock);
	return is_open;
}

char *tree_kernel_forget(struct tree *t, struct inode *i, uint64_t count)
{
	pthread_mutex_lock(&t->lock);
	i->kernel_refs -= count < i->kernel_refs ? count : i->kernel_refs;
	if (!i->kernel_refs)
		i->has_pages = false;
	char *staged = leave_staging_locked(t, i);

	inode_rest_locked(t, i);
	pthread_mutex_unlock(&t->lock);
	return staged;
}

/* The kernel opens fifos and the like without a request: one that the kernel knows may be open. */
static bool may_be_open(const struct inode *i)
{
	switch (i->attr.mode & S_IFMT) {
	case S_IFDIR:
	case S_IFLNK: return false;
	case S_IFREG: return i->opens > 0;
	default: return i->kernel_refs > 0;
	}
}

bool tree_removal_begins(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool has_other_name = i->names && i->names->next_of_inode;
	bool may_keep = may_be_open(i) && !has_other_name && inode_extra_make_locked(i);
	bool keep = may_keep && !i->extra->staged;

	i->removing = !has_other_name;
	move_begins_locked(t, i);
	pthread_mutex_unlock(&t->lock);
	return keep;
}

void tree_removal_ends(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	i->removing = false;
	move_ends_locked(t, i);
	pthread_cond_broadcast(&t->move_ended);
	pthread_mutex_unlock(&t->lock);
}

void tree_staged(struct tree *t, struct inode *i, char *staged)
{
	pthread_mutex_lock(&t->lock);
	take_back_locked(t, i);
	if (inode_extra_make_locked(i)) {
		free(i->extra->staged);
		i->extra->staged = take(staged);
	}
	free(staged); /* never happens: tree_removal_begins() has allocated `extra` */
	stop_holding_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

char *tree_take_staged(struct tree *t)
{
	char *staged = NULL;

	pthread_mutex_lock(&t->lock);
	FOR_EACH_INODE(t, i)
	{
		if (!staged && i->extra)
			staged = take(i->extra->staged);
	}
	pthread_mutex_unlock(&t->lock);
	return staged;
}
