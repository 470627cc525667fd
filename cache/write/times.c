/*
 * Times that stat(2) showed here stay true when the sandbox applies the change later. An editor
 * that finds another time takes the file for changed by another program, a build takes it for newer
 * than it is, rsync copies it again, and the kernel drops its pages.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include <sys/stat.h>

/* Only the owner may set the times. */
static bool may_set(const struct writeback *p, const struct attr *attr)
{
	uint32_t uid = p->cache->sandbox.identity.uid;

	return uid == 0 || uid == attr->uid;
}

struct timespec writeback_stamp_locked(struct writeback *p, struct inode *i, struct change *change)
{
	struct tree *t = p->cache->tree;
	struct timespec now = tree_time_of_change(t, i, cache_time_of_change(p->cache));
	struct attr attr;

	tree_attr(t, i, &attr);
	if (now.tv_sec && may_set(p, &attr)) {
		change->set |= SET_MTIME;
		change->mtime = now;
	}
	return now;
}

static struct op *set_mtime_locked(struct writeback *p, struct inode *i)
{
	struct tree *t = p->cache->tree;
	struct op *q = NULL;
	struct attr attr;

	tree_attr(t, i, &attr);
	if (!may_set(p, &attr) || tree_is_gone(t, i))
		return NULL;
	struct change change = { .op = CHANGE_SETATTR,
		.flags = CHANGE_BY_HANDLE,
		.set = SET_MTIME,
		.mtime = attr.mtime };

	/* The time is shown already, and setting it is no change of the inode. */
	writeback_set_unseen_locked(p, i, &change, &q, NULL);
	return q;
}

/* ---- Files: at their close ---- */

static bool contents_are_unsynced(const struct inode_ops *b)
{
	const struct op *last = b ? b->last : NULL;

	return last && (op_changes_contents(last) || last->change.op == CHANGE_RENAME);
}

/*
 * Whether the pending change sets the time already. Of several parts under way any may arrive last.
 */
static bool sets_time_locked(const struct writeback *p, const struct inode_ops *b)
{
	const struct change *c = &b->last->change;
	bool is_only = b->in_queue == (b->maker && b->maker != b->last ? 2 : 1);
	struct attr attr;

	tree_attr(p->cache->tree, b->inode, &attr);
	return is_only && c->set & SET_MTIME && time_equals(c->mtime, attr.mtime);
}

static bool is_time_unsynced_locked(const struct writeback *p, const struct inode_ops *b)
{
	return contents_are_unsynced(b) && !sets_time_locked(p, b);
}

void writeback_keep_times(struct writeback *p, struct inode *i)
{
	if (!p)
		return;
	const struct call call = { .progress_ms = cache_progress_ms(p->cache) };

	pthread_mutex_lock(&p->lock);
	writeback_still_locked(p, &call, NULL);
	if (is_time_unsynced_locked(p, i->pending))
		set_mtime_locked(p, i);
	pthread_mutex_unlock(&p->lock);
}

/*
 * A file that is open here may be closed already: the kernel reports the last close(2) after that
 * has returned. A command behind the barrier would see the time change, or would have removed the
 * file by then.
 */
void writeback_keep_open_times_locked(struct writeback *p)
{
	struct inode_ops *b;

	/* The path of the file may be about to change. */
	if (p->moves)
		return;
	TAILQ_FOREACH(b, &p->all_inode_ops, link)
	if (is_time_unsynced_locked(p, b) && tree_is_open(p->cache->tree, b->inode))
		set_mtime_locked(p, b->inode);
}

/* ---- Directories and inodes without contents: when a batch leaves ---- */

static bool sets_mtime(const struct op *q, const struct inode *i, struct timespec mtime)
{
	const struct change *c = &q->change;
	bool is_of_it = q->about.target == i && (c->op == CHANGE_SETATTR || q->made == i);

	return is_of_it && c->set & SET_MTIME && time_equals(c->mtime, mtime);
}

/* The youngest op is missing where it was one that never leaves (elide.c). */
static bool times_are_unsynced(const struct writeback *p, const struct inode_ops *b)
{
	const struct op *last = b->last;
	struct attr attr;

	tree_attr(p->cache->tree, b->inode, &attr);
	if (!b->in_queue || S_ISREG(attr.mode))
		return false;
	return !last || !(last->state == OP_SENT || sets_mtime(last, b->inode, attr.mtime));
}

/* Whether the time comes behind an op that is no small save, or that is under way. */
static bool is_behind_others(const struct writeback *p, const struct op *time)
{
	const struct op *q;

	for (q = TAILQ_FIRST(&p->queue); q != time; q = TAILQ_NEXT(q, link))
		if ((q->state == OP_SENT || !q->is_small_save) && op_is_bound_to(time, q))
			return true;
	return false;
}

/* The time leaves with the op that it follows, or with large contents. */
static void keep_other_time_locked(struct writeback *p, struct inode_ops *b)
{
	bool is_urgent = b->is_time_late || (b->last && b->last->is_urgent);
	bool is_small_save = b->last && b->last->is_small_save;
	struct op *q = set_mtime_locked(p, b->inode);

	b->is_time_late = false;
	if (!q)
		return;
	q->is_urgent = is_urgent;
	q->is_small_save = is_small_save && !is_behind_others(p, q);
}

/* Whether the queue has a time of the directory that leaves with large contents. */
static bool has_pending_time(const struct writeback *p, const struct inode *i)
{
	const struct op *q;

	TAILQ_FOREACH(q, &p->queue, link)
	if (q->about.target == i && q->state != OP_SENT && !q->is_small_save && op_keeps_time(q))
		return true;
	return false;
}

/*
 * Behind small saves alone there would be one time for each save, and all of them would leave with
 * large contents. One is enough there, and the last time is set behind it when it has left.
 */
void writeback_keep_other_times_locked(struct writeback *p, bool is_small_only)
{
	struct inode_ops *b;

	TAILQ_FOREACH(b, &p->all_inode_ops, link)
	{
		bool is_meant = !is_small_only || (b->last && b->last->is_small_save);

		if (!b->is_time_late && !(is_meant && times_are_unsynced(p, b)))
			continue;
		if (is_small_only && has_pending_time(p, b->inode))
			b->is_time_late = true;
		else
			keep_other_time_locked(p, b);
	}
}

void writeback_keep_late_times_locked(struct writeback *p)
{
	struct inode_ops *b;

	TAILQ_FOREACH(b, &p->all_inode_ops, link)
	if (b->is_time_late)
		keep_other_time_locked(p, b);
}

void writeback_keep_time_lazily_locked(struct writeback *p, struct inode *dir)
{
	const struct op *last = dir->pending ? dir->pending->last : NULL;
	struct op *q =
		last && last->may_wait && last->state != OP_SENT ? NULL : set_mtime_locked(p, dir);

	if (q)
		q->may_wait = true;
}
