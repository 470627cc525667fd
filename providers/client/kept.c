/*
 * Requests to a helper that serves while there are requests. The first one starts the helper, all
 * share it, and it is released when no request has come for a while. A helper whose stream broke,
 * or that fell silent, is left to the requests that still wait for it; the next request starts
 * another. Where the writes of a stream cost requests, and a large one takes long, small ones have
 * a second helper: nothing passes what one write has taken.
 */
#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/thread.h"
#include "providers/client/transport.h"

#include <pthread.h>
#include <time.h>

/* One helper, from its start to its end. */
struct session {
	struct helper_transport *stream;
	unsigned users;         /* lock */
	unsigned large;         /* lock; users whose request or answer is large */
	int64_t large_since_ms; /* lock; time since which there is such a user */
	int64_t idle_since_ms;  /* lock; time since which there is no user */
};

enum lane { LANE_FIRST, LANE_ASIDE, LANES };

struct kept_transport {
	struct helper_transport base;
	struct helper_keeper keeper;
	pthread_t thread;         /* releases a helper that is idle */
	pthread_mutex_t starting; /* held while a helper is started */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned starts;                /* lock; number of starts that are over */
	struct error failure;           /* lock; of the last start */
	struct session *current[LANES]; /* lock; NULL: none runs */
	bool is_closing;                /* lock */
};

static void session_free(struct session *s)
{
	if (s && s->stream)
		s->stream->free(s->stream);
	free(s);
}

/* The time between two looks whether another request is so far, in ms. */
#define LOOK_MS 20
/* A quarter of a second at 2 Mbit/s, as in outgoing.c. */
#define LARGE_MIN ((size_t)64 * 1024)
/*
 * The time that a small request waits for large ones, in ms: on a fast link one is over sooner than
 * a second helper is started.
 */
#define ASIDE_AFTER_MS 1000

/* ---- Starting a helper ---- */

/* *is_stillborn: the helper was started, and hung up. */
static enum err start(struct kept_transport *t, const struct call *call, struct session **out,
	bool *is_stillborn, struct error *e)
{
	struct session *s = calloc(1, sizeof *s);
	/* A request may be silent for hours; a start may not. */
	struct call brief = call ? *call : (struct call){ 0 };
	struct hello hello;
	int fd;
	enum err kind;

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "the helper's client");
	if (brief.progress_ms < 0)
		brief.progress_ms = CALL_PROGRESS_MS;
	kind = t->keeper.start(t->keeper.context, &brief, &fd, e);
	if (kind == ERR_OK)
		kind = helper_stream_new(&s->stream, fd, fd, t->keeper.costs_requests, e);
	if (kind == ERR_OK) {
		kind = helper_say_hello(s->stream, &brief, &hello, e);
		*is_stillborn = kind == ERR_UNREACHABLE;
	}
	if (kind != ERR_OK)
		session_free(s);
	else
		*out = s;
	return kind;
}

static enum err start_or_mend(
	struct kept_transport *t, const struct call *call, struct session **out, struct error *e)
{
	struct error why = { 0 };
	bool is_stillborn = false;
	enum err kind = start(t, call, out, &is_stillborn, &why);

	if (is_stillborn) {
		kind = t->keeper.mend(t->keeper.context, call, e);
		return kind == ERR_OK ? start(t, call, out, &is_stillborn, e) : kind;
	}
	return kind == ERR_OK ? ERR_OK : error_set(e, kind, "%s", why.text);
}

/* ---- Sharing a helper ---- */

/* A broken helper is left to its users. */
static struct session *use_current(struct kept_transport *t, enum lane lane)
{
	struct session *s, *idle = NULL;

	pthread_mutex_lock(&t->lock);
	s = t->current[lane];
	if (s && s->stream->is_broken(s->stream)) {
		idle = s->users ? NULL : s;
		s = t->current[lane] = NULL;
	}
	if (s)
		s->users++;
	pthread_mutex_unlock(&t->lock);
	session_free(idle);
	return s;
}

/* The result is also for the requests that waited for the start. `s` NULL: the start failed. */
static void publish(
	struct kept_transport *t, enum lane lane, struct session *s, const struct error *why)
{
	pthread_mutex_lock(&t->lock);
	t->starts++;
	t->failure = *why;
	t->current[lane] = s;
	if (s)
		s->users++;
	pthread_mutex_unlock(&t->lock);
}

