#include "fs/deferred.h"

#include "fs/caller.h"
#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

/*
 * The kernel reports an interrupt once per request. The reported signal may be no reason to stop,
 * and one that is may follow later. So the pending signals are looked at repeatedly while a request
 * waits.
 */
#define LOOK_MS 200
/*
 * Time after a cancel: long enough for work that returns at once to give its own answer. Together
 * with LOOK_MS less than a second.
 */
#define GRACE_MS 500

struct deferred {
	struct deferrals *all;
	const struct deferred_work *work;
	void *context;
	fuse_req_t req;
	struct cancel cancel;
	LIST_ENTRY(deferred) link; /* under all->lock, as all fields below */
	pthread_cond_t changed;
	bool ended;
	unsigned threads; /* threads that use this */
};

struct deferrals {
	pthread_mutex_t lock;
	pthread_cond_t emptied;
	LIST_HEAD(deferred_list, deferred) list;
	bool stopping;
};

enum err deferrals_new(struct deferrals **out, struct error *e)
{
	struct deferrals *all = calloc(1, sizeof *all);

	if (!all)
		return error_set(e, ERR_NO_MEMORY, "control directory: out of memory");
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->emptied, NULL);
	LIST_INIT(&all->list);
	*out = all;
	return ERR_OK;
}

void deferrals_stop(struct deferrals *all)
{
	pthread_mutex_lock(&all->lock);
	all->stopping = true;
	for (struct deferred *d = LIST_FIRST(&all->list); d; d = LIST_NEXT(d, link))
		cancel_throw(&d->cancel);
	while (!LIST_EMPTY(&all->list))
		pthread_cond_wait(&all->emptied, &all->lock);
	pthread_mutex_unlock(&all->lock);
}

void deferrals_free(struct deferrals *all)
{
	if (!all)
		return;
	pthread_cond_destroy(&all->emptied);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static void forget_locked(struct deferred *d)
{
	struct deferrals *all = d->all;

	LIST_REMOVE(d, link);
	cancel_release(&d->cancel);
	pthread_cond_destroy(&d->changed);
	free(d);
	if (LIST_EMPTY(&all->list))
		pthread_cond_broadcast(&all->emptied);
}

static enum err deferred_new(struct deferred **out, struct deferrals *all,
	const struct deferred_work *work, void *context, fuse_req_t req, struct error *e)
{
	AUTO_FREE struct deferred *d = calloc(1, sizeof *d);
	enum err kind;

	if (!d)
		return error_set(e, ERR_NO_MEMORY, "control directory: out of memory");
	*d = (struct deferred){
		.all = all, .work = work, .context = context, .req = req, .threads = 1
	};
	kind = cancel_init(&d->cancel, e);
	if (kind != ERR_OK)
		return kind;
	condition_init(&d->changed);
	*out = take(d);
	return ERR_OK;
}

static void leave_list(struct deferred *d)
{
	struct deferrals *all = d->all;

	pthread_mutex_lock(&all->lock);
	forget_locked(d);
	pthread_mutex_unlock(&all->lock);
}

/*
 * The last thread releases the context first: after deferrals_free() no context is in use any more.
 */
static void leave(struct deferred *d)
{
	struct deferrals *all = d->all;
	bool last;

	pthread_mutex_lock(&all->lock);
	last = --d->threads == 0;
	pthread_mutex_unlock(&all->lock);
	if (!last)
		return;
	d->work->release(d->context);
	leave_list(d);
}

static void *do_work(void *context)
{
	struct deferred *d = context;

	d->work->run(d->context, &d->cancel);
	pthread_mutex_lock(&d->all->lock);
	d->ended = true;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->all->lock);
	leave(d);
	return NULL;
}

static bool ends_within(struct deferred *d, int64_t limit_ms)
{
	int64_t end_ms = monotonic_ms() + limit_ms;
	bool in_time = true, ended;

	pthread_mutex_lock(&d->all->lock);
	while (!d->ended && in_time)
		in_time = condition_wait_until(&d->changed, &d->all->lock, end_ms);
	ended = d->ended;
	pthread_mutex_unlock(&d->all->lock);
	return ended;
}

/* Returns whether the work has ended; false: it was cancelled and still goes on. */
static bool wait_for_end(struct deferred *d, const struct caller_watch *caller)
{
	while (!ends_within(d, LOOK_MS))
		if (caller_gives_up(caller, fuse_req_interrupted(d->req))) {
			cancel_throw(&d->cancel);
			return ends_within(d, GRACE_MS);
		}
	return true;
}

static void attend_request(struct deferred *d, struct caller_watch *caller)
{
	bool ended = wait_for_end(d, caller);

	caller_watch_end(caller);
	d->work->answer(d->context, d->req, ended);
	leave(d);
}

static int start_detached(void *(*run)(void *), struct deferred *d)
{
	pthread_t thread;
	int failed = thread_start(&thread, run, d);

	if (!failed)
		pthread_detach(thread);
	return failed;
}

static void *attend_and_work(void *context)
{
	struct deferred *d = context;
	struct caller_watch caller;

	pthread_mutex_lock(&d->all->lock);
	d->threads++;
	pthread_mutex_unlock(&d->all->lock);
	/* Before the work: a process that sees the work begin may send a signal. */
	caller_watch_begin(&caller, fuse_req_ctx(d->req)->pid);
	/* Without a second thread this one does the work, and no signal is looked at meanwhile. */
	if (start_detached(do_work, d))
		do_work(d);
	attend_request(d, &caller);
	return NULL;
}

/* Whether `d` is on the list now: not once all work is being stopped. */
static bool join_list(struct deferred *d)
{
	struct deferrals *all = d->all;
	bool open;

	pthread_mutex_lock(&all->lock);
	open = !all->stopping;
	LIST_INSERT_HEAD(&all->list, d, link);
	if (!open)
		forget_locked(d);
	pthread_mutex_unlock(&all->lock);
	return open;
}

enum err deferred_start(struct deferrals *all, const struct deferred_work *work, void *context,
	fuse_req_t req, struct error *e)
{
	struct deferred *d = NULL;
	int failed;
	enum err kind = deferred_new(&d, all, work, context, req, e);

	if (kind != ERR_OK)
		return kind;
	if (!join_list(d))
		return error_set(e, ERR_GONE, "the mount is ending");
	failed = start_detached(req ? attend_and_work : do_work, d);
	if (!failed)
		return ERR_OK;
	leave_list(d);
	return error_errno(e, failed, "control directory: no thread");
}
