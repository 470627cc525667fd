/*
 * Brings the sandbox's answers into the tree. An answer is valid unless something changed here
 * since the question.
 */
#include "cache/tree/tree_inside.h"

#include "providers/base/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/*
 * Two ticks of the coarsest clock in use (CONFIG_HZ=100): a change may follow within the same time
 * stamp.
 */
#define CLOCK_TICK_NS 20000000

uint64_t version_of(const struct attr *a)
{
	const uint64_t facts[] = { (uint64_t)a->mtime.tv_sec, (uint64_t)a->mtime.tv_nsec,
		(uint64_t)a->ctime.tv_sec, (uint64_t)a->ctime.tv_nsec, a->size };

	return XXH3_64bits(facts, sizeof facts);
}

static bool contents_differ(const struct attr *a, const struct attr *b)
{
	return a->size != b->size || !time_equals(a->mtime, b->mtime);
}

/* Whether the last change was at least a tick before `now`. */
bool tree_stable_at(const struct attr *attr, struct timespec now)
{
	struct timespec c = attr->ctime;

	if (!now.tv_sec)
		return false;
	return (now.tv_sec - c.tv_sec) * 1000000000LL + (now.tv_nsec - c.tv_nsec) > CLOCK_TICK_NS;
}

bool tree_stable_by_times(const struct attr *attr)
{
	return !time_equals(attr->mtime, attr->ctime);
}

bool is_same_file(const struct attr *a, const struct attr *b)
{
	if (a->dev != b->dev || a->ino != b->ino || (a->mode & S_IFMT) != (b->mode & S_IFMT))
		return false;
	return !is_born_apart(a->btime_ns, b->btime_ns);
}

/* Whether a change of `i` or its names, local or by an event, began or ended since. */
static bool is_newer(const struct inode *i, uint64_t seen)
{
	return i->changing || i->moving || i->changed > seen || i->moved > seen;
}

bool is_news_locked(const struct tree *t, const struct inode *i, uint64_t seen)
{
	return i->changed <= seen && t->invalidated <= seen && !i->changing;
}

/* Once the tick has passed no change can follow within it. */
static bool stays_stable_locked(const struct inode *i, const struct attr *attr)
{
	return i->stable && version_of(&i->attr) == version_of(attr);
}

/* A leased answer needs no newer answer with the same attributes. */
static int64_t validity_end_of_news_locked(
	const struct tree *t, const struct inode *i, uint64_t seen, const struct tree_news *news)
{
	bool is_held =
		i->attr_until_ms == TREE_HELD && version_of(&i->attr) == version_of(&news->attr);

	return is_held ? TREE_HELD : plain_validity_end_locked(t, i, seen, news->until_ms);
}

/*
 * The sandbox reads a symbolic link to list it, which moves the time of access there. A program
 * that sets the times of a link moves its ctime, too.
 */
static struct timespec access_time_of_news_locked(const struct inode *i, const struct attr *news)
{
	bool is_unchanged = S_ISLNK(i->attr.mode) && is_same_file(&i->attr, news) &&
		time_equals(i->attr.ctime, news->ctime);

	return is_unchanged ? i->attr.atime : news->atime;
}

bool take_news_locked(struct tree *t, struct inode *i, uint64_t seen, const struct tree_news *news)
{
	const struct timespec atime = access_time_of_news_locked(i, &news->attr);
	bool changed = S_ISREG(i->attr.mode) && contents_differ(&i->attr, &news->attr);

	i->stable = tree_stable_at(&news->attr, news->now) || stays_stable_locked(i, &news->attr);
	i->attr_until_ms = validity_end_of_news_locked(t, i, seen, news);
	if (i != t->root)
		timed_locked(t, i->attr_until_ms);
	awaited_ctime_received_locked(t, i, &news->attr);
	i->attr = news->attr;
	i->attr.atime = atime;
	i->own = false;
	const char *link = inode_extra_locked(i)->link;

	if (news->link && (!link || strcmp(link, news->link))) {
		inode_set_link_locked(i, news->link);
		i->link_is_ours = false;
		for (struct dentry *d = i->names; d; d = d->next_of_inode)
			d->link_is_ours = false;
	}
	return changed;
}

