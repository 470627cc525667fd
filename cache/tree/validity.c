/*
 * Leases: a leased answer has no end of validity of its own, but is valid as long as the tree is.
 */
#include "cache/tree/tree_inside.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

int64_t valid_until_locked(const struct tree *t, int64_t until_ms)
{
	return until_ms == TREE_HELD ? t->validated_until_ms : until_ms;
}

bool is_valid_locked(const struct tree *t, int64_t until_ms, int64_t now_ms)
{
	return valid_until_locked(t, until_ms) > now_ms;
}

/* A provisional inode's name is valid, since no other side knows it. */
bool is_name_valid_locked(const struct tree *t, const struct dentry *d, int64_t now_ms)
{
	return d->inode->provisional || is_valid_locked(t, d->until_ms, now_ms);
}

bool is_attr_valid_locked(const struct tree *t, const struct inode *i, int64_t now_ms)
{
	return i->provisional || inode_extra_locked(i)->replacing ||
		is_valid_locked(t, i->attr_until_ms, now_ms);
}

bool is_invalid_locked(const struct tree *t, int64_t until_ms, int64_t now_ms)
{
	return until_ms == TREE_HELD && t->validated_until_ms <= now_ms;
}

/* Whether the change stream reports changes of `i`. */
static bool is_watched_locked(const struct tree *t, const struct inode *i)
{
	for (; t->unwatched.count && i != t->root && i->names; i = i->names->dir)
		if (i->unwatched || i->names->dir->unwatched)
			return false;
	return !t->is_blind;
}

int64_t timed_locked(struct tree *t, int64_t until_ms)
{
	if (until_ms != TREE_HELD && t->timed_until_ms < until_ms)
		t->timed_until_ms = until_ms;
	return until_ms;
}

/* Neither an audit nor the change stream reports changes on other file systems or in staging. */
int64_t plain_validity_end_locked(
	const struct tree *t, const struct inode *i, uint64_t asked, int64_t until_ms)
{
	bool is_late_enough = asked >= t->held_from || (asked && asked == t->held_alone);
	bool is_held = is_late_enough && i->attr.dev == t->root->attr.dev &&
		!inode_extra_locked(i)->staged && is_watched_locked(t, i);

	return is_held && until_ms ? TREE_HELD : until_ms;
}

int64_t validity_end_locked(struct tree *t, const struct inode *i, uint64_t asked, int64_t until_ms)
{
	return timed_locked(t, plain_validity_end_locked(t, i, asked, until_ms));
}

void tree_holds(struct tree *t, int64_t timed_ms, int64_t validated_until_ms)
{
	pthread_mutex_lock(&t->lock);
	t->held_from = ++t->serial;
	t->timed_ms = timed_ms;
	t->validated_until_ms = validated_until_ms;
	t->decides = validated_until_ms == TREE_HELD;
	pthread_mutex_unlock(&t->lock);
}

bool tree_validate(struct tree *t, int64_t until_ms, const struct tree_listing *audit)
{
	pthread_mutex_lock(&t->lock);
	bool is_late_enough = !audit || t->invalidated <= audit->seen;

	if (is_late_enough) {
		t->validated_until_ms = until_ms;
		t->decides = until_ms == TREE_HELD;
		t->is_offline = false;
	}
	pthread_mutex_unlock(&t->lock);
	return is_late_enough;
}

void tree_validate_offline(struct tree *t, int64_t until_ms)
{
	pthread_mutex_lock(&t->lock);
	t->validated_until_ms = until_ms;
	t->is_offline = true;
	pthread_mutex_unlock(&t->lock);
}

bool tree_is_offline(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	bool is_offline = t->is_offline;

	pthread_mutex_unlock(&t->lock);
	return is_offline;
}

bool tree_wants_validity(struct tree *t, int64_t now_ms)
{
	pthread_mutex_lock(&t->lock);
	bool wants = t->decides && t->validated_until_ms <= now_ms;

	pthread_mutex_unlock(&t->lock);
	return wants;
}

void tree_validate_longer(struct tree *t, int64_t until_ms)
{
	pthread_mutex_lock(&t->lock);
	if (t->validated_until_ms && t->validated_until_ms < until_ms)
		t->validated_until_ms = until_ms;
	pthread_mutex_unlock(&t->lock);
}

