/* Brings changes of this mount into the tree as they happen. */
#include "cache/tree/tree_inside.h"

#include <string.h>
#include <limits.h>
#include <sys/stat.h>

/*
 * Several local changes of one inode count as one: from the begin of the first to the end of the
 * last. The latest state in their answers is adopted, since several batches may be under way at
 * once (complete.c).
 */
static void change_begins_locked(struct tree *t, const struct tree_scope *s, struct inode *i)
{
	if (!s->has_local_effect || !i->local_effects)
		i->changed = s->begun;
	if (!s->has_local_effect)
		take_back_locked(t, i);
	i->maybe_foreign |= !s->has_local_effect;
	i->changing++;
	i->local_effects += s->has_local_effect;
	i->pins++;
	inode_wake_locked(t, i);
}

static void change_ends_locked(
	struct tree *t, const struct tree_scope *s, struct inode *i, uint64_t ended)
{
	i->changing--;
	i->local_effects -= s->has_local_effect;
	if (s->has_local_effect && i->local_effects)
		return;
	i->changed = ended;
	if (!i->local_effects) {
		local_move_ends_locked(t, i);
		take_back_locked(t, i);
	}
}

void tree_change_begins(struct tree *t, struct tree_scope *s)
{
	pthread_mutex_lock(&t->lock);
	s->begun = ++t->serial;
	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (s->inodes[n])
			change_begins_locked(t, s, s->inodes[n]);
	pthread_mutex_unlock(&t->lock);
}

void tree_change_touches(struct tree *t, struct tree_scope *s, struct inode *i)
{
	int n = 0;

	while (s->inodes[n])
		n++;
	pthread_mutex_lock(&t->lock);
	s->inodes[n] = i;
	change_begins_locked(t, s, i);
	pthread_mutex_unlock(&t->lock);
}

void tree_change_ends(struct tree *t, struct tree_scope *s)
{
	pthread_mutex_lock(&t->lock);
	uint64_t ended = ++t->serial;

	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (s->inodes[n])
			change_ends_locked(t, s, s->inodes[n], ended);
	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (s->inodes[n])
			resolve_late_locked(t, s->inodes[n]);
	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (s->inodes[n])
			names_prune_after_locked(t, s->inodes[n]);
	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (s->inodes[n])
			inode_unpin_locked(t, s->inodes[n]);
	pthread_mutex_unlock(&t->lock);
}

/* How often `i` stands in the scope. */
static unsigned scope_share(const struct tree_scope *s, const struct inode *i)
{
	unsigned share = 0;

	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		share += s->inodes[n] == i;
	return share;
}

void set_own_attr_locked(struct tree *t, struct inode *i, const struct attr *attr)
{
	take_back_locked(t, i);
	if (i->has_pages && i->pages == version_of(&i->attr))
		i->pages = version_of(attr);
	i->attr = *attr;
	i->own = true;
}

bool is_only_change_locked(const struct tree_scope *s, const struct inode *i)
{
	return i->changing == scope_share(s, i);
}

bool adopt_locked(struct tree *t, struct inode *i, const struct tree_scope *s,
	const struct attr *attr, int64_t until_ms)
{
	bool alone = i->changed <= s->begun && is_only_change_locked(s, i);
	bool is_type = (i->attr.mode & S_IFMT) == (attr->mode & S_IFMT);
	bool same = is_type && i->attr.dev == attr->dev && i->attr.ino == attr->ino;

	if (same && alone) {
		set_own_attr_locked(t, i, attr);
		i->attr_until_ms = validity_end_locked(t, i, s->begun, until_ms);
		i->stable = tree_stable_by_times(attr);
	} else {
		take_back_locked(t, i);
		i->attr_until_ms = 0;
	}
	return same && alone;
}

void tree_adopt(struct tree *t, const struct tree_scope *s, struct inode *i,
	const struct attr *attr, int64_t until_ms)
{
	pthread_mutex_lock(&t->lock);
	adopt_locked(t, i, s, attr, until_ms);
	pthread_mutex_unlock(&t->lock);
}

void move_begins_locked(struct tree *t, struct inode *i)
{
	i->moved = ++t->serial;
	i->moving++;
}

void move_ends_locked(struct tree *t, struct inode *i)
{
	i->moved = ++t->serial;
	i->moving--;
}

void tree_move_begins(struct tree *t, struct inode *one, struct inode *two)
{
	int64_t end_ms = tree_now_ms() + TREE_WAIT_MS;

	pthread_mutex_lock(&t->lock);
	while (t->stops && tree_wait_locked(t, end_ms))
		;
	t->moves++;
	if (one)
		move_begins_locked(t, one);
	if (two)
		move_begins_locked(t, two);
	pthread_mutex_unlock(&t->lock);
}

void tree_move_ends(struct tree *t, struct inode *one, struct inode *two)
{
	pthread_mutex_lock(&t->lock);
	t->moves--;
	if (one)
		move_ends_locked(t, one);
	if (two)
		move_ends_locked(t, two);
	pthread_cond_broadcast(&t->move_ended);
	pthread_mutex_unlock(&t->lock);
}