static bool has_name_locked(const struct inode *i, const struct inode *dir, const char *name)
{
	for (const struct dentry *d = i->names; d; d = d->next_of_inode)
		if (d->dir == dir && !strcmp(d->name, name))
			return true;
	return false;
}

/*
 * Whether a known inode may have this name, too. A directory has one name, and under another one it
 * is a new inode. Otherwise the kernel would move the directory that it has, with all that it was
 * shown below.
 */
static bool may_be_named_locked(const struct inode *i, const struct inode *dir, const char *name)
{
	return !S_ISDIR(i->attr.mode) || has_name_locked(i, dir, name);
}

/* Applies a change by others. */
static void replace_locked(struct tree *t, struct dentry *d, struct inode *i)
{
	struct inode *old = d->inode;

	if (old == i || !may_be_in_locked(t, i, d->dir))
		return;
	kernel_forgets_name_locked(t, d->dir, d->name, d, false);
	remember_place_locked(t, old);
	old->pins++;
	dentry_retarget_locked(t, d, i);
	lost_from_sight_locked(t, old);
	inode_unpin_locked(t, old);
}

/* The name stays invalid. An answer to a question before `seen` cannot change it back. */
static void replace_outdated_locked(
	struct tree *t, struct dentry *d, struct inode *i, uint64_t seen)
{
	i->pins++;
	replace_locked(t, d, i);
	d->until_ms = 0;
	i->changed = i->changed > seen ? i->changed : seen;
	inode_unpin_locked(t, i);
}

/*
 * A new inode for an answer to a question of `seen`. A known inode of the same number keeps the
 * number if it is newer or the root; an invalidation of everything makes no inode newer.
 */
static struct inode *inode_learned_locked(struct tree *t, const struct attr *attr, uint64_t seen)
{
	struct inode *known = inode_find_locked(t, attr);
	bool is_older = known && (known == t->root || is_newer(known, seen));

	if (known && !is_older)
		inode_unhash_locked(t, known);
	struct inode *i = inode_new_locked(t, attr);

	if (i)
		find_shown_locked(t, i);
	if (i && is_older)
		inode_unhash_locked(t, i);
	else if (i && known)
		i->changed = seen;
	return i;
}

/*
 * The inode of that number under any name. Where births are not known, a file with one name and
 * other contents is a later one of the number: what the kernel has of the earlier one is not its.
 * Of a file that changes here the contents say nothing.
 */
static struct inode *inode_of_number_locked(struct tree *t, const struct attr *attr, uint64_t seen)
{
	struct inode *i = inode_find_locked(t, attr);
	bool is_reused = i && S_ISREG(attr->mode) && attr->nlink == 1 &&
		!(i->attr.btime_ns && attr->btime_ns) && !i->unsynced && !is_newer(i, seen) &&
		contents_differ(&i->attr, attr);

	return is_reused ? NULL : i;
}

/* The inode of `name` in `dir` by a valid answer. */
static struct inode *inode_for_locked(
	struct tree *t, struct inode *dir, const char *name, const struct attr *attr, uint64_t seen)
{
	const struct dentry *d = dentry_find_locked(t, dir, name);
	/* The number may belong to an earlier file that a program still remembers. */
	bool is_known = d && is_same_file(&d->inode->attr, attr);
	struct inode *i = is_known ? d->inode : inode_of_number_locked(t, attr, seen);

	if (i && is_same_file(&i->attr, attr) && may_be_named_locked(i, dir, name)) {
		i->gone = false; /* the file had another name that was not known */
		if (!i->hashed)
			inode_hash_locked(t, i);
		return i;
	}
	return inode_learned_locked(t, attr, seen);
}

/*
 * Whether the name is invalid, and nothing newer than the answer to a question of `seen` is known.
 */
