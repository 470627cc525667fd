/*
 * What stat(2) said here of a time stays true when the sandbox does the change later: an editor that finds another one takes
 * the file for changed by somebody else, a build for newer than it is, rsync copies again, and the kernel drops its pages.
 */
#include "cache/pending_inside.h"

#include "cache/cache_inside.h"

#include <sys/stat.h>

/* Only the owner may set them. */
static bool may_set(const struct pending *p, const struct attr *attr)
{
	uint32_t uid = p->cache->sandbox.identity.uid;

	return uid == 0 || uid == attr->uid;
}

static struct queued *set_mtime_locked(struct pending *p, struct inode *i)
{
	struct tree *t = p->cache->tree;
	struct queued *q = NULL;
	struct attr attr;

	tree_attr(t, i, &attr);
	if (!may_set(p, &attr) || tree_is_gone(t, i))
		return NULL;
	struct change change = { .op = CHANGE_SETATTR,
		.flags = CHANGE_BY_HANDLE,
		.set = SET_MTIME,
		.mtime = attr.mtime };

	/* It is shown already, and no change of it. */
	pending_set_unseen_locked(p, i, &change, &q, NULL);
	return q;
}

/* ---- Files: at their close ---- */

static bool contents_are_owed(const struct backlog *b)
{
	const struct queued *last = b ? b->last : NULL;

	return last && (queued_changes_contents(last) || last->change.op == CHANGE_RENAME);
}

void pending_keep_times(struct pending *p, struct inode *i)
{
	if (!p)
		return;
	const struct call call = { .progress_ms = cache_progress_ms(p->cache) };

	pthread_mutex_lock(&p->lock);
	pending_still_locked(p, &call, NULL);
	if (contents_are_owed(i->backlog))
		set_mtime_locked(p, i);
	pthread_mutex_unlock(&p->lock);
}

/*
 * An open file may be closed already: the kernel tells of the last close(2) when that has returned.
 * A command behind the barrier would see the time change, or would have removed the file by then.
 */
void pending_keep_open_times_locked(struct pending *p)
{
	struct backlog *b;

	/* The path of the file may be on its way to another. */
	if (p->moves)
		return;
	TAILQ_FOREACH(b, &p->backlogs, link)
	if (contents_are_owed(b) && tree_is_open(p->cache->tree, b->inode))
		set_mtime_locked(p, b->inode);
}

/* ---- Directories and what has no contents: when they are sent ---- */

static bool sets_mtime(const struct queued *q, const struct inode *i, struct timespec mtime)
{
	const struct change *c = &q->change;

	return c->op == CHANGE_SETATTR && c->set & SET_MTIME && q->about.target == i &&
		time_equals(c->mtime, mtime);
}

/* Without a youngest change that was one which the sandbox never hears of (pending_cancel.c). */
static bool times_are_owed(const struct pending *p, const struct backlog *b)
{
	const struct queued *last = b->last;
	struct attr attr;

	tree_attr(p->cache->tree, b->inode, &attr);
	if (!b->owes || S_ISREG(attr.mode))
		return false;
	return !last || !(last->is_sent || sets_mtime(last, b->inode, attr.mtime));
}

/* It leaves with what it follows. */
void pending_keep_other_times_locked(struct pending *p, bool is_urgent_only)
{
	struct backlog *b;

	TAILQ_FOREACH(b, &p->backlogs, link)
	{
		bool is_wanted = b->last && b->last->is_wanted;
		bool is_urgent = b->last && b->last->is_urgent;
		bool is_meant = is_urgent || !is_urgent_only;
		struct queued *q =
			is_meant && times_are_owed(p, b) ? set_mtime_locked(p, b->inode) : NULL;

		if (q) {
			q->is_wanted = is_wanted;
			q->is_urgent = is_urgent;
		}
	}
}

void pending_keep_time_lazily_locked(struct pending *p, struct inode *dir)
{
	const struct queued *last = dir->backlog ? dir->backlog->last : NULL;
	struct queued *q =
		last && last->is_lazy && !last->is_sent ? NULL : set_mtime_locked(p, dir);

	if (q)
		q->is_lazy = true;
}
