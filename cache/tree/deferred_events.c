/*
 * Events that came while a change of ours was under way. Each waits until it can be recognized as
 * an echo or as news.
 */
#include "cache/tree/tree_inside.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/*
 * As many names as a few batches of changes have. Beyond the limit the oldest event is resolved at
 * once.
 */
#define DEFERRED_MAX 65536

struct deferred_event {
	TAILQ_ENTRY(deferred_event) link;
	LIST_ENTRY(deferred_event) of_name, of_dir;
	struct inode *dir; /* pinned */
	char *name;
	struct watch_event event; /* with copies of its paths */
	uint64_t serial;          /* answers to questions before this number may be older */
	int64_t received_ms;      /* monotonic */
};

/* ---- Keeping ---- */

static size_t name_bucket(const struct inode *dir, const char *name)
{
	return dentry_hash(dir, name) % DEFERRED_BUCKETS;
}

static size_t dir_bucket(const struct inode *dir)
{
	return XXH3_64bits(&dir, sizeof dir) % DEFERRED_BUCKETS;
}

static void deferred_event_free(struct deferred_event *l)
{
	free((char *)l->event.path);
	free((char *)l->event.from);
	free(l->name);
	free(l);
}

static struct deferred_event *deferred_event_new(
	struct inode *dir, const char *name, const struct watch_event *event)
{
	struct deferred_event *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	*l = (struct deferred_event){
		.dir = dir, .name = strdup(name), .event = *event, .received_ms = tree_now_ms()
	};
	l->event.path = strdup(event->path);
	l->event.from = event->from ? strdup(event->from) : NULL;
	if (l->name && l->event.path && !event->from == !l->event.from)
		return l;
	deferred_event_free(l);
	return NULL;
}

static void deferred_event_add_locked(struct tree *t, struct deferred_event *l)
{
	l->serial = ++t->serial;
	l->dir->pins++;
	inode_wake_locked(t, l->dir);
	TAILQ_INSERT_TAIL(&t->deferred, l, link);
	LIST_INSERT_HEAD(&t->deferred_by_name[name_bucket(l->dir, l->name)], l, of_name);
	LIST_INSERT_HEAD(&t->deferred_by_dir[dir_bucket(l->dir)], l, of_dir);
	t->deferred_count++;
}

static void deferred_event_drop_locked(struct tree *t, struct deferred_event *l)
{
	TAILQ_REMOVE(&t->deferred, l, link);
	LIST_REMOVE(l, of_name);
	LIST_REMOVE(l, of_dir);
	t->deferred_count--;
	inode_unpin_locked(t, l->dir);
	deferred_event_free(l);
}

static struct deferred_event *deferred_event_find_locked(
	struct tree *t, const struct inode *dir, const char *name)
{
	struct deferred_event *l;

	LIST_FOREACH(l, &t->deferred_by_name[name_bucket(dir, name)], of_name)
	{
		if (l->dir == dir && !strcmp(l->name, name))
			return l;
	}
	return NULL;
}

void deferred_event_forget_locked(struct tree *t, const struct inode *dir)
{
	struct deferred_event *next;

	for (struct deferred_event *l = LIST_FIRST(&t->deferred_by_dir[dir_bucket(dir)]); l;
		l = next) {
		next = LIST_NEXT(l, of_dir);
		if (l->dir == dir)
			deferred_event_drop_locked(t, l);
	}
}

void deferred_event_release_locked(struct tree *t)
{
	while (!TAILQ_EMPTY(&t->deferred))
		deferred_event_drop_locked(t, TAILQ_FIRST(&t->deferred));
}

/* ---- Resolving ---- */

/*
 * Whether other events were dropped, too, as those of a lost directory: the caller starts its list
 * again.
 */
static bool deferred_event_resolve_locked(struct tree *t, struct deferred_event *l)
{
	size_t count = t->deferred_count;

	resolve_locked(t, l->dir, l->name, &l->event);
	deferred_event_drop_locked(t, l);
	return t->deferred_count != count - 1;
}

static bool is_early_still(struct tree *t, const struct deferred_event *l)
{
	return is_early_locked(l->dir, dentry_find_locked(t, l->dir, l->name), &l->event);
}

static bool is_overdue(struct tree *t, const struct deferred_event *l, int64_t now_ms)
{
	const struct dentry *d = dentry_find_locked(t, l->dir, l->name);
	bool has_local_effect = l->dir->changing && l->dir->changing == l->dir->local_effects;

	return has_local_effect && now_ms - l->received_ms >= TREE_DEFERRED_MS &&
		!(d && d->inode->changing);
}

