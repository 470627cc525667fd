#include "cache/lease/invalidate.h"
#include "cache/lease/lease_inside.h"
#include "cache/session/clocks.h"
#include "cache/session/session.h"
#include "cache/session/wait.h"
#include "cache/tree/tree.h"

#include "providers/base/condition.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* After this long without use this mount keeps nothing running in the sandbox. Design decision. */
#define IDLE_MS 60000
/* After this long without an event what is known is compared with the sandbox. Design decision. */
#define SILENCE_MS 60000
/* Use is noted, and the clocks are compared, at most once in this time. */
#define NOTE_MS 1000
/* The machine slept if one clock went on this much further than the other. */
#define SLEPT_MS 2000

static bool has_thread_locked(struct lease *l)
{
	if (!l->has_thread)
		l->has_thread = !thread_start(&l->thread, lease_run, l);
	return l->has_thread;
}

/* ---- When it ends ---- */

void lease_end_after(const struct lease *l, int64_t ms)
{
	const struct itimerspec at = { .it_value = { .tv_sec = ms / 1000,
					       .tv_nsec = ms % 1000 * 1000000 + 1 } };

	timerfd_settime(l->ends.fd, 0, &at, NULL);
}

static void stay(const struct lease *l)
{
	const struct itimerspec never = { 0 };

	timerfd_settime(l->ends.fd, 0, &never, NULL);
}

void lease_arm(const struct lease *l)
{
	int64_t idle_ms = l->cache->options.stream_idle_ms;

	if (atomic_load(&l->is_given_up))
		return;
	if (atomic_load(&l->cache->listeners) || atomic_load(&l->carries))
		stay(l);
	else
		lease_end_after(l, idle_ms ? idle_ms : IDLE_MS);
}

