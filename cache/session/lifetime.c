#include "cache/session/lifetime.h"

#include "providers/base/condition.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* The time where -o lifetime= is not given: sandboxfs-providers(7) names it. */
#define DEFAULT_S 300
/* The pause after a renewal that failed. */
#define AGAIN_MS 5000

struct lifetime {
	struct counted_provider provider;
	int64_t wanted_s, used_for_ms, progress_ms;
	bool (*is_pending)(void *context);
	void *context; /* the argument of is_pending */
	pthread_t thread;
	struct cancel cancel;
	_Atomic int64_t used_ms; /* monotonic, like the times below */
	_Atomic int holders;
	atomic_bool is_asleep; /* a renewal is due and waits for use */
	pthread_mutex_t lock;  /* guards what follows */
	pthread_cond_t moved;
	int64_t ends_ms, renew_ms;
	bool is_over;    /* there is nothing to renew any more */
	bool has_looked; /* the state of the sandbox at its end was looked up */
	bool has_failed; /* the last renewal failed, and that was logged */
};

/* ---- When ---- */

static void set_end(struct lifetime *l, int64_t left_s)
{
	int64_t now_ms = monotonic_ms();

	l->ends_ms = now_ms + left_s * 1000;
	l->renew_ms = now_ms + left_s * 1000 / 2;
	l->has_looked = false;
}

static bool is_used(struct lifetime *l)
{
	return atomic_load(&l->holders) > 0 ||
		monotonic_ms() - atomic_load(&l->used_ms) < l->used_for_ms ||
		(l->is_pending && l->is_pending(l->context));
}

static void wait_until(struct lifetime *l, int64_t until_ms)
{
	condition_wait_until(&l->moved, &l->lock, until_ms);
}

static bool is_to_look(const struct lifetime *l)
{
	return !l->has_looked && monotonic_ms() >= l->ends_ms;
}

/*
 * Returns, with the lock, when a renewal is due and the mount in use, or when the sandbox is at its
 * end; false: the thread is to end.
 */
static bool wait_for_turn(struct lifetime *l)
{
	while (!l->is_over) {
		bool is_due = monotonic_ms() >= l->renew_ms;

		atomic_store(&l->is_asleep, is_due);
		if ((is_due && is_used(l)) || is_to_look(l))
			break;
		if (is_due && l->has_looked)
			pthread_cond_wait(&l->moved, &l->lock);
		else
			wait_until(l, is_due ? l->ends_ms : l->renew_ms);
	}
	atomic_store(&l->is_asleep, false);
	return !l->is_over;
}

/* ---- Renewing ---- */

static enum err renew(struct lifetime *l, int64_t *left_s, struct error *e)
{
	struct call call = {
		.progress_ms = l->progress_ms, .cancel = &l->cancel, .is_background = true
	};
	struct sandbox_info info = { .expires_s = -1 };
	enum err kind = counted_extend(&l->provider, &call, l->wanted_s, e);

	if (!kind)
		kind = counted_info(&l->provider, &call, &info, e);
	if (!kind)
		*left_s = info.expires_s;
	return kind;
}

static void note_failure(struct lifetime *l, const struct error *e)
{
	if (!l->has_failed)
		log_warn(LOG_CACHE, "the sandbox's time could not be extended: %s", e->text);
	l->has_failed = true;
	l->renew_ms = monotonic_ms() + AGAIN_MS;
}

static void take_renewal(struct lifetime *l, int64_t left_s)
{
	l->has_failed = false;
	if (left_s < 0)
		l->is_over = true; /* the sandbox has no end any more */
	else
		set_end(l, left_s);
	/* A vendor that does not extend the time is not asked all the time. */
	if (l->renew_ms < monotonic_ms() + AGAIN_MS && left_s < l->wanted_s / 2)
		l->renew_ms = monotonic_ms() + AGAIN_MS;
}

