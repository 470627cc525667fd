#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/http/exchange.h"
#include "providers/http/frame.h"
#include "providers/http/request.h"
#include "providers/http/retry.h"
#include "providers/http/url.h"

#include <string.h>

#define REDIRECTIONS_MAX 5

static int64_t last_moved_ms(const struct http_exchange *x)
{
	int64_t moved_ms = x->transfer.progress_ms;

	return moved_ms > x->since_ms ? moved_ms : x->since_ms;
}

int64_t exchange_left_ms(const struct http_exchange *x, const struct call *call)
{
	int64_t limit_ms = call_progress_ms(call);

	return limit_ms < 0 ? INT64_MAX : last_moved_ms(x) + limit_ms - monotonic_ms();
}

static enum err follow(struct http_exchange *x, struct error *e)
{
	struct transfer *t = &x->transfer;
	bool was_plain = url_is_plain(t->url);
	enum err kind = http_check_reach(x->client, t->outcome.redirect, e);

	if (kind != ERR_OK)
		return kind;
	if (++x->redirections > REDIRECTIONS_MAX)
		return error_set(e, ERR_PROTOCOL, "%s: more than %d redirections", t->shown,
			REDIRECTIONS_MAX);
	if (!was_plain && url_is_plain(t->outcome.redirect))
		return error_set(e, ERR_INVALID, "%s: redirected from https to http", t->shown);
	kind = exchange_set_url(x, take(t->outcome.redirect), e);
	if (kind != ERR_OK)
		return kind;
	t->headers = http_same_origin(x->origin, t->url) ? x->headers : x->open_headers;
	exchange_start(x);
	return ERR_OK;
}

bool exchange_may_follow(const struct http_exchange *x)
{
	const struct outcome *o = &x->transfer.outcome;

	if (o->failure.kind != ERR_OK || !o->redirect)
		return false;
	return x->transfer.flags & HTTP_FOLLOW ||
		(retry_wants_redirect(x->transfer.flags, o->status) &&
			http_same_origin(x->transfer.url, o->redirect));
}

static bool may_repeat(const struct http_exchange *x)
{
	const struct outcome *o = &x->transfer.outcome;
	unsigned most = retry_is_lock(x->transfer.flags, o->status) ? RETRY_LOCK_MAX : RETRY_MAX;

	if (x->has_given)
		return false;
	if (o->failure.kind == ERR_OK && retry_is_lasting(x->transfer.flags, o->status))
		return true;
	if (x->repetitions >= most || (o->is_foreign && o->status == 413))
		return false;
	if (o->failure.kind == ERR_OK || (o->is_foreign && o->status == 429))
		return retry_wants_status(x->transfer.flags, o->status, o->wish);
	return o->failure.kind == ERR_UNREACHABLE &&
		(x->transfer.flags & HTTP_REPEATABLE || !o->was_sent);
}

/*
 * Waits before the request is sent again. If the wait would pass the deadline, the answer, or the
 * failure, is final.
 */
static enum err repeat(struct http_exchange *x, const struct call *call, struct error *e)
{
	const struct outcome *o = &x->transfer.outcome;
	bool is_lock = retry_is_lock(x->transfer.flags, o->status);
	int64_t pause_ms = retry_pause_ms(x->repetitions, is_lock, o->retry_after_ms);
	struct call pause = { .progress_ms = pause_ms, .cancel = call ? call->cancel : NULL };
	enum err kind = ERR_TIMEOUT;

	if (pause_ms >= exchange_left_ms(x, call)) {
		x->is_final = true;
		return ERR_OK;
	}
	/* Only a kept connection was at fault, not the server: no pause. */
	if (!o->was_stale)
		kind = call_wait_fd(&pause, -1, 0, e);
	if (kind != ERR_TIMEOUT)
		return kind;
	x->repetitions++;
	/*
	 * Where the server closes one connection after another, the last repetition uses a new one.
	 */
	x->transfer.is_fresh = o->was_stale && x->repetitions == RETRY_MAX;
	x->since_ms = last_moved_ms(x);
	exchange_start(x);
	return ERR_OK;
}

static void log_outcome(const struct http_exchange *x)
{
	const struct transfer *t = &x->transfer;
	const struct outcome *o = &t->outcome;

	if (o->failure.kind == ERR_OK)
		log_debug(LOG_HTTP, "%s %s: %d, %lld bytes, %lld ms", request_method(t->method),
			t->shown, o->status, (long long)o->received, (long long)o->took_ms);
	else
		log_debug(LOG_HTTP, "%s, %lld bytes, %lld ms", o->failure.text,
			(long long)o->received, (long long)o->took_ms);
}

/*
 * Whether the server did nothing. A foreign answer shows that only with 429: its sender counts the
 * requests and has not passed this one on.
 */
static bool is_undone(const struct transfer *t)
{
	int status = t->outcome.status;

	return retry_is_undone(t->flags, status) && (!t->outcome.is_foreign || status == 429);
}

enum err exchange_conclude(struct http_exchange *x, const struct call *call, struct error *e)
{
	struct transfer *t = &x->transfer;
	const struct outcome *o = &t->outcome;

	frame_conclude(x, call);
	x->may_have_arrived |= o->was_sent && !is_undone(t);
	t->is_sent = false;
	log_outcome(x);
	if (exchange_may_follow(x))
		return follow(x, e);
	if (may_repeat(x))
		return repeat(x, call, e);
	x->is_final = true;
	return ERR_OK;
}