/* A stream may begin for a listener, too. */
void lease_listened(struct lease *l)
{
	if (!l)
		return;
	lease_arm(l);
	pthread_mutex_lock(&l->lock);
	has_thread_locked(l);
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

/* ---- Use ---- */

int64_t lease_now_ms(const struct lease *l)
{
	return clocks_awake_ms(l->cache->options.clocks);
}

/* Changes may have been missed, and the connections may be gone. */
static void give_up(struct lease *l)
{
	if (atomic_exchange(&l->is_given_up, true))
		return;
	log_debug(LOG_LEASE,
		"the change stream is given up: the connection to the sandbox failed, or this "
		"machine slept");
	lease_end_after(l, 0);
	cache_invalidate_all(l->cache);
}

static void note_sleep(struct lease *l)
{
	int64_t now_ms = clocks_slept_ms(l->cache->options.clocks);

	pthread_mutex_lock(&l->lock);
	bool has_slept = now_ms - l->slept_ms > SLEPT_MS;

	l->slept_ms = now_ms;
	pthread_mutex_unlock(&l->lock);
	if (has_slept && lease_is_live(l))
		give_up(l);
	else if (has_slept)
		cache_invalidate_all(l->cache);
}

void lease_link_failed(struct lease *l)
{
	if (lease_is_live(l))
		give_up(l);
}

void lease_received(struct lease *l)
{
	atomic_store(&l->last_received_ms, lease_now_ms(l));
}

/* Only one of the threads that use the mount at the same time invalidates. */
static void note_silence(struct lease *l, int64_t now_ms)
{
	int64_t last_received_ms = atomic_load(&l->last_received_ms);

	if (lease_is_live(l) && now_ms - last_received_ms >= SILENCE_MS &&
		atomic_compare_exchange_strong(&l->last_received_ms, &last_received_ms, now_ms)) {
		log_debug(LOG_LEASE, "the change stream was silent for too long");
		cache_invalidate_unreported(l->cache);
	}
}

void lease_used(struct lease *l)
{
	int64_t now_ms = l ? lease_now_ms(l) : 0;

	if (!l || now_ms - atomic_load(&l->used_ms) < NOTE_MS)
		return;
	atomic_store(&l->used_ms, now_ms);
	lease_arm(l);
	note_sleep(l);
	note_silence(l, now_ms);
}

bool lease_is_live(struct lease *l)
{
	return l && atomic_load(&l->state) == LEASE_LIVE;
}

bool lease_has_begun(const struct lease *l)
{
	return l && l->begun_ms;
}

enum cache_stream lease_state(struct lease *l, char *why, size_t size)
{
	enum cache_stream state = CACHE_STREAM_NONE;

	snprintf(why, size, "%s", "");
	if (!l)
		return state;
	pthread_mutex_lock(&l->lock);
	switch (atomic_load(&l->state)) {
	case LEASE_IDLE: state = l->failure.kind ? CACHE_STREAM_BROKEN : CACHE_STREAM_IDLE; break;
	case LEASE_BEGINNING: state = CACHE_STREAM_BEGINS; break;
	case LEASE_LIVE: state = CACHE_STREAM_LIVE; break;
	}
	if (state == CACHE_STREAM_BROKEN)
		snprintf(why, size, "%s", l->failure.text);
	pthread_mutex_unlock(&l->lock);
	return state;
}

/* ---- How the stream begins ---- */

static bool may_begin_locked(const struct lease *l, const struct lease_list *list)
{
	return atomic_load(&l->state) == LEASE_IDLE && !l->is_running && !l->is_stopping &&
		lease_now_ms(l) >= l->retry_ms && (list->is_audit || tree_is_bare(l->cache->tree));
}

void lease_carried_locked(struct lease *l)
{
	l->carried = NULL;
	atomic_store(&l->carries, false);
	if (!l->is_stopping)
		lease_arm(l);
}

void lease_begin_locked(struct lease *l, struct carried *c)
{
	l->carried = c;
	atomic_store(&l->carries, c);
	l->first = c ? *c->list->listing : (struct tree_listing){ 0 };
	l->is_bare = c && !c->list->is_audit;
	atomic_store(&l->is_given_up, false);
	atomic_store(&l->state, LEASE_BEGINNING);
	tree_stream_begins(l->cache->tree, &l->first);
	pthread_cond_broadcast(&l->changed);
}

/* The stream, if one began, goes on without the list, which no lease protects any more. */
static void leave_locked(struct lease *l)
{
	lease_carried_locked(l);
	tree_stream_leaves(l->cache->tree);
	if (l->is_running)
		return;
	atomic_store(&l->state, LEASE_IDLE);
	tree_stream_ends(l->cache->tree);
}

/* The sandbox still sets up watches, of many directories: a list asked for alone arrives sooner. */
static bool begins_late_locked(const struct lease *l, int64_t limit_ms)
{
	return limit_ms >= 0 && atomic_load(&l->state) == LEASE_BEGINNING && l->is_running &&
		monotonic_ms() - l->begun_ms >= limit_ms / 4;
}

static enum err await_locked(
	struct lease *l, const struct carried *c, const struct call *call, struct error *e)
{
	int64_t limit_ms = call_progress_ms(call), since_ms = call_since_ms(call);
	uint64_t received = 0;
	enum err kind = ERR_OK;

	while (!kind && !c->is_over && !begins_late_locked(l, limit_ms)) {
		kind = wait_briefly_locked(&l->changed, &l->lock, call, e);
		if (c->items != received)
			since_ms = monotonic_ms();
		else if (!kind && limit_ms >= 0 && monotonic_ms() >= since_ms + limit_ms)
			kind = error_set(e, ERR_TIMEOUT, "no progress for %lld s",
				(long long)limit_ms / 1000);
		received = c->items;
		call_moved_at(call, received ? since_ms : 0);
	}
	return c->is_over ? ERR_OK : kind;
}

/* Waits for the end of the list. false: nothing of it came. */
static bool carry_locked(struct lease *l, struct carried *c, const struct call *call,
	enum err *kind, struct error *e)
{
	lease_begin_locked(l, c);
	*kind = await_locked(l, c, call, e);
	if (!*kind && !c->is_over) {
		leave_locked(l);
		return false;
	}
	if (*kind) {
		leave_locked(l);
		if (*kind == ERR_TIMEOUT)
			lease_end_after(l, 0);
		return true;
	}
	*kind = c->kind;
	if (c->kind && c->items)
		error_set(e, c->kind, "%s", c->error.text);
	return !c->kind || c->items;
}

bool lease_carry(struct lease *l, const struct call *call, const struct lease_list *list,
	enum err *kind, struct error *e)
{
	struct carried c = { .list = list };
	bool is_carried = false;

	if (!l)
		return false;
	pthread_mutex_lock(&l->lock);
	if (may_begin_locked(l, list) && has_thread_locked(l))
		is_carried = carry_locked(l, &c, call, kind, e);
	pthread_mutex_unlock(&l->lock);
	return is_carried;
}

/* ---- Life ---- */

enum err lease_new(struct lease **out, struct cache *c, struct error *e)
{
	*out = NULL;
	if (!c->validity)
		return ERR_OK;
	struct lease *l = calloc(1, sizeof *l);

	if (!l)
		return error_set(e, ERR_NO_MEMORY, "cache");
	l->cache = c;
	l->state = LEASE_IDLE;
	l->slept_ms = clocks_slept_ms(c->options.clocks);
	l->ends.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->ends.fd < 0) {
		free(l);
		return error_errno(e, errno, "a timer");
	}
	pthread_mutex_init(&l->lock, NULL);
	condition_init(&l->changed);
	*out = l;
	return ERR_OK;
}

void lease_stop(struct lease *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->is_stopping = true;
	lease_end_after(l, 0);
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	if (l->has_thread)
		pthread_join(l->thread, NULL);
	l->has_thread = false;
}

void lease_free(struct lease *l)
{
	if (!l)
		return;
	lease_stop(l);
	cancel_release(&l->ends);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