/* If the event is an echo after all, the cost is one question to the sandbox. */
static void resolve_overdue_locked(struct tree *t)
{
	int64_t now_ms = tree_now_ms();

	if (TAILQ_EMPTY(&t->deferred) || now_ms - t->deferred_event_resolved_ms < TREE_DEFERRED_MS)
		return;
	t->deferred_event_resolved_ms = now_ms;
	for (struct deferred_event *l = TAILQ_FIRST(&t->deferred), *next; l; l = next) {
		next = TAILQ_NEXT(l, link);
		if (is_overdue(t, l, now_ms) && deferred_event_resolve_locked(t, l))
			next = TAILQ_FIRST(&t->deferred);
	}
}

/* The latest event of a name counts. A file that was created and then changed is still new. */
void defer_event_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event)
{
	struct deferred_event *old = deferred_event_find_locked(t, dir, name);
	struct deferred_event *l = deferred_event_new(dir, name, event);

	if (l && old && old->event.kind == WATCH_CREATED && event->kind != WATCH_REMOVED)
		l->event.kind = WATCH_CREATED;
	if (old)
		deferred_event_drop_locked(t, old);
	if (!l) {
		news_locked(t, dir, name, dentry_find_locked(t, dir, name), event);
		return;
	}
	deferred_event_add_locked(t, l);
	if (t->deferred_count > DEFERRED_MAX)
		deferred_event_resolve_locked(t, TAILQ_FIRST(&t->deferred));
}

bool has_deferred_event_locked(struct tree *t, const struct inode *i)
{
	const struct dentry *d = t->deferred_count ? i->names : NULL;

	while (d && !deferred_event_find_locked(t, d->dir, d->name))
		d = d->next_of_inode;
	return d;
}

/* An event of a name of `i` that can be resolved; NULL: none. */
static struct deferred_event *ripe_name_locked(struct tree *t, const struct inode *i)
{
	for (const struct dentry *d = i->names; d; d = d->next_of_inode) {
		struct deferred_event *l = deferred_event_find_locked(t, d->dir, d->name);

		if (l && !is_early_still(t, l))
			return l;
	}
	return NULL;
}

static void resolve_entries_locked(struct tree *t, const struct inode *dir)
{
	size_t bucket = dir_bucket(dir);

	for (struct deferred_event *l = LIST_FIRST(&t->deferred_by_dir[bucket]), *next; l;
		l = next) {
		next = LIST_NEXT(l, of_dir);
		if (l->dir == dir && !is_early_still(t, l) && deferred_event_resolve_locked(t, l))
			next = LIST_FIRST(&t->deferred_by_dir[bucket]);
	}
}

/* Resolving may take names away, so each step looks the names up again. */
static void resolve_ripe_locked(struct tree *t, struct inode *i)
{
	struct deferred_event *l;

	i->pins++;
	inode_wake_locked(t, i);
	while ((l = ripe_name_locked(t, i)))
		deferred_event_resolve_locked(t, l);
	resolve_entries_locked(t, i);
	inode_unpin_locked(t, i);
}

void resolve_late_locked(struct tree *t, struct inode *i)
{
	if (!i->changing && t->deferred_count)
		resolve_ripe_locked(t, i);
	resolve_overdue_locked(t);
}

void tree_resolve_overdue(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	resolve_overdue_locked(t);
	pthread_mutex_unlock(&t->lock);
}

void resolve_learned_locked(struct tree *t, struct inode *dir, const char *name, uint64_t seen)
{
	struct deferred_event *l = deferred_event_find_locked(t, dir, name);

	if (l && l->serial <= seen)
		deferred_event_drop_locked(t, l);
	else if (l && !is_early_still(t, l))
		deferred_event_resolve_locked(t, l);
}

/* Resolves later events of names that the answer did not have. */
void resolve_complete_locked(struct tree *t, struct inode *dir, uint64_t seen)
{
	struct deferred_event *next;

	for (struct deferred_event *l = LIST_FIRST(&t->deferred_by_dir[dir_bucket(dir)]); l;
		l = next) {
		next = LIST_NEXT(l, of_dir);
		if (l->dir != dir)
			continue;
		if (l->serial <= seen)
			deferred_event_drop_locked(t, l);
		else if (!is_early_still(t, l))
			deferred_event_resolve_locked(t, l);
	}
}
