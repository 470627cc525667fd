/* What the change stream told while a change of ours was under way: it is kept until it can be judged. */
#include "cache/tree/tree_inside.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* As many names as a few batches of changes have; of more the oldest is judged at once. */
#define LATE_MAX 65536

struct late {
	TAILQ_ENTRY(late) link;
	LIST_ENTRY(late) of_name, of_dir;
	struct inode *dir; /* pinned */
	char *name;
	struct watch_event event; /* its path is our own */
	uint64_t serial;          /* answers to what was asked before it may be older */
	int64_t told_ms;          /* monotonic */
};

/* ---- Keeping ---- */

static size_t name_bucket(const struct inode *dir, const char *name)
{
	return dentry_hash(dir, name) % LATE_BUCKETS;
}

static size_t dir_bucket(const struct inode *dir)
{
	return XXH3_64bits(&dir, sizeof dir) % LATE_BUCKETS;
}

static void late_free(struct late *l)
{
	free((char *)l->event.path);
	free((char *)l->event.from);
	free(l->name);
	free(l);
}

static struct late *late_new(struct inode *dir, const char *name, const struct watch_event *event)
{
	struct late *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	*l = (struct late){
		.dir = dir, .name = strdup(name), .event = *event, .told_ms = tree_now_ms()
	};
	l->event.path = strdup(event->path);
	l->event.from = event->from ? strdup(event->from) : NULL;
	if (l->name && l->event.path && !event->from == !l->event.from)
		return l;
	late_free(l);
	return NULL;
}

static void late_add_locked(struct tree *t, struct late *l)
{
	l->serial = ++t->serial;
	l->dir->pins++;
	inode_wake_locked(t, l->dir);
	TAILQ_INSERT_TAIL(&t->late, l, link);
	LIST_INSERT_HEAD(&t->late_by_name[name_bucket(l->dir, l->name)], l, of_name);
	LIST_INSERT_HEAD(&t->late_by_dir[dir_bucket(l->dir)], l, of_dir);
	t->late_count++;
}

static void late_drop_locked(struct tree *t, struct late *l)
{
	TAILQ_REMOVE(&t->late, l, link);
	LIST_REMOVE(l, of_name);
	LIST_REMOVE(l, of_dir);
	t->late_count--;
	inode_unpin_locked(t, l->dir);
	late_free(l);
}

static struct late *late_find_locked(struct tree *t, const struct inode *dir, const char *name)
{
	struct late *l;

	LIST_FOREACH(l, &t->late_by_name[name_bucket(dir, name)], of_name)
	{
		if (l->dir == dir && !strcmp(l->name, name))
			return l;
	}
	return NULL;
}

void late_forget_locked(struct tree *t, const struct inode *dir)
{
	struct late *next;

	for (struct late *l = LIST_FIRST(&t->late_by_dir[dir_bucket(dir)]); l; l = next) {
		next = LIST_NEXT(l, of_dir);
		if (l->dir == dir)
			late_drop_locked(t, l);
	}
}

void late_release_locked(struct tree *t)
{
	while (!TAILQ_EMPTY(&t->late))
		late_drop_locked(t, TAILQ_FIRST(&t->late));
}

/* ---- Judging ---- */

/* Whether others went with it, as those of a directory that is lost: then the lists begin anew. */
static bool late_judge_locked(struct tree *t, struct late *l)
{
	size_t count = t->late_count;

	judge_locked(t, l->dir, l->name, &l->event);
	late_drop_locked(t, l);
	return t->late_count != count - 1;
}

static bool is_early_still(struct tree *t, const struct late *l)
{
	return is_early_locked(l->dir, dentry_find_locked(t, l->dir, l->name), &l->event);
}

static bool is_overdue(struct tree *t, const struct late *l, int64_t now_ms)
{
	const struct dentry *d = dentry_find_locked(t, l->dir, l->name);
	bool is_foreseen = l->dir->changing && l->dir->changing == l->dir->foreseen;

	return is_foreseen && now_ms - l->told_ms >= TREE_LATE_MS && !(d && d->inode->changing);
}