static void renew_in_turn(struct lifetime *l)
{
	struct error e = { 0 };
	int64_t left_s = -1;

	pthread_mutex_unlock(&l->lock);
	enum err kind = renew(l, &left_s, &e);

	pthread_mutex_lock(&l->lock);
	if (kind)
		note_failure(l, &e);
	else
		take_renewal(l, left_s);
}

/* The provider remembers a sandbox that is gone. The next use finds out any other outcome. */
static void look_in_turn(struct lifetime *l)
{
	const struct call call = {
		.progress_ms = l->progress_ms, .cancel = &l->cancel, .is_background = true
	};
	struct sandbox_info info;
	struct error e = { 0 };

	l->has_looked = true;
	pthread_mutex_unlock(&l->lock);
	enum err kind = counted_info(&l->provider, &call, &info, &e);

	pthread_mutex_lock(&l->lock);
	if (kind == ERR_GONE && provider_is_gone(l->provider.provider))
		l->is_over = true;
}

static void *keep_alive(void *context)
{
	struct lifetime *l = context;

	pthread_mutex_lock(&l->lock);
	while (wait_for_turn(l)) {
		if (is_to_look(l))
			look_in_turn(l);
		else
			renew_in_turn(l);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* ---- Use ---- */

static void wake(struct lifetime *l)
{
	pthread_mutex_lock(&l->lock);
	pthread_cond_signal(&l->moved);
	pthread_mutex_unlock(&l->lock);
}

void lifetime_used(struct lifetime *l)
{
	if (!l)
		return;
	atomic_store(&l->used_ms, monotonic_ms());
	if (atomic_load(&l->is_asleep))
		wake(l);
}

void lifetime_hold(struct lifetime *l)
{
	if (!l)
		return;
	atomic_fetch_add(&l->holders, 1);
	lifetime_used(l);
}

void lifetime_let(struct lifetime *l)
{
	if (!l)
		return;
	lifetime_used(l);
	atomic_fetch_sub(&l->holders, 1);
}

int64_t lifetime_left_s(struct lifetime *l)
{
	if (!l)
		return -1;
	pthread_mutex_lock(&l->lock);
	bool has_end = !l->is_over;
	int64_t left_ms = l->ends_ms - monotonic_ms();

	pthread_mutex_unlock(&l->lock);
	if (!has_end)
		return -1;
	return left_ms > 0 ? left_ms / 1000 : 0;
}

/* ---- Life ---- */

static void init_waiting(struct lifetime *l)
{
	condition_init(&l->moved);
	pthread_mutex_init(&l->lock, NULL);
}

static void release(struct lifetime *l)
{
	cancel_release(&l->cancel);
	pthread_cond_destroy(&l->moved);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

enum err lifetime_new(struct lifetime **out, const struct counted_provider *provider,
	const struct lifetime_options *options, struct error *e)
{
	struct lifetime *l = calloc(1, sizeof *l);
	enum err kind;
	int failure;

	if (!l)
		return error_set(e, ERR_NO_MEMORY, "the sandbox's lifetime");
	l->provider = *provider;
	l->wanted_s = options->wanted_s ? options->wanted_s : DEFAULT_S;
	l->progress_ms = options->progress_ms;
	l->is_pending = options->is_pending;
	l->context = options->context;
	l->used_for_ms = options->used_ms ? options->used_ms : LIFETIME_USED_MS;
	l->used_ms = monotonic_ms();
	set_end(l, options->left_s);
	init_waiting(l);
	kind = cancel_init(&l->cancel, e);
	failure = kind ? 0 : thread_start(&l->thread, keep_alive, l);
	if (failure)
		kind = error_errno(e, failure, "a thread for the sandbox's lifetime");
	if (kind)
		release(l);
	else
		*out = l;
	return kind;
}

void lifetime_free(struct lifetime *l)
{
	if (!l)
		return;
	cancel_throw(&l->cancel);
	pthread_mutex_lock(&l->lock);
	l->is_over = true;
	pthread_cond_signal(&l->moved);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	release(l);
}
