/*
 * Keeps the ctime that a local change has shown, though the sandbox applies the change later.
 *
 * git takes a file whose ctime moved for one that others have changed: a merge that looks twice
 * would give up. make, tar and backups compare the ctime with times of other files. The shown ctime
 * stays for as long as the sandbox reports nothing but the change itself; the next change moves it.
 * The tree itself always compares the sandbox's ctime.
 */
#include "cache/tree/tree_inside.h"

#include <stdlib.h>
#include <sys/stat.h>

struct kept_ctime {
	struct timespec shown, real;
	/* The change's answer had no attributes of the inode: `real` comes with the next report. */
	bool is_awaited;
};

struct timespec shown_ctime_locked(const struct inode *i, struct timespec ctime)
{
	const struct kept_ctime *kept = inode_extra_locked(i)->kept_ctime;

	return kept && time_equals(kept->real, ctime) ? kept->shown : ctime;
}

void forget_ctime_locked(struct inode *i)
{
	if (!i->extra)
		return;
	free(i->extra->kept_ctime);
	i->extra->kept_ctime = NULL;
}

/* Without memory the shown ctime moves. */
static void keep_locked(struct inode *i, struct kept_ctime kept)
{
	if (!inode_extra_make_locked(i))
		return;
	if (!i->extra->kept_ctime)
		i->extra->kept_ctime = malloc(sizeof kept);
	if (i->extra->kept_ctime)
		*i->extra->kept_ctime = kept;
}

void keep_ctime_locked(struct inode *i, struct timespec shown)
{
	if (time_equals(shown, i->attr.ctime))
		forget_ctime_locked(i);
	else
		keep_locked(i, (struct kept_ctime){ .shown = shown, .real = i->attr.ctime });
}

/*
 * Sets the ctime to the sandbox's, as far as is known: later echoes of our own earlier changes have
 * no later ctime.
 */
void await_ctime_locked(struct tree *t, struct inode *i, struct timespec ctime)
{
	struct timespec shown = shown_ctime_locked(i, i->attr.ctime);
	struct attr attr = i->attr;

	if (time_is_after(ctime, attr.ctime))
		attr.ctime = ctime;
	set_own_attr_locked(t, i, &attr);
	keep_locked(
		i, (struct kept_ctime){ .shown = shown, .real = attr.ctime, .is_awaited = true });
}

/* A directory's size and links there are up to its file system. */
bool is_as_applied(const struct attr *applied, const struct attr *now)
{
	return (S_ISDIR(now->mode) || now->size == applied->size) &&
		time_equals(now->mtime, applied->mtime);
}

/* Whether mode, owner and links are the same: others did not change them. */
static bool is_otherwise_equal(const struct attr *a, const struct attr *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
		(S_ISDIR(a->mode) || a->nlink == b->nlink);
}

void awaited_ctime_received_locked(
	const struct tree *t, struct inode *i, const struct attr *reported)
{
	struct kept_ctime *kept = inode_extra_locked(i)->kept_ctime;

	if (!kept || !kept->is_awaited)
		return;
	bool is_it = time_equals(kept->real, i->attr.ctime) && is_as_applied(&i->attr, reported) &&
		is_otherwise_equal(&i->attr, reported);

	if (!is_it) {
		forget_ctime_locked(i);
		return;
	}
	*kept = (struct kept_ctime){ .shown = kept->shown, .real = reported->ctime };
	note_shown_locked(t, i, reported);
}

/* ---- For later mounts ---- */

void note_shown_locked(const struct tree *t, const struct inode *i, const struct attr *real)
{
	const struct inode_extra *x = inode_extra_locked(i);
	const struct shown_inode shown = { .number = x->shown_ino,
		.ctime = shown_ctime_locked(i, real->ctime) };

	if (x->shown_ino || !time_equals(shown.ctime, real->ctime))
		shown_note(t->shown, real, &shown);
}

void find_shown_locked(struct tree *t, struct inode *i)
{
	struct shown_inode shown;

	if (!shown_find(t->shown, &i->attr, &shown))
		return;
	keep_ctime_locked(i, shown.ctime);
	/* A number given just now stays: another inode is remembered by this one's own. */
	if (shown.number && inode_extra_make_locked(i) && !i->extra->shown_ino)
		i->extra->shown_ino = shown.number;
}

/* ---- For callers outside ---- */

struct timespec tree_shown_ctime(struct tree *t, struct inode *i, const struct attr *attr)
{
	pthread_mutex_lock(&t->lock);
	struct timespec shown = shown_ctime_locked(i, attr->ctime);

	pthread_mutex_unlock(&t->lock);
	return shown;
}