void tree_stop_moves(struct tree *t)
{
	int64_t end_ms = tree_now_ms() + TREE_WAIT_MS;

	pthread_mutex_lock(&t->lock);
	t->stops++;
	while (t->moves && tree_wait_locked(t, end_ms))
		;
	pthread_mutex_unlock(&t->lock);
}

void tree_let_moves(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->stops--;
	pthread_cond_broadcast(&t->move_ended);
	pthread_mutex_unlock(&t->lock);
}

/*
 * An inode whose last name was removed through the mount keeps its last attributes, with no links.
 */
static void lost_name_locked(struct tree *t, struct inode *i)
{
	if (i->names)
		return;
	take_back_locked(t, i);
	i->gone = true;
	if (!inode_extra_locked(i)->staged)
		inode_retire_locked(t, i);
	names_prune_locked(t, i);
}

static void unname_locked(struct tree *t, struct inode *dir, const char *name)
{
	struct dentry *d = dentry_find_locked(t, dir, name);

	if (!d)
		return;
	struct inode *i = d->inode;

	i->pins++;
	dentry_drop_locked(t, d);
	lost_name_locked(t, i);
	inode_unpin_locked(t, i);
}

/* The inode that was just made. A known one is taken only where O_CREAT opened an existing file. */
static struct inode *inode_made_locked(struct tree *t, const struct attr *attr)
{
	struct inode *known = inode_find_locked(t, attr);
	bool was_there = known && S_ISREG(attr->mode) && is_same_file(&known->attr, attr) &&
		((known->attr.btime_ns && attr->btime_ns) || attr->nlink > 1);

	if (was_there) {
		known->gone = false;
		return known;
	}
	if (known)
		inode_unhash_locked(t, known);
	return inode_new_locked(t, attr);
}

static void take_made_locked(struct tree *t, struct inode *i, const struct tree_news *news)
{
	take_back_locked(t, i);
	i->attr = news->attr;
	i->attr_until_ms = validity_end_locked(t, i, news->begun, news->until_ms);
	i->stable = false;
	i->changed = ++t->serial;
	i->made_here = S_ISDIR(news->attr.mode);
	if (S_ISDIR(news->attr.mode) && news->attr.nlink <= 2 && !i->children) {
		i->complete = true; /* a new directory is empty */
		i->complete_until_ms = validity_end_locked(t, i, news->begun, news->name_until_ms);
	}
	if (news->link && !inode_extra_locked(i)->link)
		inode_set_link_locked(i, news->link);
}

struct inode *tree_made(
	struct tree *t, struct inode *dir, const char *name, const struct tree_news *news)
{
	pthread_mutex_lock(&t->lock);
	struct inode *i = inode_made_locked(t, &news->attr);
	struct dentry *d = dentry_find_locked(t, dir, name);

	if (i) {
		i->pins++;
		inode_wake_locked(t, i);
		if (d)
			dentry_retarget_locked(t, d, i);
		else
			d = dentry_new_locked(t, dir, name, i);
		take_made_locked(t, i, news);
	}
	if (d)
		d->until_ms = i ? validity_end_locked(t, dir, news->begun, news->name_until_ms) : 0;
	else
		dir->complete = false;
	pthread_mutex_unlock(&t->lock);
	return i;
}

/* The kernel moves a name itself, and may use the new name for as long as the old one. */
static void kernel_moves_name(struct tree *t, struct inode *i)
{
	int64_t until_ms = 0;

	for (const struct dentry *d = i->names; d; d = d->next_of_inode)
		until_ms = d->kernel_until_ms > until_ms ? d->kernel_until_ms : until_ms;
	for (struct dentry *d = i->names; d; d = d->next_of_inode)
		d->kernel_until_ms = until_ms;
	kernel_uses_until_locked(t, until_ms);
}

static int64_t name_until(const struct inode *i, int64_t until_ms)
{
	return i->attr_until_ms == TREE_HELD || i->attr_until_ms < until_ms ? i->attr_until_ms
									    : until_ms;
}

/* `is_ours`: see dentry.link_is_ours. */
static void name_locked(struct tree *t, struct inode *dir, const char *name, struct inode *i,
	int64_t until_ms, bool is_ours)
{
	struct dentry *d = dentry_new_locked(t, dir, name, i);

	if (d) {
		d->until_ms = timed_locked(t, name_until(i, until_ms));
		d->link_is_ours = is_ours;
	} else {
		dir->complete = false;
	}
	kernel_moves_name(t, i);
	i->gone = false;
	local_move_begins_locked(t, i);
}

void tree_named(
	struct tree *t, struct inode *dir, const char *name, struct inode *i, int64_t until_ms)
{
	pthread_mutex_lock(&t->lock);
	unsigned depth_before = depth_in_locked(t, i);