static bool is_outdated_locked(const struct tree *t, const struct dentry *d, uint64_t seen)
{
	return !is_newer(d->inode, seen) && !is_only_here_locked(d, seen) &&
		!is_name_valid_locked(t, d, tree_now_ms());
}

/*
 * The inode for an answer that is older than a change of `dir`: names stay. Only an invalid name
 * without newer facts gets the answer's file. With the known file the reader would fail as with a
 * removed one.
 */
static struct inode *inode_for_old_locked(
	struct tree *t, struct inode *dir, const char *name, const struct attr *attr, uint64_t seen)
{
	struct dentry *d = dentry_find_locked(t, dir, name);
	struct inode *i = d ? d->inode : inode_of_number_locked(t, attr, seen);

	if (d && !is_same_file(&i->attr, attr) && is_outdated_locked(t, d, seen)) {
		i = inode_for_locked(t, dir, name, attr, seen);
		if (i)
			replace_outdated_locked(t, d, i, seen);
	}
	bool is_there = i && is_same_file(&i->attr, attr) && !i->gone;

	if (d || (is_there && may_be_in_locked(t, i, dir) && may_be_named_locked(i, dir, name)))
		return i;
	i = inode_learned_locked(t, attr, seen);
	/* The event may have been about something in this directory. */
	if (i && t->event_beyond > seen)
		i->changed = dir->changed;
	return i;
}

bool is_absent_locked(const struct tree *t, const struct inode *dir)
{
	return dir->complete &&
		(dir->complete_until_ms == TREE_HELD ||
			is_valid_locked(t, dir->complete_until_ms, tree_now_ms()));
}

static struct dentry *learn_dentry_locked(
	struct tree *t, struct inode *dir, const char *name, struct inode *i, bool is_valid)
{
	struct dentry *d = dentry_find_locked(t, dir, name);

	if (d && is_valid)
		replace_locked(t, d, i);
	/*
	 * An invalid answer's name is still the only way to an inode without one, unless the name
	 * is known to be absent.
	 */
	if (!d && (is_valid || (!i->names && !is_absent_locked(t, dir))))
		d = dentry_new_locked(t, dir, name, i);
	return d;
}

/*
 * Handles an answer that is not valid. Where it is newer than all that is known, the known
 * attributes are invalid, too.
 */
static void pass_news_locked(struct inode *i, const struct tree_news *news)
{
	i->maybe_foreign = true;
	if (!is_same_file(&i->attr, &news->attr))
		return;
	if (news->link && !inode_extra_locked(i)->link)
		inode_set_link_locked(i, news->link);
	if (!i->changing && time_is_after(news->attr.ctime, i->attr.ctime))
		i->attr_until_ms = 0;
}

struct inode *tree_learn_name(struct tree *t, struct inode *dir, const char *name, uint64_t seen,
	const struct tree_news *news, bool *changed)
{
	*changed = false;
	pthread_mutex_lock(&t->lock);
	bool is_valid = is_news_locked(t, dir, seen) &&
		!is_only_here_locked(dentry_find_locked(t, dir, name), seen);
	struct inode *i = is_valid ? inode_for_locked(t, dir, name, &news->attr, seen)
				   : inode_for_old_locked(t, dir, name, &news->attr, seen);

	if (i) {
		i->pins++;
		inode_wake_locked(t, i);
		struct dentry *d = learn_dentry_locked(t, dir, name, i, is_valid);

		if (d && is_valid)
			d->listed = t->listings;
		if (d && is_valid)
			d->until_ms = validity_end_locked(t, dir, seen, news->name_until_ms);
		if (S_ISDIR(i->attr.mode))
			note_unwatched_locked(t, i);
		/* An inode that changed here keeps the attributes of its own change's answer. */
		if (is_valid && is_news_locked(t, i, seen))
			*changed = take_news_locked(t, i, seen, news);
		else
			pass_news_locked(i, news);
		find_link_locked(t, i);
		resolve_learned_locked(t, dir, name, seen);
	}
	pthread_mutex_unlock(&t->lock);
	return i;
}