static unsigned starts_so_far(struct kept_transport *t, struct error *failure)
{
	unsigned starts;

	pthread_mutex_lock(&t->lock);
	starts = t->starts;
	if (failure)
		*failure = t->failure;
	pthread_mutex_unlock(&t->lock);
	return starts;
}

/* The call that started may have been cancelled, or have had less time than this one. */
static bool may_start_anew(const struct call *call, enum err failure)
{
	return failure == ERR_INTERRUPTED ||
		(failure == ERR_TIMEOUT && call && call->progress && call_left_ms(call) > 0);
}

/*
 * A request that waited for a start that failed gets its error: if each tried anew, all would have
 * to wait.
 */
static enum err get_started(struct kept_transport *t, enum lane lane, const struct call *call,
	unsigned seen, struct session **out, struct error *e)
{
	struct error why = { 0 };

	*out = use_current(t, lane);
	if (*out)
		return ERR_OK;
	if (starts_so_far(t, &why) == seen || why.kind == ERR_OK ||
		may_start_anew(call, why.kind)) {
		why = (struct error){ 0 };
		start_or_mend(t, call, out, &why);
		publish(t, lane, *out, &why);
	}
	return why.kind == ERR_OK ? ERR_OK : error_set(e, why.kind, "%s", why.text);
}

/* Another request may take all of its time for a start. */
static enum err lock_starting(struct kept_transport *t, const struct call *call, struct error *e)
{
	enum err kind = ERR_OK;

	while (kind == ERR_OK && pthread_mutex_trylock(&t->starting))
		kind = call_sleep(call, LOOK_MS, e);
	return kind;
}

static enum err get(struct kept_transport *t, enum lane lane, const struct call *call,
	struct session **out, struct error *e)
{
	unsigned seen = starts_so_far(t, NULL);
	enum err kind;

	*out = use_current(t, lane);
	if (*out)
		return ERR_OK;
	kind = lock_starting(t, call, e);
	if (kind != ERR_OK)
		return kind;
	kind = get_started(t, lane, call, seen, out, e);
	pthread_mutex_unlock(&t->starting);
	return kind;
}

static bool is_current_locked(const struct kept_transport *t, const struct session *s)
{
	return s == t->current[LANE_FIRST] || s == t->current[LANE_ASIDE];
}

static void put(struct kept_transport *t, struct session *s, bool is_large)
{
	bool is_left;

	pthread_mutex_lock(&t->lock);
	is_left = --s->users == 0 && !is_current_locked(t, s);
	s->large -= is_large;
	s->idle_since_ms = monotonic_ms();
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (is_left)
		session_free(s);
}

/*
 * A stream can be dead without being broken. A helper that sent no byte in a request's whole time
 * is left to its users.
 */
static void leave_if_mute(struct kept_transport *t, const struct session *s, int64_t asked_ms)
{
	if (s->stream->received_ms(s->stream) > asked_ms)
		return;
	pthread_mutex_lock(&t->lock);
	for (enum lane lane = 0; lane < LANES; lane++)
		if (t->current[lane] == s)
			t->current[lane] = NULL;
	pthread_mutex_unlock(&t->lock);
}

/* ---- Large requests ---- */

static void note_large(struct kept_transport *t, struct session *s)
{
	pthread_mutex_lock(&t->lock);
	if (!s->large++)
		s->large_since_ms = monotonic_ms();
	pthread_mutex_unlock(&t->lock);
}

/*
 * Whether the first helper is free for a small request, which waits since `since_ms`. *lane: where
 * the request goes otherwise.
 */
static bool is_first_free(struct kept_transport *t, int64_t since_ms, enum lane *lane)
{
	const struct session *s;
	bool is_free;

	pthread_mutex_lock(&t->lock);
	s = t->current[LANE_FIRST];
	is_free = !s || !s->large || !t->keeper.costs_requests;
	if (!is_free && s->large_since_ms < since_ms)
		since_ms = s->large_since_ms;
	if (!is_free && (t->current[LANE_ASIDE] || monotonic_ms() - since_ms >= ASIDE_AFTER_MS))
		*lane = LANE_ASIDE;
	pthread_mutex_unlock(&t->lock);
	return is_free;
}

static enum err choose_lane(struct kept_transport *t, const struct call *call, bool is_large,
	enum lane *lane, struct error *e)
{
	const int64_t since_ms = monotonic_ms();
	enum err kind = ERR_OK;

