#include "cache/lease/walk.h"

#include "cache/lease/walk_inside.h"
#include "cache/session/session.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/*
 * An entry is about 100 bytes on the wire, 20 where they are packed. The first 4,000 cost 7 to 30
 * ms at 100 Mbit/s, less than the 40 ms of a round trip. 50,000 are a quarter of the unused inodes
 * that are kept (CACHE_IDLE_MAX).
 */
#define FIRST_ENTRIES LISTING_LARGE
#define MOST_ENTRIES  50000
/* With each step of a walk the bound grows by this factor. */
#define GROWTH 16

/*
 * This many listings for single entries are not yet a walk: one path of several names takes as
 * many.
 */
#define NEAR_STEPS 2

/* Listings, or questions for single entries, no further apart than this belong together. */
#define GAP_MS 1000

/*
 * The limits of one listing: twice the directories of 20,000 files, and a request of a few
 * milliseconds.
 */
#define STARTS_MAX       4096
#define STARTS_BYTES_MAX ((size_t)256 * 1024)

/* Listings with threads of their own. */
#define THREADS_MAX 16

/* A caller that waited this often in vain for others' listings asks by itself. */
#define JOINS_MAX 3

/*
 * Frees the listings that are over and that no caller waits for. Their threads are about to end and
 * do not take the lock again.
 */
static void reap_locked(struct walk *w)
{
	for (struct running *r = LIST_FIRST(&w->all), *next; r; r = next) {
		next = LIST_NEXT(r, link);
		if (r->is_over && LIST_EMPTY(&r->waiters))
			running_free(r);
	}
}

/* ---- The plan of a listing ---- */

static bool is_going_locked(const struct walk *w)
{
	return w->under_way || (w->steps && monotonic_ms() - w->last_ms <= GAP_MS);
}

static uint64_t bound_locked(const struct walk *w)
{
	uint64_t bound = FIRST_ENTRIES;

	for (unsigned n = 0; n < w->steps && bound < MOST_ENTRIES; n++)
		bound *= GROWTH;
	return bound < MOST_ENTRIES ? bound : MOST_ENTRIES;
}

static enum err plan_locked(struct walk *w, struct inode *dir, const char *path,
	enum walk_reach reach, struct listing_plan *plan, struct error *e)
{
	struct tree *t = w->cache->tree;
	bool alone = reach >= WALK_ALONE || tree_lists_alone(t, dir);

	if (!is_going_locked(w))
		w->steps = 0;
	bool has_others = !alone && w->steps >= (reach == WALK_NEAR ? NEAR_STEPS : 1);

	*plan = (struct listing_plan){ .depth = alone ? 1 : LIST_DEPTH_ALL,
		.entries_max = alone ? 0 : bound_locked(w),
		.takes_changing = reach == WALK_AS_IT_IS };
	enum err kind = listing_plan_first(plan, t, dir, path, has_others ? 1 + STARTS_MAX : 1, e);

	if (kind)
		return kind;
	if (has_others)
		plan->starts_count += tree_unlisted(
			t, dir, monotonic_ms(), plan->starts + 1, STARTS_MAX, STARTS_BYTES_MAX);
	w->steps += !alone;
	return ERR_OK;
}

static enum err begin_locked(struct walk *w, struct inode *dir, const char *path,
	enum walk_reach reach, struct running **out, struct error *e)
{
	struct listing_plan plan;
	struct running *r;

	reap_locked(w);
	enum err kind = plan_locked(w, dir, path, reach, &plan, e);

	if (!kind)
		kind = running_new(&r, w, &plan, e);
	if (kind)
		return kind;

	LIST_INSERT_HEAD(&w->all, r, link);
	w->under_way++;
	if (w->under_way <= THREADS_MAX)
		running_start(r);
	*out = r;
	return ERR_OK;
}

/* ---- Waiting ---- */

static struct running *find_awaited_locked(const struct walk *w, const struct inode *dir)
{
	uint32_t number = tree_awaited(w->cache->tree, dir);
	struct running *r;

	LIST_FOREACH(r, &w->all, link)
	{
		if (number && r->number == number && !r->is_over)
			return r;
	}
	return NULL;
}

/* A listing that streams on makes progress, also where it has not come to this directory. */
static enum err wait_for(
	struct running *r, const struct waiter *x, const struct call *call, struct error *e)
{
	int64_t moved_ms;
	enum err kind;

	do {
		moved_ms = r->listing.moved_ms;
		call_moved_at(call, moved_ms);
		kind = call_wait_fd(call, x->fd, POLLIN, e);
	} while (kind == ERR_TIMEOUT && r->listing.moved_ms > moved_ms);
	return kind;
}

static void leave(struct walk *w, struct waiter *x)
{
	pthread_mutex_lock(&w->lock);
	LIST_REMOVE(x, link);
	pthread_mutex_unlock(&w->lock);
}

/* One listing that a reader wants or shares. */
struct sharing {
	struct running *running; /* NULL: the directory is listed by now */
	bool is_own;
	struct waiter waiter;
};

static enum err enter_locked(struct walk *w, struct inode *dir, const char *path,
	enum walk_reach reach, bool may_join, struct sharing *s, struct error *e)
{
	s->running = may_join ? find_awaited_locked(w, dir) : NULL;
	s->is_own = !s->running;
	if (may_join && s->is_own && tree_is_listed(w->cache->tree, dir, monotonic_ms()))
		return ERR_OK;
	enum err kind = s->is_own ? begin_locked(w, dir, path, reach, &s->running, e) : ERR_OK;