bool tree_is_valid(struct tree *t, int64_t now_ms)
{
	pthread_mutex_lock(&t->lock);
	bool is_valid = t->validated_until_ms > now_ms;

	pthread_mutex_unlock(&t->lock);
	return is_valid;
}

bool tree_is_bare(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	bool is_bare = !t->root->children && !t->root->complete;

	pthread_mutex_unlock(&t->lock);
	return is_bare;
}

bool tree_attr_is_invalid(struct tree *t, const struct inode *i, int64_t now_ms)
{
	pthread_mutex_lock(&t->lock);
	bool is_invalid = is_invalid_locked(t, i->attr_until_ms, now_ms);

	pthread_mutex_unlock(&t->lock);
	return is_invalid;
}

bool tree_attr_is_from_sandbox(struct tree *t, const struct inode *i)
{
	pthread_mutex_lock(&t->lock);
	bool is_from_sandbox = i->attr_until_ms && !i->changing && !i->provisional;

	pthread_mutex_unlock(&t->lock);
	return is_from_sandbox;
}

bool tree_entries_are_invalid(struct tree *t, const struct inode *dir, int64_t now_ms)
{
	pthread_mutex_lock(&t->lock);
	bool is_invalid = dir->complete && is_invalid_locked(t, dir->complete_until_ms, now_ms);

	pthread_mutex_unlock(&t->lock);
	return is_invalid;
}

bool is_maybe_foreign_locked(const struct tree *t, const struct inode *i)
{
	return i->attr_until_ms == TREE_HELD && t->decides && t->validated_until_ms;
}

void stop_holding_locked(struct tree *t, struct inode *i)
{
	if (i->attr_until_ms == TREE_HELD)
		i->attr_until_ms = timed_locked(t, tree_now_ms() + t->timed_ms);
}

/* ---- Audits ---- */

void tree_audit_begins(struct tree *t, struct tree_listing *l)
{
	const struct tree_listing *other;
	uint64_t earliest = l->seen;

	pthread_mutex_lock(&t->lock);
	l->audits_from = l->now;
	LIST_FOREACH(other, &t->under_way, link)
	{
		if (other->seen >= earliest || other->seen < t->held_from)
			continue;
		earliest = other->seen;
		l->audits_from = other->now;
	}
	if (t->held_from < earliest)
		t->held_from = earliest;
	pthread_mutex_unlock(&t->lock);
}

static bool changed_since(const struct inode *dir, int64_t since_ns)
{
	return dir->attr.ctime.tv_sec * 1000000000LL + dir->attr.ctime.tv_nsec >= since_ns;
}

void tree_audited_in_part(
	struct tree *t, struct inode *dir, const struct tree_listing *l, int64_t since_ns)
{
	pthread_mutex_lock(&t->lock);
	bool is_news = is_news_locked(t, dir, l->seen);

	if (!is_news || changed_since(dir, since_ns)) {
		dir->complete_until_ms = 0;
		for (struct dentry *d = dir->children; d; d = d->sibling_next)
			if (!is_news || d->listed < l->number)
				d->until_ms = 0;
	}
	pthread_mutex_unlock(&t->lock);
}

static void invalidate_dentry_locked(struct dentry *d)
{
	d->until_ms = 0;
	d->inode->attr_until_ms = 0;
}

void invalidate_entries_locked(struct inode *dir)
{
	dir->complete_until_ms = 0;
	for (struct dentry *d = dir->children; d; d = d->sibling_next)
		invalidate_dentry_locked(d);
}

void tree_invalidate_entries(struct tree *t, struct inode *dir)
{
	pthread_mutex_lock(&t->lock);
	invalidate_entries_locked(dir);
	pthread_mutex_unlock(&t->lock);
}

/* The next dentry after `d` below `top`; each directory comes before its entries. */
static struct dentry *next_below(const struct inode *top, struct dentry *d)
{
	if (d->inode->children)
		return d->inode->children;
	while (!d->sibling_next) {
		if (d->dir == top)
			return NULL;
		d = d->dir->names;
	}
	return d->sibling_next;
}

void invalidate_below_locked(struct inode *top)
{
	top->complete_until_ms = 0;
	for (struct dentry *d = top->children; d; d = next_below(top, d)) {
		invalidate_dentry_locked(d);
		d->inode->complete_until_ms = 0;
	}
}