	*lane = LANE_FIRST;
	while (kind == ERR_OK && !is_large && !is_first_free(t, since_ms, lane) &&
		*lane == LANE_FIRST)
		kind = call_sleep(call, LOOK_MS, e);
	return kind;
}

/* The first helper serves where there cannot be a second, only later. */
static enum err get_chosen(struct kept_transport *t, enum lane lane, const struct call *call,
	struct session **out, struct error *e)
{
	struct error why = { 0 };
	enum err kind = lane == LANE_ASIDE ? get(t, LANE_ASIDE, call, out, &why) : ERR_OK;

	if (lane == LANE_FIRST || (kind && kind != ERR_TIMEOUT && kind != ERR_INTERRUPTED))
		return get(t, LANE_FIRST, call, out, e);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err ask(struct helper_transport *base, const struct call *call, enum frame_type type,
	struct buf *payload, const struct listener *listener, struct error *e)
{
	struct kept_transport *t = (struct kept_transport *)base;
	bool is_large = payload->len > LARGE_MIN || listener->answer_is_bulk;
	struct session *s;
	enum lane lane;
	enum err kind = choose_lane(t, call, is_large, &lane, e);

	if (kind == ERR_OK)
		kind = get_chosen(t, lane, call, &s, e);
	if (kind != ERR_OK)
		return kind;

	int64_t asked_ms = monotonic_ms();

	if (is_large)
		note_large(t, s);
	kind = s->stream->ask(s->stream, call, type, payload, listener, e);
	if (kind == ERR_TIMEOUT)
		leave_if_mute(t, s, asked_ms);
	put(t, s, is_large);
	return kind;
}

/* ---- Releasing a helper ---- */

/* *end_ms: when a helper has been idle for long enough; INT64_MAX: none is idle. */
static struct session *take_idle_locked(struct kept_transport *t, int64_t *end_ms)
{
	*end_ms = INT64_MAX;
	for (enum lane lane = 0; lane < LANES; lane++) {
		struct session *s = t->current[lane];
		int64_t its_end_ms = s ? s->idle_since_ms + t->keeper.idle_ms : 0;

		if (!s || s->users)
			continue;
		if (monotonic_ms() >= its_end_ms) {
			t->current[lane] = NULL;
			return s;
		}
		if (its_end_ms < *end_ms)
			*end_ms = its_end_ms;
	}
	return NULL;
}

/*
 * Returns a helper that has been idle for long enough, once it is; NULL: the transport closes. With
 * the lock held.
 */
static struct session *await_idle_locked(struct kept_transport *t)
{
	while (!t->is_closing) {
		int64_t end_ms;
		struct session *s = take_idle_locked(t, &end_ms);

		if (s)
			return s;
		if (end_ms == INT64_MAX)
			pthread_cond_wait(&t->changed, &t->lock);
		else
			condition_wait_until(&t->changed, &t->lock, end_ms);
	}
	return NULL;
}

static void *let_go(void *context)
{
	struct kept_transport *t = context;
	struct session *idle;

	do {
		pthread_mutex_lock(&t->lock);
		idle = await_idle_locked(t);
		pthread_mutex_unlock(&t->lock);
		session_free(idle);
	} while (idle);
	return NULL;
}

static void kept_free(struct helper_transport *base)
{
	struct kept_transport *t = (struct kept_transport *)base;

	pthread_mutex_lock(&t->lock);
	t->is_closing = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	for (enum lane lane = 0; lane < LANES; lane++)
		session_free(t->current[lane]);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->starting);
	pthread_cond_destroy(&t->changed);
	free(t);
}

/* ---- Life of the transport ---- */

enum err helper_kept_new(
	struct helper_transport **out, const struct helper_keeper *keeper, struct error *e)
{
	struct kept_transport *t = calloc(1, sizeof *t);

	if (!t)
		return error_set(e, ERR_NO_MEMORY, "the helper's client");
	*t = (struct kept_transport){ .base = { .ask = ask, .free = kept_free },
		.keeper = *keeper };
	pthread_mutex_init(&t->starting, NULL);
	pthread_mutex_init(&t->lock, NULL);
	condition_init(&t->changed);
	if (thread_start(&t->thread, let_go, t)) {
		free(t);
		return error_set(e, ERR_NO_MEMORY, "the helper's client");
	}
	*out = &t->base;
	return ERR_OK;
}