	if (!kind)
		LIST_INSERT_HEAD(&s->running->waiters, &s->waiter, link);
	return kind;
}

static enum err take_part(struct walk *w, const struct call *call, struct inode *dir,
	const char *path, enum walk_reach reach, bool may_join, struct sharing *s, struct error *e)
{
	AUTO_CLOSE int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	*s = (struct sharing){ .waiter = { .dir = dir, .fd = fd } };
	if (fd < 0)
		return error_errno(e, errno, "eventfd");
	pthread_mutex_lock(&w->lock);
	enum err kind = enter_locked(w, dir, path, reach, may_join, s, e);

	pthread_mutex_unlock(&w->lock);
	if (kind || !s->running)
		return kind;
	if (s->is_own && !s->running->has_thread)
		running_run(s->running, call);
	kind = wait_for(s->running, &s->waiter, call, e);
	leave(w, &s->waiter);
	return kind;
}

/*
 * Whether answers stay valid. Else every question goes to the sandbox, and no earlier answer will
 * do.
 */
static bool believes(const struct walk *w)
{
	return w->cache->options.attr_ms && w->cache->options.entry_ms;
}

/*
 * The answer to another caller may be about a path that leads elsewhere by now, or may have been
 * cancelled by that caller.
 */
static bool must_ask_again(const struct sharing *s)
{
	const struct waiter *x = &s->waiter;

	if (s->is_own || !s->running)
		return false;
	if (x->has_outcome)
		return cache_may_be_lost(x->outcome.err);
	return !x->error.kind || x->error.kind == ERR_INTERRUPTED;
}

enum err walk_list(struct walk *w, const struct call *call, struct inode *dir, const char *path,
	enum walk_reach reach, bool *complete, struct error *e)
{
	struct sharing s;
	int joins = reach == WALK_AS_IT_IS || !believes(w) ? JOINS_MAX : 0;

	do {
		*complete =
			joins < JOINS_MAX && tree_is_listed(w->cache->tree, dir, monotonic_ms());
		if (*complete)
			return ERR_OK;
		enum err kind = take_part(w, call, dir, path, reach, joins++ < JOINS_MAX, &s, e);

		if (kind)
			return kind;
	} while (must_ask_again(&s));

	const struct waiter *x = &s.waiter;

	*complete = !s.running || (x->has_outcome && x->outcome.complete);
	if (x->has_outcome && x->outcome.err)
		return error_set(e, x->outcome.err, "%s: %s", path, error_words(x->outcome.err));
	if (!x->has_outcome && x->error.kind)
		return error_set(e, x->error.kind, "%s", x->error.text);
	return ERR_OK;
}

void walk_open(struct walk *w)
{
	struct error e = { 0 };
	struct running *r;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	if (begin_locked(w, tree_root(w->cache->tree), "", WALK_FAR, &r, &e))
		log_debug(LOG_CACHE, "nothing is listed before it is asked for: %s", e.text);
	pthread_mutex_unlock(&w->lock);
}

const struct list_request *walk_opening(void)
{
	static const char *const root[] = { "" };
	static const struct list_request list = { .starts = root,
		.starts_count = 1,
		.depth = LIST_DEPTH_ALL,
		.entries_max = FIRST_ENTRIES };

	return &list;
}

void walk_goes_on(struct walk *w)
{
	pthread_mutex_lock(&w->lock);
	if (is_going_locked(w))
		w->last_ms = monotonic_ms();
	pthread_mutex_unlock(&w->lock);
}

void walk_announce(struct walk *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	if (!is_going_locked(w) || w->steps < NEAR_STEPS)
		w->steps = NEAR_STEPS;
	w->last_ms = monotonic_ms();
	pthread_mutex_unlock(&w->lock);
}

bool walk_is_due(struct walk *w, struct inode *dir)
{
	struct tree *t = w->cache->tree;
	int64_t now_ms = monotonic_ms();
	uint64_t inodes, names;

	/* In a directory that is valid only the one entry is invalid. */
	if (!believes(w) || tree_is_listed(t, dir, now_ms))
		return false;
	if (tree_awaited(t, dir))
		return true;
	if (tree_lists_alone(t, dir) && !tree_was_complete(t, dir))
		return false;
	tree_counts(t, &inodes, &names);
	pthread_mutex_lock(&w->lock);
	bool is_going = is_going_locked(w) && tree_was_listed(t, dir);

	pthread_mutex_unlock(&w->lock);
	bool is_repeated = tree_asked_alone(t, dir, now_ms) <= GAP_MS;

	return is_going || is_repeated || !names;
}

/* ---- Life ---- */

enum err walk_new(struct walk **out, struct cache *c, struct error *e)
{
	AUTO_FREE struct walk *w = calloc(1, sizeof *w);

	if (!w)
		return error_set(e, ERR_NO_MEMORY, "cache");
	w->cache = c;
	LIST_INIT(&w->all);
	enum err kind = cancel_init(&w->cancel, e);

	if (kind)
		return kind;
	pthread_mutex_init(&w->lock, NULL);
	*out = take(w);
	return ERR_OK;
}

void walk_free(struct walk *w)
{
	struct running *r;

	if (!w)
		return;
	cancel_throw(&w->cancel);
	while ((r = LIST_FIRST(&w->all)))
		running_free(r);
	cancel_release(&w->cancel);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