	i->pins++;
	unname_locked(t, dir, name);
	name_locked(t, dir, name, i, until_ms, are_names_ours_locked(i));
	places_moved_locked(t, i, depth_before);
	inode_unpin_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

void tree_unnamed(struct tree *t, struct inode *dir, const char *name)
{
	pthread_mutex_lock(&t->lock);
	unname_locked(t, dir, name);
	pthread_mutex_unlock(&t->lock);
}

void tree_renamed(struct tree *t, const struct tree_name *from, const struct tree_name *to,
	struct inode *i, int64_t until_ms)
{
	pthread_mutex_lock(&t->lock);
	struct dentry *old = dentry_find_locked(t, from->dir, from->name);
	bool is_its_name = old && old->inode == i;
	int64_t kernel_until_ms = is_its_name ? old->kernel_until_ms : 0;
	bool is_ours = are_names_ours_locked(i);
	/* The kernel has the inode at `from`, wherever the sandbox has it. */
	unsigned depth_before = is_its_name ? depth_in_locked(t, i) : UINT_MAX;

	i->pins++;
	if (is_its_name)
		dentry_drop_locked(t, old);
	else
		unname_locked(t, from->dir, from->name);
	unname_locked(t, to->dir, to->name);
	name_locked(t, to->dir, to->name, i, until_ms, is_ours);
	for (struct dentry *d = i->names; d; d = d->next_of_inode)
		if (d->kernel_until_ms < kernel_until_ms)
			d->kernel_until_ms = kernel_until_ms;
	kernel_uses_until_locked(t, kernel_until_ms);
	lost_from_sight_locked(t, i);
	places_moved_locked(t, i, depth_before);
	inode_unpin_locked(t, i);
	pthread_mutex_unlock(&t->lock);
}

/* Whether each inode may take the other's name. */
static bool may_exchange_locked(
	const struct tree *t, const struct dentry *a, const struct dentry *b)
{
	return may_be_in_locked(t, a->inode, b->dir) && may_be_in_locked(t, b->inode, a->dir);
}

/* Drops the name, and nothing else that is known. */
static void forget_name_locked(struct tree *t, struct dentry *d)
{
	struct inode *i = d->inode;

	i->pins++;
	dentry_drop_locked(t, d);
	lost_from_sight_locked(t, i);
	inode_unpin_locked(t, i);
}

void tree_exchanged(
	struct tree *t, struct inode *dir, const char *name, struct inode *dir2, const char *name2)
{
	pthread_mutex_lock(&t->lock);
	struct dentry *a = dentry_find_locked(t, dir, name);
	struct dentry *b = dentry_find_locked(t, dir2, name2);

	if (a && b && may_exchange_locked(t, a, b)) {
		struct inode *first = a->inode, *second = b->inode;
		bool first_is_ours = a->link_is_ours, second_is_ours = b->link_is_ours;
		unsigned first_depth = depth_in_locked(t, first);
		unsigned second_depth = depth_in_locked(t, second);

		first->pins++;
		second->pins++;
		dentry_retarget_locked(t, a, second);
		dentry_retarget_locked(t, b, first);
		a->link_is_ours = second_is_ours;
		b->link_is_ours = first_is_ours;
		a->kernel_until_ms = b->kernel_until_ms = a->kernel_until_ms > b->kernel_until_ms
			? a->kernel_until_ms
			: b->kernel_until_ms;
		kernel_uses_until_locked(t, a->kernel_until_ms);
		local_move_begins_locked(t, first);
		local_move_begins_locked(t, second);
		places_moved_locked(t, first, first_depth);
		places_moved_locked(t, second, second_depth);
		first->pins--;
		second->pins--;
	} else {
		/* An inode is unknown, or may not be there: both names are dropped. */
		if (a)
			forget_name_locked(t, a);
		b = dentry_find_locked(t, dir2, name2);
		if (b)
			forget_name_locked(t, b);
		dir->complete = dir2->complete = false;
	}
	pthread_mutex_unlock(&t->lock);
}

static bool is_gone_locked(const struct inode *i)
{
	return i->gone && !inode_extra_locked(i)->staged;
}

bool tree_is_gone(struct tree *t, struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool gone = is_gone_locked(i);

	pthread_mutex_unlock(&t->lock);
	return gone;
}

static void set_time(struct timespec *out, struct timespec wanted, struct timespec now)
{
	if (wanted.tv_nsec != UTIME_OMIT)
		*out = wanted.tv_nsec == UTIME_NOW ? now : wanted;
}

void set_attr(struct attr *attr, const struct change *what, struct timespec now)
{
	if (what->set & SET_MODE)
		attr->mode = (attr->mode & S_IFMT) | (what->mode & ~(uint32_t)S_IFMT);
	if (what->set & SET_UID)
		attr->uid = what->uid;
	if (what->set & SET_GID)
		attr->gid = what->gid;
	if (what->set & SET_ATIME)
		set_time(&attr->atime, what->atime, now);
	if (what->set & SET_MTIME)
		set_time(&attr->mtime, what->mtime, now);
}

bool tree_set_gone(struct tree *t, struct inode *i, const struct change *what, struct timespec now)
{
	pthread_mutex_lock(&t->lock);
	bool gone = is_gone_locked(i);

	if (gone) {
		take_back_locked(t, i);
		set_attr(&i->attr, what, now);
		i->attr.ctime = now;
	}
	pthread_mutex_unlock(&t->lock);
	return gone;
}
