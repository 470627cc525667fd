/* Applies the events of the change stream: each is the echo of what is known already, or news. */
#include "cache/tree/tree_inside.h"

#include "providers/base/path.h"

#include <string.h>
#include <sys/stat.h>

/* ---- Reporting ---- */

void tree_tells(struct tree *t, tree_tell tell, void *context)
{
	t->tell = tell;
	t->tell_context = context;
}

void tell_locked(const struct tree *t, const struct tree_report *reported)
{
	if (t->tell)
		t->tell(t->tell_context, reported);
}

/* ---- The way there ---- */

struct inode *deepest_locked(struct tree *t, const char *path, const char **rest)
{
	char name[PATH_NAME_MAX + 1];
	struct inode *dir = t->root;
	const char *slash;

	for (*rest = path; (slash = strchr(*rest, '/')); *rest = slash + 1) {
		size_t len = (size_t)(slash - *rest);

		if (len > PATH_NAME_MAX)
			break;
		memcpy(name, *rest, len);
		name[len] = 0;
		struct dentry *d = dentry_find_locked(t, dir, name);

		if (!d || !S_ISDIR(d->inode->attr.mode))
			break;
		dir = d->inode;
	}
	return dir;
}

/* ---- Echo or news ---- */

static bool is_equal(const struct attr *a, const struct attr *b)
{
	return version_of(a) == version_of(b) && a->mode == b->mode && a->nlink == b->nlink &&
		a->uid == b->uid && a->gid == b->gid;
}

/* Whether the event has a state of the known file that is no later than the known one. */
static bool is_echo(const struct inode *i, const struct watch_event *event)
{
	const struct attr *known = &i->attr, *reported = &event->attr;

	if (!time_equals(known->ctime, reported->ctime))
		return time_is_after(known->ctime, reported->ctime);
	/* The contents changed again within the tick. */
	if (event->kind == WATCH_CHANGED && !i->stable && !i->own)
		return false;
	return is_equal(known, reported);
}

static bool has_same_file(const struct dentry *d, const struct watch_event *event)
{
	return d && event->has_attr && is_same_file(&d->inode->attr, &event->attr);
}

/* Answers to earlier questions are outdated by this. */
static void touch_locked(struct tree *t, struct inode *i)
{
	i->changed = ++t->serial;
	i->maybe_foreign = true;
}

/* A directory that went, or was away, may have changed inside where no event reported it. */
static void invalidate_inside_locked(struct tree *t, struct inode *i)
{
	if (S_ISDIR(i->attr.mode))
		invalidate_and_tell_below_locked(t, i);
}

/* The event has the latest state of the inode. */
static void take_attr_locked(struct tree *t, struct inode *i, const struct watch_event *event)
{
	bool pages = event->kind == WATCH_CHANGED || i->attr.size != event->attr.size ||
		!time_equals(i->attr.mtime, event->attr.mtime);

	touch_locked(t, i);
	awaited_ctime_received_locked(t, i, &event->attr);
	i->attr = event->attr;
	i->stable = false;
	i->own = false;
	kernel_forgets_inode_locked(t, i, pages);
	if (event->kind == WATCH_CREATED)
		invalidate_inside_locked(t, i);
}

/* The name differs from the known state, and so does its directory. */
static void invalidate_name_locked(
	struct tree *t, struct inode *dir, const char *name, struct dentry *d)
{
	touch_locked(t, dir);
	dir->attr_until_ms = 0;
	dir->complete_until_ms = 0;
	if (d) {
		touch_locked(t, d->inode);
		d->until_ms = 0;
		d->inode->attr_until_ms = 0;
		kernel_forgets_inode_locked(t, d->inode, true);
		invalidate_inside_locked(t, d->inode);
	}
	kernel_forgets_name_locked(t, dir, name, d, false);
	kernel_forgets_inode_locked(t, dir, false);
}

/*
 * An event of a changed file whose name is known to be absent. If others had made the file, its
 * creation would have been reported first. So this is the last event of a file that was removed
 * here.
 */
static bool is_of_removed_locked(
	const struct tree *t, const struct inode *dir, const struct watch_event *event)
{
	bool is_change = event->kind == WATCH_CHANGED || event->kind == WATCH_ATTR;

	return is_change && is_absent_locked(t, dir);
}

