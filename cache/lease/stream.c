/*
 * The reports of the stream of changes, from its beginning to its end.
 */
#include "cache/lease/lease_inside.h"

#include "cache/lease/invalidate.h"
#include "cache/lease/validity.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include "providers/base/condition.h"
#include "providers/base/log.h"

#include <stdlib.h>
#include <string.h>

/*
 * The pause from a failed stream to the next one. It doubles each time, unless the stream had lived
 * for the longest pause. Every kind of failure is tried again: causes go away.
 */
#define PAUSE_FIRST_MS 1000
#define PAUSE_MAX_MS   60000
/* This many unwatched directories are worth a line in the log. */
#define UNWATCHED_MANY 64

/* ---- Reports of the stream ---- */

static void note_recovery(struct lease *l)
{
	pthread_mutex_lock(&l->lock);
	if (l->is_failure_said)
		log_warn(LOG_CACHE, "the sandbox tells of its changes again");
	l->is_failure_said = false;
	pthread_mutex_unlock(&l->lock);
}

static enum err on_ready(struct lease *l, const struct watch_event *event, struct error *e)
{
	struct cache *c = l->cache;

	if (!event->lists)
		return error_set(e, ERR_UNSUPPORTED, "the change stream brings no lists");
	tree_stream_ready(c->tree);
	log_debug(LOG_LEASE, "the change stream is live");
	atomic_store(&l->state, LEASE_LIVE);
	note_recovery(l);
	if (l->is_bare)
		validity_began(c->validity, &l->first);
	return ERR_OK;
}

static void carried_ends_locked(struct lease *l, enum err kind)
{
	if (l->carried) {
		l->carried->is_over = true;
		l->carried->kind = kind;
		lease_carried_locked(l);
	}
	pthread_cond_broadcast(&l->changed);
}

/* The lock lets a caller that no longer wants the list leave safely. */
static void on_item(struct lease *l, const struct list_item *item)
{
	pthread_mutex_lock(&l->lock);
	struct carried *c = l->carried;

	if (c) {
		enum err kind = c->list->sink(c->list->context, item, &c->error);

		c->items++;
		if (kind || item->kind == LIST_END)
			carried_ends_locked(l, kind);
	}
	pthread_mutex_unlock(&l->lock);
}

/* A few directories that the sandbox's user may not read are ordinary. */
static void note_unwatched(struct lease *l)
{
	if (l->is_unwatched_said || tree_unwatched(l->cache->tree) < UNWATCHED_MANY)
		return;
	l->is_unwatched_said = true;
	log_warn(LOG_CACHE,
		"many directories cannot be watched in the sandbox (does its kernel allow "
		"too few watches?): what is in them is asked again and again");
}

static void on_lost(struct lease *l, const char *path)
{
	struct cache *c = l->cache;

	if (*path) {
		tree_apply_unwatched(c->tree, path);
		note_unwatched(l);
	}
	if (!lease_is_live(l))
		return;
	log_debug(LOG_LEASE, "the change stream lost changes below /%s", path);
	if (!*path)
		cache_invalidate_all(c);
	cache_tell_changed(c, WATCH_LOST, path, true);
}

static enum err receive(void *context, const struct watch_event *event, struct error *e)
{
	struct lease *l = context;

	lease_received(l);
	switch (event->kind) {
	case WATCH_READY: return on_ready(l, event, e);
	case WATCH_LOST: on_lost(l, event->path); return ERR_OK;
	case WATCH_FOUND: tree_apply_watched(l->cache->tree, event->path); return ERR_OK;
	case WATCH_ITEM: on_item(l, event->item); return ERR_OK;
	default:
		if (event->has_attr)
			cache_note_clock(l->cache, &event->attr.ctime);
		tree_apply_event(l->cache->tree, event);
		/* The count grows when the tree has the change. */
		stats_add(&l->cache->stats, STATS_EVENTS, 1);
		return ERR_OK;
	}
}

/* ---- One stream ---- */

/* A copy of the request for the stream: the caller that asked for the list may have gone. */
struct copied {
	struct list_request request;
	char **starts;
};

static void copied_release(struct copied *c)
{
	for (size_t n = 0; c->starts && n < c->request.starts_count; n++)
		free(c->starts[n]);
	free(c->starts);
}

static enum err copy_request(struct copied *c, const struct list_request *from, struct error *e)
{
	*c = (struct copied){ .request = *from };
	c->starts = calloc(from->starts_count + 1, sizeof(char *));
	c->request.starts = (const char *const *)c->starts;
	for (size_t n = 0; c->starts && n < from->starts_count; n++) {
		c->starts[n] = strdup(from->starts[n]);
		if (!c->starts[n])
			return error_set(e, ERR_NO_MEMORY, "the change stream");
	}
	return c->starts ? ERR_OK : error_set(e, ERR_NO_MEMORY, "the change stream");
}