bool tree_is_named(struct tree *t, struct inode *i, const struct attr *answered)
{
	pthread_mutex_lock(&t->lock);
	bool is_changing =
		i->changing || i->unsynced || i->provisional || inode_extra_locked(i)->replacing;
	bool is_answered = is_same_file(&i->attr, answered) && (i->names || i->opens);

	pthread_mutex_unlock(&t->lock);
	return is_changing || is_answered;
}

bool tree_learn_absent(struct tree *t, struct inode *dir, const char *name, uint64_t seen)
{
	pthread_mutex_lock(&t->lock);
	struct dentry *d = dentry_find_locked(t, dir, name);
	bool is_valid = is_news_locked(t, dir, seen) && !is_only_here_locked(d, seen);

	if (is_valid) {
		if (d)
			dentry_lost_locked(t, d);
		resolve_learned_locked(t, dir, name, seen);
	} else if (d) {
		d->inode->maybe_foreign = true;
	}
	pthread_mutex_unlock(&t->lock);
	return is_valid;
}

/*
 * The root is a path, and another directory has taken it: facts about the former directory do not
 * apply to the new one.
 */
static void replace_root_locked(struct tree *t, const struct attr *attr)
{
	struct inode *root = t->root;

	inode_unhash_locked(t, root);
	root->attr = *attr;
	inode_hash_locked(t, root);
	root->attr_until_ms = 0;
	invalidate_and_tell_below_locked(t, root);
}

static bool replaces_root_locked(
	const struct tree *t, const struct inode *i, uint64_t seen, const struct attr *attr)
{
	return i == t->root && i->changed <= seen && S_ISDIR(attr->mode) &&
		!is_same_file(&i->attr, attr);
}

enum err tree_learn_attr(struct tree *t, struct inode *i, uint64_t seen,
	const struct tree_news *news, bool *changed, struct error *e)
{
	enum err kind = ERR_OK;

	*changed = false;
	pthread_mutex_lock(&t->lock);
	i->maybe_foreign |= !is_same_file(&i->attr, &news->attr);
	if (replaces_root_locked(t, i, seen, &news->attr))
		replace_root_locked(t, &news->attr);
	if (!is_same_file(&i->attr, &news->attr))
		kind = error_set(e, ERR_STALE, "replaced in the sandbox");
	else if (is_news_locked(t, i, seen))
		*changed = take_news_locked(t, i, seen, news);
	else
		pass_news_locked(i, news);
	find_link_locked(t, i);
	pthread_mutex_unlock(&t->lock);
	return kind;
}

/* The dentry of `i` at the end of `path`; NULL: gone. */
static struct dentry *name_used_locked(const struct inode *i, const struct tree_path *path)
{
	struct dentry *d = i->names;

	while (d && (d->dir != path->dir || strcmp(d->name, path_name(path->text))))
		d = d->next_of_inode;
	return d;
}

bool tree_name_failed(struct tree *t, struct inode *i, const struct tree_path *path)
{
	bool was_staged = path_is_staged(path->text);

	pthread_mutex_lock(&t->lock);
	if (path_is_unsynced_locked(t, i)) {
		/* A pending change explains the failure. */
		pthread_mutex_unlock(&t->lock);
		return true;
	}
	struct dentry *d = was_staged || i == t->root ? NULL : name_used_locked(i, path);

	i->pins++;
	if (d) {
		d->dir->complete = false;
		dentry_lost_locked(t, d);
	}
	take_back_locked(t, i);
	i->attr_until_ms = 0;
	bool may_have_other = !was_staged && (i->names || inode_extra_locked(i)->staged);

	inode_unpin_locked(t, i);
	pthread_mutex_unlock(&t->lock);
	return may_have_other;
}

void tree_invalidate(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	take_back_locked(t, i);
	i->attr_until_ms = 0;
	i->complete_until_ms = 0;
	pthread_mutex_unlock(&t->lock);
}