/* Whether the event has nothing that is not known. */
static bool is_known_locked(const struct tree *t, const struct inode *dir, const struct dentry *d,
	const struct watch_event *event)
{
	if (!d)
		return event->kind == WATCH_REMOVED || is_of_removed_locked(t, dir, event);
	if (event->kind == WATCH_REMOVED)
		return false;
	return has_same_file(d, event) && is_echo(d->inode, event) && !d->inode->local_effects;
}

/*
 * An inode with an unchanged name is not affected by local changes of other names in the directory.
 */
bool is_early_locked(
	const struct inode *dir, const struct dentry *d, const struct watch_event *event)
{
	if (has_same_file(d, event) && dir->changing == dir->local_effects)
		return d->inode->changing;
	return dir->changing || (d ? d->inode->changing : !dir->complete);
}

/* ---- Renames by others ---- */

/*
 * Whether an event may give the inode another name. An inode under a change of ours keeps its names
 * until the change is done. A directory that others moved is a new inode, and a link's text belongs
 * to its old path.
 */
static bool may_move_locked(const struct inode *i)
{
	bool is_ours = i->changing || i->moving || i->unsynced || i->provisional ||
		inode_extra_locked(i)->staged;

	return !is_ours && !S_ISDIR(i->attr.mode) && !S_ISLNK(i->attr.mode);
}

/* The name that `i` has at the path `from`. */
static struct dentry *renamed_from_locked(struct tree *t, const struct inode *i, const char *from)
{
	const char *name;
	const struct inode *dir = from ? deepest_locked(t, from, &name) : NULL;
	struct dentry *d = dir && !strchr(name, '/') ? dentry_find_locked(t, dir, name) : NULL;

	return d && d->inode == i ? d : NULL;
}

/* Drops the name of `i` at `from`, unless that is `now`. */
static void drop_renamed_locked(
	struct tree *t, const struct inode *i, const char *from, const struct dentry *now)
{
	struct dentry *d = renamed_from_locked(t, i, from);

	if (d && d != now && !d->dir->changing)
		dentry_lost_locked(t, d);
}

/*
 * Whether `i` is the event's file and no later file with its number: both have a time of birth, or
 * the event also has the known former name.
 */
static bool is_surely_locked(struct tree *t, const struct inode *i, const struct watch_event *event)
{
	const char *was_at = inode_extra_locked(i)->was_at;

	if (!is_same_file(&i->attr, &event->attr))
		return false;
	if (i->attr.btime_ns && event->attr.btime_ns)
		return true;
	return renamed_from_locked(t, i, event->from) ||
		(!i->names && was_at && event->from && !strcmp(was_at, event->from));
}

static struct inode *reported_inode_locked(struct tree *t, const struct watch_event *event)
{
	struct inode *i = event->has_attr && event->kind == WATCH_CREATED
		? inode_find_locked(t, &event->attr)
		: NULL;

	return i && is_surely_locked(t, i, event) ? i : NULL;
}

/*
 * An event has a known file at a new name: others renamed or linked it. Open handles stay valid:
 * the new name is a path to the file, to be asked for as any invalid name. A new name moves the
 * ctime of its file. With a ctime that is no later than the known one, the event may be the echo of
 * a name that the mount has taken away again.
 */
static void move_reported_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event)
{
	struct inode *i = reported_inode_locked(t, event);
	struct dentry *d = dentry_find_locked(t, dir, name);

	if (!i || !may_move_locked(i) || !time_is_after(event->attr.ctime, i->attr.ctime) ||
		(d && (d->inode == i || d->inode->changing || d->inode->unsynced)))
		return;
	i->pins++;
	inode_wake_locked(t, i);
	dir->pins++;
	inode_wake_locked(t, dir);
	if (d)
		dentry_lost_locked(t, d);
	d = dentry_new_locked(t, dir, name, i);
	/* Answers to questions by the old path are not about this file. */
	if (d)
		i->moved = ++t->serial;
	if (d && event->from)
		drop_renamed_locked(t, i, event->from, d);
	inode_unpin_locked(t, dir);
	inode_unpin_locked(t, i);
}

void news_locked(struct tree *t, struct inode *dir, const char *name, struct dentry *d,
	const struct watch_event *event)
{
	if (has_same_file(d, event)) {
		take_attr_locked(t, d->inode, event);
	} else {
		invalidate_name_locked(t, dir, name, d);
		move_reported_locked(t, dir, name, event);
	}
	tell_locked(t, &(struct tree_report){ .event = event });
}