/* Should it have been an echo of ours, then it costs a question. */
static void judge_overdue_locked(struct tree *t)
{
	int64_t now_ms = tree_now_ms();

	if (TAILQ_EMPTY(&t->late) || now_ms - t->late_judged_ms < TREE_LATE_MS)
		return;
	t->late_judged_ms = now_ms;
	for (struct late *l = TAILQ_FIRST(&t->late), *next; l; l = next) {
		next = TAILQ_NEXT(l, link);
		if (is_overdue(t, l, now_ms) && late_judge_locked(t, l))
			next = TAILQ_FIRST(&t->late);
	}
}

/* Of one name the latest word counts; what was made is still new when it was changed. */
void put_off_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event)
{
	struct late *old = late_find_locked(t, dir, name);
	struct late *l = late_new(dir, name, event);

	if (l && old && old->event.kind == WATCH_CREATED && event->kind != WATCH_REMOVED)
		l->event.kind = WATCH_CREATED;
	if (old)
		late_drop_locked(t, old);
	if (!l) {
		news_locked(t, dir, name, dentry_find_locked(t, dir, name), event);
		return;
	}
	late_add_locked(t, l);
	if (t->late_count > LATE_MAX)
		late_judge_locked(t, TAILQ_FIRST(&t->late));
}

bool is_put_off_locked(struct tree *t, const struct inode *i)
{
	const struct dentry *d = t->late_count ? i->names : NULL;

	while (d && !late_find_locked(t, d->dir, d->name))
		d = d->next_of_inode;
	return d;
}

/* One of a name of `i` that can be judged; NULL: there is none. */
static struct late *ripe_name_locked(struct tree *t, const struct inode *i)
{
	for (const struct dentry *d = i->names; d; d = d->next_of_inode) {
		struct late *l = late_find_locked(t, d->dir, d->name);

		if (l && !is_early_still(t, l))
			return l;
	}
	return NULL;
}

static void judge_entries_locked(struct tree *t, const struct inode *dir)
{
	size_t bucket = dir_bucket(dir);

	for (struct late *l = LIST_FIRST(&t->late_by_dir[bucket]), *next; l; l = next) {
		next = LIST_NEXT(l, of_dir);
		if (l->dir == dir && !is_early_still(t, l) && late_judge_locked(t, l))
			next = LIST_FIRST(&t->late_by_dir[bucket]);
	}
}

/* What is judged may take names away: they are looked for anew each time. */
static void judge_ripe_locked(struct tree *t, struct inode *i)
{
	struct late *l;

	i->pins++;
	inode_wake_locked(t, i);
	while ((l = ripe_name_locked(t, i)))
		late_judge_locked(t, l);
	judge_entries_locked(t, i);
	inode_unpin_locked(t, i);
}

void judge_late_locked(struct tree *t, struct inode *i)
{
	if (!i->changing && t->late_count)
		judge_ripe_locked(t, i);
	judge_overdue_locked(t);
}

void tree_judge_overdue(struct tree *t)
{
	pthread_mutex_lock(&t->lock);
	judge_overdue_locked(t);
	pthread_mutex_unlock(&t->lock);
}

void judge_learned_locked(struct tree *t, struct inode *dir, const char *name, uint64_t seen)
{
	struct late *l = late_find_locked(t, dir, name);

	if (l && l->serial <= seen)
		late_drop_locked(t, l);
	else if (l && !is_early_still(t, l))
		late_judge_locked(t, l);
}

/* Those of names that the answer did not have are judged: they came later. */
void judge_complete_locked(struct tree *t, struct inode *dir, uint64_t seen)
{
	struct late *next;

	for (struct late *l = LIST_FIRST(&t->late_by_dir[dir_bucket(dir)]); l; l = next) {
		next = LIST_NEXT(l, of_dir);
		if (l->dir != dir)
			continue;
		if (l->serial <= seen)
			late_drop_locked(t, l);
		else if (!is_early_still(t, l))
			late_judge_locked(t, l);
	}
}