/* A stream that was ended on purpose may begin again at once. */
static void pause_locked(struct lease *l, enum err kind)
{
	int64_t now_ms = lease_now_ms(l);
	bool was_good = now_ms - l->lived_from_ms >= PAUSE_MAX_MS;

	if (kind == ERR_INTERRUPTED)
		return;
	l->pause_ms = was_good || !l->pause_ms ? PAUSE_FIRST_MS : l->pause_ms * 2;
	if (l->pause_ms > PAUSE_MAX_MS || kind == ERR_UNSUPPORTED)
		l->pause_ms = PAUSE_MAX_MS;
	l->retry_ms = now_ms + l->pause_ms;
}

/*
 * An outage is logged by cache/lease/validity.c. A stream that breaks after a long life and is
 * replaced at once needs no line either.
 */
static bool is_to_be_said_locked(const struct lease *l, bool was_live)
{
	enum err kind = l->failure.kind;

	if (cache_is_offline(kind) || cache_is_of_the_call(kind))
		return l->pause_ms > 2 * PAUSE_FIRST_MS && !tree_is_offline(l->cache->tree);
	return kind && (!was_live || l->pause_ms > PAUSE_FIRST_MS);
}

static void note_end_locked(struct lease *l, enum err kind, const struct error *why, bool was_live)
{
	l->failure = *why;
	l->failure.kind = kind == ERR_INTERRUPTED ? ERR_OK : kind ? kind : ERR_UNREACHABLE;
	if (l->is_failure_said || !is_to_be_said_locked(l, was_live))
		return;
	l->is_failure_said = true;
	log_warn(LOG_CACHE, "the sandbox does not tell of its changes, and is asked instead: %s",
		why->text);
}

/*
 * Everything valid while the state is live is invalidated after the state has changed. The tree
 * learns of the end before the caller whose list the stream carried, since that caller then asks
 * for the list alone, and the answer is to be leased. It also learns of it before another stream
 * begins.
 */
static void stream_ended(struct lease *l, enum err kind, const struct error *why)
{
	bool was_live = lease_is_live(l);
	bool is_lost = kind != ERR_INTERRUPTED || atomic_load(&l->is_given_up);

	log_debug(LOG_LEASE, "the change stream ended: %s", why->text);
	pthread_mutex_lock(&l->lock);
	atomic_store(&l->state, LEASE_IDLE);
	tree_stream_ends(l->cache->tree);
	pause_locked(l, kind);
	note_end_locked(l, kind, why, was_live);
	if (l->carried)
		l->carried->error = *why;
	carried_ends_locked(l, kind ? kind : ERR_UNREACHABLE);
	l->is_running = false;
	pthread_mutex_unlock(&l->lock);
	if (was_live && is_lost)
		stats_add(&l->cache->stats, STATS_STREAMS_LOST, 1);
	if (was_live)
		cache_invalidate_all(l->cache);
}

/* A stream for listeners alone asks for nothing but the root itself. */
static const char *const root_only = "";
static const struct list_request nothing = { .starts = &root_only, .starts_count = 1 };

static void run_stream_locked(struct lease *l)
{
	const struct call call = cache_call_of_ours(l->cache, &l->ends);
	const struct list_request *first = l->carried ? l->carried->list->request : &nothing;
	struct error why = { 0 };
	struct copied copied;
	enum err kind = copy_request(&copied, first, &why);
	struct watch_request request = { .first = &copied.request };

	memcpy(request.watcher, l->cache->options.watcher, sizeof request.watcher);
	l->is_running = true;
	l->begun_ms = monotonic_ms();
	l->lived_from_ms = lease_now_ms(l);
	lease_arm(l);
	pthread_mutex_unlock(&l->lock);
	if (!kind)
		kind = provider_watch(l->cache->provider, &call, &request, receive, l, &why);
	stream_ended(l, kind, &why);
	copied_release(&copied);
	pthread_mutex_lock(&l->lock);
}

/* There is a listener, and a stream may begin. */
static bool is_listened_locked(const struct lease *l)
{
	return atomic_load(&l->cache->listeners) && atomic_load(&l->state) == LEASE_IDLE &&
		lease_now_ms(l) >= l->retry_ms;
}

static int64_t next_look_locked(const struct lease *l)
{
	int64_t pause_ms = l->retry_ms - lease_now_ms(l);

	return monotonic_ms() + (pause_ms > 0 ? pause_ms : PAUSE_MAX_MS);
}

void *lease_run(void *lease)
{
	struct lease *l = lease;

	pthread_mutex_lock(&l->lock);
	while (!l->is_stopping) {
		if (!l->carried && is_listened_locked(l))
			lease_begin_locked(l, NULL);
		if (atomic_load(&l->state) == LEASE_BEGINNING)
			run_stream_locked(l);
		else
			condition_wait_until(&l->changed, &l->lock, next_look_locked(l));
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}