void resolve_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event)
{
	struct dentry *d = dentry_find_locked(t, dir, name);

	if (!is_known_locked(t, dir, d, event))
		news_locked(t, dir, name, d, event);
}

/* ---- Directories that are moved locally ---- */

void local_move_begins_locked(struct tree *t, struct inode *i)
{
	if (!S_ISDIR(i->attr.mode) || !i->local_effects || i->provisional || i->moved_locally)
		return;
	i->moved_locally = true;
	t->moved_locally++;
}

void local_move_ends_locked(struct tree *t, struct inode *i)
{
	if (!i->moved_locally)
		return;
	i->moved_locally = false;
	if (t->has_missed)
		invalidate_and_tell_below_locked(t, i);
	if (!--t->moved_locally)
		t->has_missed = false;
}

/* Whether the event is about something beyond `dir`, or on a path that differs in the sandbox. */
static bool may_be_missed_locked(const struct tree *t, const struct inode *dir, const char *rest)
{
	if (strchr(rest, '/'))
		return true;
	while (dir != t->root && !dir->moved_locally && !dir->provisional && dir->names)
		dir = dir->names->dir;
	return dir->moved_locally || dir->provisional;
}

/* ---- One event ---- */

/*
 * While a change of ours in the root is under way no event counts as an echo: its answer brings the
 * attributes anyway, and one report more costs little.
 */
static void apply_event_of_root_locked(struct tree *t, const struct watch_event *event)
{
	struct inode *root = t->root;

	if (event->has_attr && !root->changing && is_echo(root, event))
		return;
	touch_locked(t, root);
	root->attr_until_ms = 0;
	kernel_forgets_inode_locked(t, root, false);
	tell_locked(t, &(struct tree_report){ .event = event });
}

/*
 * Marks inodes that an event may be about while they are under change: the one of that name, and
 * the one of the event's attributes.
 */
static void mark_foreign_locked(struct tree *t, struct dentry *d, const struct watch_event *event)
{
	struct inode *reported = event->has_attr ? inode_find_locked(t, &event->attr) : NULL;

	if (d)
		d->inode->maybe_foreign = true;
	if (reported)
		reported->maybe_foreign = true;
}

static void apply_event_of_name_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event)
{
	struct dentry *d = dentry_find_locked(t, dir, name);
	/*
	 * A file of that name may have been reported before, and an answer under way may still have
	 * it.
	 */
	bool is_unsure =
		event->kind == WATCH_REMOVED && !is_absent_locked(t, dir) && !dir->changing;

	if (is_known_locked(t, dir, d, event) && !is_unsure)
		return;
	mark_foreign_locked(t, d, event);
	if (!is_early_locked(dir, d, event)) {
		news_locked(t, dir, name, d, event);
		return;
	}
	/* An answer under way may know more of the name, but not which file has it. */
	if (!dir->changing)
		move_reported_locked(t, dir, name, event);
	defer_event_locked(t, dir, name, event);
}

/*
 * A removal in a directory that is known to be absent: the echo of a removal of ours. The removal
 * of the directory has overtaken it here.
 */
static bool is_gone_with_its_dir_locked(
	const struct tree *t, const struct inode *dir, const struct watch_event *event)
{
	return event->kind == WATCH_REMOVED && is_absent_locked(t, dir);
}

void tree_apply_event(struct tree *t, const struct watch_event *event)
{
	const char *rest;

	pthread_mutex_lock(&t->lock);
	struct inode *dir = deepest_locked(t, event->path, &rest);

	if (t->moved_locally && may_be_missed_locked(t, dir, rest))
		t->has_missed = true;
	if (!*event->path) {
		apply_event_of_root_locked(t, event);
	} else if (strchr(rest, '/') && is_gone_with_its_dir_locked(t, dir, event)) {
		/* Nothing known changes. */
	} else if (strchr(rest, '/')) {
		/* An answer under way may be about to teach names on that path. */
		touch_locked(t, dir);
		t->event_beyond = dir->changed;
		mark_foreign_locked(t, NULL, event);
		tell_locked(t, &(struct tree_report){ .event = event });
	} else {
		apply_event_of_name_locked(t, dir, rest, event);
	}
	pthread_mutex_unlock(&t->lock);
}
