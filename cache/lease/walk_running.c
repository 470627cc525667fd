/*
 * A listing while it is under way: its waiters, and its thread.
 */
#include "cache/lease/walk_inside.h"

#include "cache/lease/walk.h"
#include "cache/session/session.h"

#include "providers/base/cleanup.h"
#include "providers/base/thread.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>

static void wake(struct waiter *x)
{
	eventfd_write(x->fd, 1);
}

static void on_listed(void *context, const struct inode *dir, const struct listing_outcome *outcome)
{
	struct running *r = context;
	struct waiter *x;

	pthread_mutex_lock(&r->walk->lock);
	LIST_FOREACH(x, &r->waiters, link)
	{
		if (x->dir == dir && !x->has_outcome) {
			x->has_outcome = true;
			x->outcome = *outcome;
			wake(x);
		}
	}
	pthread_mutex_unlock(&r->walk->lock);
}

static void end_running(struct running *r, const struct error *error)
{
	struct walk *w = r->walk;
	struct waiter *x;

	pthread_mutex_lock(&w->lock);
	r->is_over = true;
	w->under_way--;
	w->last_ms = monotonic_ms();
	LIST_FOREACH(x, &r->waiters, link)
	{
		x->error = *error;
		wake(x);
	}
	pthread_mutex_unlock(&w->lock);
}

/*
 * The tree is held until the listing is over, so that nothing it taught is forgotten before it is
 * used.
 */
void running_run(struct running *r, const struct call *call)
{
	struct tree *t = r->walk->cache->tree;
	struct error error = { 0 };

	tree_hold(t);
	listing_run(&r->listing, call, &error);
	listing_release(&r->listing);
	end_running(r, &error);
	tree_release(t);
}

static void *run_in_thread(void *context)
{
	struct running *r = context;
	const struct call call = { .progress_ms = cache_progress_ms(r->walk->cache),
		.cancel = &r->walk->cancel,
		.progress = &r->progress };

	running_run(r, &call);
	return NULL;
}

enum err running_new(
	struct running **out, struct walk *w, struct listing_plan *plan, struct error *e)
{
	AUTO_FREE struct running *r = calloc(1, sizeof *r);

	if (!r) {
		listing_plan_release(plan, w->cache->tree);
		return error_set(e, ERR_NO_MEMORY, "listing");
	}
	r->walk = w;
	r->progress = progress_now();
	LIST_INIT(&r->waiters);
	enum err kind = listing_init(&r->listing, w->cache, plan, on_listed, r, e);

	r->number = r->listing.learned.number;
	if (kind)
		listing_release(&r->listing);
	else
		*out = take(r);
	return kind;
}

void running_start(struct running *r)
{
	r->has_thread = !thread_start(&r->thread, run_in_thread, r);
}

void running_free(struct running *r)
{
	LIST_REMOVE(r, link);
	if (r->has_thread)
		pthread_join(r->thread, NULL);
	free(r);
}

/* ---- Waiting for any listing ---- */

static bool enter_any(struct walk *w, struct waiter *x)
{
	struct running *r;

	pthread_mutex_lock(&w->lock);
	for (r = LIST_FIRST(&w->all); r && r->is_over; r = LIST_NEXT(r, link))
		;
	if (r)
		LIST_INSERT_HEAD(&r->waiters, x, link);
	pthread_mutex_unlock(&w->lock);
	return r;
}

void walk_wait_idle(struct walk *w, const struct call *call, int64_t limit_ms)
{
	const struct call brief = { .progress_ms = limit_ms, .cancel = call ? call->cancel : NULL };
	AUTO_CLOSE int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct waiter x = { .fd = fd };

	if (fd < 0 || !enter_any(w, &x))
		return;
	call_wait_fd(&brief, fd, POLLIN, NULL);
	pthread_mutex_lock(&w->lock);
	LIST_REMOVE(&x, link);
	pthread_mutex_unlock(&w->lock);
}
