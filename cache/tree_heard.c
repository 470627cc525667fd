/* What the change stream told, judged: the echo of what is known already, or news. */
#include "cache/tree_inside.h"

#include "providers/base/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is told of entries that we are changing, or may be about to learn, waits; of more the oldest is taken for news. */
#define HEARD_MAX 1024

struct heard {
	STAILQ_ENTRY(heard) link;
	struct inode *dir;        /* pinned */
	char *name;               /* "" the root itself, then `dir` is the root */
	struct watch_event event; /* its path is our own */
	uint64_t serial;          /* answers to what was asked before it may be older */
};

/* ---- Telling ---- */

void tree_tells(struct tree *t, tree_tell tell, void *context)
{
	t->tell = tell;
	t->tell_context = context;
}

void tell_locked(const struct tree *t, const struct tree_told *told)
{
	if (t->tell)
		t->tell(t->tell_context, told);
}

/* ---- Where it is ---- */

/* The deepest directory on the way to `path` that is known; *rest: what of the path lies beyond. */
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

/* ---- Judging ---- */

static bool is_equal(const struct attr *a, const struct attr *b)
{
	return version_of(a) == version_of(b) && a->mode == b->mode && a->nlink == b->nlink &&
		a->uid == b->uid && a->gid == b->gid;
}

/* Of what stands there by what we know, a state that is no later than the one we know. */
static bool is_echo(const struct inode *i, const struct watch_event *event)
{
	/* Contents that changed again within the tick. */
	if (event->kind == WATCH_CHANGED && !i->settled && !i->own)
		return false;
	const struct attr *known = &i->attr, *told = &event->attr;

	if (known->ctime.tv_sec != told->ctime.tv_sec)
		return known->ctime.tv_sec > told->ctime.tv_sec;
	if (known->ctime.tv_nsec != told->ctime.tv_nsec)
		return known->ctime.tv_nsec > told->ctime.tv_nsec;
	return is_equal(known, told);
}

static bool is_told_the_same(const struct dentry *d, const struct watch_event *event)
{
	return d && event->has_attr && is_same_file(&d->inode->attr, &event->attr);
}

/* Answers to what was asked before this are older. */
static void touch_locked(struct tree *t, struct inode *i)
{
	i->changed = ++t->serial;
}

/* What is told of an inode is the latest state of it. */
static void take_attr_locked(struct tree *t, struct inode *i, const struct watch_event *event)
{
	bool pages = event->kind == WATCH_CHANGED || i->attr.size != event->attr.size ||
		i->attr.mtime.tv_sec != event->attr.mtime.tv_sec ||
		i->attr.mtime.tv_nsec != event->attr.mtime.tv_nsec;

	touch_locked(t, i);
	i->attr = event->attr;
	i->settled = false;
	i->own = false;
	tell_locked(t, &(struct tree_told){ .inode = i, .pages = pages });
}

/* A name that is not what we thought, in a directory that is not what it was. */
static void doubt_name_locked(struct tree *t, struct inode *dir, const char *name, struct dentry *d)
{
	touch_locked(t, dir);
	dir->attr_until_ms = 0;
	dir->complete_until_ms = 0;
	if (d) {
		touch_locked(t, d->inode);
		d->until_ms = 0;
		d->inode->attr_until_ms = 0;
		tell_locked(t, &(struct tree_told){ .inode = d->inode, .pages = true });
	}
	tell_locked(t, &(struct tree_told){ .dir = dir, .name = (char *)name });
	tell_locked(t, &(struct tree_told){ .inode = dir });
}

/* Whether it says nothing that is not known. */
static bool is_known(const struct dentry *d, const struct watch_event *event)
{
	if (event->kind == WATCH_REMOVED)
		return !d;
	return is_told_the_same(d, event) && is_echo(d->inode, event) && !d->inode->foreseen;
}

/* A change of ours is under way, or an answer that knows more than we do: what is told can only be judged after that. */
static bool is_early(const struct inode *dir, const struct dentry *d)
{
	return dir->changing || (d ? d->inode->changing : !dir->complete);
}

static void news_locked(struct tree *t, struct inode *dir, const char *name, struct dentry *d,
	const struct watch_event *event)
{
	if (is_told_the_same(d, event))
		take_attr_locked(t, d->inode, event);
	else
		doubt_name_locked(t, dir, name, d);
	tell_locked(t, &(struct tree_told){ .event = event });
}

/* ---- What waits for the end of a change of ours ---- */