void invalidate_and_tell_below_locked(struct tree *t, struct inode *top)
{
	invalidate_below_locked(top);
	kernel_forgets_inode_locked(t, top, false);
	for (struct dentry *d = top->children; d; d = next_below(top, d)) {
		kernel_forgets_name_locked(t, d->dir, d->name, d, false);
		kernel_forgets_inode_locked(t, d->inode, true);
	}
}

void tree_invalidate_below(struct tree *t, struct inode *dir)
{
	pthread_mutex_lock(&t->lock);
	invalidate_below_locked(dir);
	pthread_mutex_unlock(&t->lock);
}

void lost_from_sight_locked(struct tree *t, struct inode *i)
{
	if (i->names || i == t->root)
		return;
	i->attr_until_ms = 0;
	invalidate_below_locked(i);
	names_prune_locked(t, i);
}

/* ---- The change stream ---- */

/* The limit of directories remembered as unwatched. */
#define UNWATCHED_MAX 65536

void tree_stream_begins(struct tree *t, const struct tree_listing *first)
{
	pthread_mutex_lock(&t->lock);
	t->held_before = t->held_from;
	t->held_from = UINT64_MAX;
	t->held_alone = first->seen;
	pthread_mutex_unlock(&t->lock);
}

void tree_stream_leaves(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->held_alone = 0;
	pthread_mutex_unlock(&t->lock);
}

void tree_stream_ready(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	t->held_from = ++t->serial;
	pthread_mutex_unlock(&t->lock);
}

void tree_stream_ends(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	if (t->held_from == UINT64_MAX)
		t->held_from = t->held_before;
	t->held_alone = 0;
	deferred_event_release_locked(t);
	unwatched_release_locked(t);
	pthread_mutex_unlock(&t->lock);
}

void unwatched_release_locked(struct tree *t)
{
	path_set_release(&t->unwatched);
	t->is_blind = false;
	FOR_EACH_INODE(t, i)
	i->unwatched = false;
}

static char *unwatched_path_locked(struct tree *t, struct inode *dir)
{
	return t->unwatched.count ? path_build_locked(t, dir, NULL) : NULL;
}

void note_unwatched_locked(struct tree *t, struct inode *dir)
{
	AUTO_FREE char *path = unwatched_path_locked(t, dir);

	dir->unwatched |= path && path_set_has(&t->unwatched, path);
}

/* The known directory at `path`; NULL: none. */
static struct inode *known_dir_locked(struct tree *t, const char *path)
{
	const char *name;
	struct inode *dir = deepest_locked(t, path, &name);
	struct dentry *d = strchr(name, '/') ? NULL : dentry_find_locked(t, dir, name);

	return d ? d->inode : NULL;
}

static void go_blind_locked(struct tree *t)
{
	if (!t->is_blind)
		invalidate_and_tell_below_locked(t, t->root);
	t->is_blind = true;
}

static void lose_sight_locked(struct tree *t, const char *path)
{
	struct inode *dir = known_dir_locked(t, path);

	if (!dir)
		return;
	dir->unwatched = true;
	invalidate_and_tell_below_locked(t, dir);
}

void tree_apply_unwatched(struct tree *t, const char *path)
{
	pthread_mutex_lock(&t->lock);
	bool is_kept = path_set_has(&t->unwatched, path) ||
		(t->unwatched.count < UNWATCHED_MAX && path_set_put(&t->unwatched, path));

	if (is_kept)
		lose_sight_locked(t, path);
	else
		go_blind_locked(t);
	pthread_mutex_unlock(&t->lock);
}

/* Answers under way are older than the watch. */
void tree_apply_watched(struct tree *t, const char *path)
{
	pthread_mutex_lock(&t->lock);
	AUTO_FREE char *known = path_set_take(&t->unwatched, path);
	struct inode *dir = known ? known_dir_locked(t, path) : NULL;

	if (known && t->held_from != UINT64_MAX)
		t->held_from = ++t->serial;
	if (dir) {
		dir->unwatched = false;
		invalidate_below_locked(dir);
	}
	pthread_mutex_unlock(&t->lock);
}

size_t tree_unwatched(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	size_t count = t->unwatched.count;

	pthread_mutex_unlock(&t->lock);
	return count;
}