static void heard_free_locked(struct tree *t, struct heard *h)
{
	STAILQ_REMOVE(&t->heard, h, heard, link);
	t->heard_count--;
	h->dir->pins--;
	inode_rest_locked(t, h->dir);
	free((char *)h->event.path);
	free(h->name);
	free(h);
}

static struct heard *heard_find_locked(
	const struct tree *t, const struct inode *dir, const char *name)
{
	struct heard *h;

	STAILQ_FOREACH(h, &t->heard, link)
	{
		if (h->dir == dir && !strcmp(h->name, name))
			return h;
	}
	return NULL;
}

static struct heard *heard_new(struct inode *dir, const char *name, const struct watch_event *event)
{
	struct heard *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	*h = (struct heard){ .dir = dir, .name = strdup(name), .event = *event };
	h->event.path = strdup(event->path);
	if (h->name && h->event.path)
		return h;
	free(h->name);
	free((char *)h->event.path);
	free(h);
	return NULL;
}

static void judge_locked(struct tree *t, struct heard *h)
{
	struct dentry *d = dentry_find_locked(t, h->dir, h->name);

	if (!is_known(d, &h->event))
		news_locked(t, h->dir, h->name, d, &h->event);
	heard_free_locked(t, h);
}

/* Of one name the latest word counts. */
static void put_off_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event)
{
	struct heard *old = heard_find_locked(t, dir, name);
	struct heard *h = heard_new(dir, name, event);

	if (old)
		heard_free_locked(t, old);
	if (!h) {
		news_locked(t, dir, name, dentry_find_locked(t, dir, name), event);
		return;
	}
	h->serial = ++t->serial;
	dir->pins++;
	inode_wake_locked(t, dir);
	STAILQ_INSERT_TAIL(&t->heard, h, link);
	if (++t->heard_count > HEARD_MAX)
		judge_locked(t, STAILQ_FIRST(&t->heard));
}

void judge_heard_locked(struct tree *t)
{
	for (struct heard *h = STAILQ_FIRST(&t->heard), *next; h; h = next) {
		next = STAILQ_NEXT(h, link);
		if (!is_early(h->dir, dentry_find_locked(t, h->dir, h->name)))
			judge_locked(t, h);
	}
}

void judge_learned_locked(struct tree *t, struct inode *dir, const char *name, uint64_t seen)
{
	struct heard *h = heard_find_locked(t, dir, name);

	if (h && h->serial <= seen)
		heard_free_locked(t, h);
	else if (h && !is_early(dir, dentry_find_locked(t, dir, name)))
		judge_locked(t, h);
}

/* Those of names that the answer did not have are judged: they came later. */
void judge_complete_locked(struct tree *t, struct inode *dir, uint64_t seen)
{
	for (struct heard *h = STAILQ_FIRST(&t->heard), *next; h; h = next) {
		next = STAILQ_NEXT(h, link);
		if (h->dir == dir && h->serial <= seen)
			heard_free_locked(t, h);
		else if (h->dir == dir && !dir->changing)
			judge_locked(t, h);
	}
}

void heard_release_locked(struct tree *t)
{
	while (!STAILQ_EMPTY(&t->heard))
		heard_free_locked(t, STAILQ_FIRST(&t->heard));
}

/* ---- One event ---- */

/* While a change of ours in it is under way its answer brings the attributes, and what is told once more costs little. */
static void hear_root_locked(struct tree *t, const struct watch_event *event)
{
	struct inode *root = t->root;

	if (event->has_attr && !root->changing && is_echo(root, event))
		return;
	touch_locked(t, root);
	root->attr_until_ms = 0;
	tell_locked(t, &(struct tree_told){ .inode = root });
	tell_locked(t, &(struct tree_told){ .event = event });
}

static void hear_name_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event)
{
	struct dentry *d = dentry_find_locked(t, dir, name);
	bool is_silent = event->kind == WATCH_REMOVED && !dir->complete && !dir->changing;

	if (is_known(d, event) && !is_silent)
		return;
	if (is_early(dir, d))
		put_off_locked(t, dir, name, event);
	else
		news_locked(t, dir, name, d, event);
}

void tree_hear(struct tree *t, const struct watch_event *event)
{
	const char *rest;

	pthread_mutex_lock(&t->lock);
	struct inode *dir = deepest_locked(t, event->path, &rest);

	if (!*event->path) {
		hear_root_locked(t, event);
	} else if (strchr(rest, '/')) {
		/* An answer under way may be about to teach what is on the way there. */
		touch_locked(t, dir);
		tell_locked(t, &(struct tree_told){ .event = event });
	} else {
		hear_name_locked(t, dir, rest, event);
	}
	pthread_mutex_unlock(&t->lock);
}
