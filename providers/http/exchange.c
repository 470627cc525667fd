#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/http/client.h"
#include "providers/http/request.h"
#include "providers/http/retry.h"
#include "providers/http/secrets.h"
#include "providers/http/url.h"

#include <poll.h>
#include <string.h>

#define REDIRECTIONS_MAX 5
/* Of a body from a source, handed on at once: one waits to be sent while the next is made. */
#define UPLOAD_PIECE ((size_t)256 * 1024)

struct http_exchange {
	struct http *client;
	struct transfer transfer;

	/* All that follow: the reader's. */
	struct curl_slist *headers,
		*open_headers; /* the second without secrets; NULL: not needed */
	struct curl_slist *secrets;
	char *origin; /* the first URL */
	http_source source;
	void *source_context;
	struct buf piece;         /* of the answer: what it was last given */
	struct buf ready;         /* of the body: what is handed on next */
	uint64_t made;            /* bytes of the body asked of the source */
	int64_t since_ms;         /* it waits; what moved earlier does not count against anybody */
	int64_t failing_since_ms; /* 0: it has not failed yet */
	unsigned repetitions, redirections;
	bool has_given;  /* bytes of the answer's body */
	bool is_settled; /* the answer, or the failure, is final */
	bool may_have_arrived;
};

/* ---- Beginning ---- */

static void free_exchange(struct http_exchange *x)
{
	transfer_release(&x->transfer);
	curl_slist_free_all(x->headers);
	curl_slist_free_all(x->open_headers);
	curl_slist_free_all(x->secrets);
	buf_release(&x->piece);
	buf_release(&x->ready);
	free(x->origin);
	free(x);
}

/* Takes `url`. */
static enum err set_url(struct transfer *t, char *url, struct error *e)
{
	free(t->url);
	free(t->shown);
	t->url = url;
	t->shown = url ? url_shown(url) : NULL;
	return t->shown ? ERR_OK : error_set(e, ERR_NO_MEMORY, "a URL");
}

static enum err take_headers(
	struct http_exchange *x, const struct http_request *request, struct error *e)
{
	enum err kind = request_headers(request, true, &x->headers, e);

	if (kind == ERR_OK && request->flags & HTTP_FOLLOW)
		kind = request_headers(request, false, &x->open_headers, e);
	if (kind == ERR_OK)
		kind = secrets_keep(request, &x->secrets, e);
	x->transfer.headers = x->headers;
	return kind;
}

static enum err fill(struct http_exchange *x, const struct http_request *request, struct error *e)
{
	struct transfer *t = &x->transfer;
	enum err kind = transfer_init(t, e);

	x->piece = (struct buf)BUF_INIT(t->window.max);
	x->ready = (struct buf)BUF_INIT(t->upload.max);
	x->source = request->source;
	x->source_context = request->source_context;
	t->method = request->method;
	t->flags = request->flags;
	t->body = request->body;
	t->has_source = !request->body && request->source;
	t->body_len = request->body || request->source ? request->body_len : 0;
	if (t->method != HTTP_GET && t->method != HTTP_HEAD)
		t->flags &= ~(unsigned)HTTP_FOLLOW;
	x->origin = strdup(request->url);
	if (kind == ERR_OK)
		kind = set_url(t, x->origin ? strdup(x->origin) : NULL, e);
	if (kind == ERR_OK)
		kind = take_headers(x, request, e);
	return kind;
}

static void count(struct http *h, int by)
{
	pthread_mutex_lock(&h->lock);
	h->exchanges += (size_t)by;
	pthread_mutex_unlock(&h->lock);
}

static void start(struct http_exchange *x)
{
	transfer_reset(&x->transfer);
	buf_reset(&x->ready);
	x->made = 0;
	client_ask(x->client, &x->transfer, TRANSFER_START);
}

enum err http_begin(struct http *h, const struct http_request *request, struct http_exchange **out,
	struct error *e)
{
	enum err kind = url_check(request->url, e);
	struct http_exchange *x;

	if (kind != ERR_OK)
		return kind;
	x = calloc(1, sizeof *x);
	if (!x)
		return error_set(e, ERR_NO_MEMORY, "a request");
	x->client = h;
	kind = fill(x, request, e);
	if (kind != ERR_OK) {
		free_exchange(x);
		return kind;
	}
	count(h, 1);
	start(x);
	*out = x;
	return ERR_OK;
}

void http_end(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;

	/* The body is the caller's again, so nobody may be reading from it. */
	client_ask(x->client, t, TRANSFER_STOP);
	pthread_mutex_lock(&t->lock);
	while (!t->is_stopped)
		pthread_cond_wait(&t->stopped, &t->lock);
	pthread_mutex_unlock(&t->lock);
	count(x->client, -1);
	free_exchange(x);
}

/* ---- Sending what a source gives ---- */

static enum err make_ready(struct http_exchange *x, struct error *e)
{
	uint64_t left = x->transfer.body_len - x->made;
	size_t len = left < UPLOAD_PIECE ? (size_t)left : UPLOAD_PIECE;
	unsigned char *place;
	enum err kind;

	if (!len || x->ready.len)
		return ERR_OK;
	place = buf_reserve(&x->ready, len);
	if (!place)
		return error_set(e, ERR_NO_MEMORY, "a piece of a request's body");
	kind = x->source(x->source_context, x->made, place, len, e);
	x->since_ms = monotonic_ms();
	if (kind != ERR_OK)
		return kind;
	x->ready.len = len;
	x->made += len;
	return ERR_OK;
}

static bool hand_over_locked(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;
	struct buf drained = t->upload;

	if (!x->ready.len || t->upload_taken < t->upload.len)
		return false;
	t->upload = x->ready;
	t->upload_taken = 0;
	t->upload_given += t->upload.len;
	x->ready = drained;
	buf_reset(&x->ready);
	transfer_tell_locked(t);
	return true;
}

static bool hand_over(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;
	bool is_handed;

	pthread_mutex_lock(&t->lock);
	is_handed = hand_over_locked(x);
	pthread_mutex_unlock(&t->lock);
	if (is_handed)
		client_ask(x->client, t, TRANSFER_RESUME);
	return is_handed;
}

/* Gives the I/O thread what it has room for, and has the next piece ready. */
static enum err feed(struct http_exchange *x, struct error *e)
{
	enum err kind = ERR_OK;

	if (!x->transfer.has_source)
		return ERR_OK;
	do
		kind = make_ready(x, e);
	while (kind == ERR_OK && hand_over(x));
	return kind;
}

/* ---- Once more ---- */

static int64_t left_since(const struct call *call, int64_t since_ms)
{
	int64_t limit_ms = call_progress_ms(call);

	return limit_ms < 0 ? INT64_MAX : since_ms + limit_ms - monotonic_ms();
}

static int64_t left_ms(const struct http_exchange *x, const struct call *call)
{
	int64_t moved_ms = x->transfer.progress_ms;

	return left_since(call, moved_ms > x->since_ms ? moved_ms : x->since_ms);
}

static enum err follow(struct http_exchange *x, struct error *e)
{
	struct transfer *t = &x->transfer;
	bool was_plain = url_is_plain(t->url);
	enum err kind = url_check(t->outcome.redirect, e);

	if (kind != ERR_OK)
		return kind;
	if (++x->redirections > REDIRECTIONS_MAX)
		return error_set(e, ERR_PROTOCOL, "%s: more than %d redirections", t->shown,
			REDIRECTIONS_MAX);
	if (!was_plain && url_is_plain(t->outcome.redirect))
		return error_set(e, ERR_INVALID, "%s: redirected from https to http", t->shown);
	kind = set_url(t, take(t->outcome.redirect), e);
	if (kind != ERR_OK)
		return kind;
	t->headers = url_same_origin(x->origin, t->url) ? x->headers : x->open_headers;
	start(x);
	return ERR_OK;
}

static bool may_repeat(const struct http_exchange *x)
{
	const struct outcome *o = &x->transfer.outcome;

	if (x->has_given || x->repetitions == RETRY_MAX)
		return false;
	if (o->failure.kind == ERR_OK)
		return retry_wants_status(x->transfer.flags, o->status);
	return o->failure.kind == ERR_UNREACHABLE &&
		(x->transfer.flags & HTTP_REPEATABLE || !o->was_sent);
}

/* Waits before it is sent again. The answer, or the failure, is final when the wait would outlast the caller. */
static enum err repeat(struct http_exchange *x, const struct call *call, struct error *e)
{
	const struct outcome *o = &x->transfer.outcome;
	int64_t pause_ms = retry_pause_ms(x->repetitions, o->retry_after_s);
	struct call pause = { .progress_ms = pause_ms, .cancel = call ? call->cancel : NULL };
	enum err kind = ERR_TIMEOUT;

	/* To fail again is no progress. */
	if (!x->failing_since_ms)
		x->failing_since_ms = monotonic_ms();
	if (pause_ms >= left_since(call, x->failing_since_ms)) {
		x->is_settled = true;
		return ERR_OK;
	}
	/* Nothing is wrong with the server when only a kept connection was. */
	if (!o->was_stale)
		kind = call_wait_fd(&pause, -1, 0, e);
	if (kind != ERR_TIMEOUT)
		return kind;
	x->repetitions++;
	start(x);
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

/* It is over: that was it, or it is sent again, or elsewhere. */
static enum err settle(struct http_exchange *x, const struct call *call, struct error *e)
{
	struct transfer *t = &x->transfer;
	const struct outcome *o = &t->outcome;

	/* 429: refused before anything was done. */
	x->may_have_arrived |= o->was_sent && o->status != 429;
	t->is_sent = false;
	log_outcome(x);
	if (o->failure.kind == ERR_OK && t->flags & HTTP_FOLLOW && o->redirect)
		return follow(x, e);
	if (may_repeat(x))
		return repeat(x, call, e);
	x->is_settled = true;
	return ERR_OK;
}

/* ---- Reading ---- */

enum look { LOOK_NOTHING, LOOK_PIECE, LOOK_OVER, LOOK_UNSETTLED };

/* The reader gets the full buffer, the I/O thread the empty one. */
static void take_piece_locked(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;
	struct buf emptied = x->piece;

	x->piece = t->window;
	t->window = emptied;
	buf_reset(&t->window);
	t->is_held = false;
	transfer_tell_locked(t);
}

static enum look look_locked(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;

	if (t->is_over && !x->is_settled)
		return LOOK_UNSETTLED;
	if (t->window.len && (!t->is_held || t->is_receiving_paused || t->is_over)) {
		take_piece_locked(x);
		return LOOK_PIECE;
	}
	return t->is_over ? LOOK_OVER : LOOK_NOTHING;
}

static enum look look(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;
	bool is_paused;
	enum look found;

	pthread_mutex_lock(&t->lock);
	found = look_locked(x);
	is_paused = t->is_receiving_paused;
	pthread_mutex_unlock(&t->lock);
	if (found == LOOK_PIECE && is_paused)
		client_ask(x->client, t, TRANSFER_RESUME);
	return found;
}

/* Until there is something to do. What moves meanwhile moves the deadline, without waking anybody. */
static enum err wait_for_news(struct http_exchange *x, const struct call *call, struct error *e)
{
	struct call rest = { .cancel = call ? call->cancel : NULL };
	enum err kind = ERR_TIMEOUT;

	while (kind == ERR_TIMEOUT) {
		int64_t left = left_ms(x, call);

		if (left <= 0)
			return error_set(e, ERR_TIMEOUT, "%s %s: no progress for %lld s",
				request_method(x->transfer.method), x->transfer.shown,
				(long long)call_progress_ms(call) / 1000);
		rest.progress_ms = left == INT64_MAX ? -1 : left;
		kind = call_wait_fd(&rest, x->transfer.fd, POLLIN, e);
	}
	return kind;
}

static enum err give_end(struct http_exchange *x, size_t *len, struct error *e)
{
	const struct error *failure = &x->transfer.outcome.failure;

	*len = 0;
	if (failure->kind == ERR_OK)
		return ERR_OK;
	return error_set(e, failure->kind, "%s", failure->text);
}

enum err http_read(struct http_exchange *x, const struct call *call, const void **bytes,
	size_t *len, struct error *e)
{
	enum err kind = ERR_OK;

	x->since_ms = monotonic_ms();
	while (kind == ERR_OK) {
		if (call && call->cancel && cancel_thrown(call->cancel))
			return error_set(e, ERR_INTERRUPTED, "interrupted");
		switch (look(x)) {
		case LOOK_PIECE:
			x->has_given = true;
			*bytes = x->piece.bytes;
			*len = x->piece.len;
			return ERR_OK;
		case LOOK_OVER: return give_end(x, len, e);
		case LOOK_UNSETTLED: kind = settle(x, call, e); break;
		case LOOK_NOTHING:
			kind = feed(x, e);
			if (kind == ERR_OK)
				kind = wait_for_news(x, call, e);
			break;
		}
	}
	return kind;
}

/* ---- What is known of it ---- */

int http_fd(const struct http_exchange *x)
{
	return x->transfer.fd;
}

int64_t http_moved_ms(const struct http_exchange *x)
{
	return x->transfer.progress_ms;
}

int http_status(const struct http_exchange *x)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&x->transfer.lock;
	int status;

	pthread_mutex_lock(lock);
	status = x->transfer.outcome.status;
	pthread_mutex_unlock(lock);
	return status;
}

/* Once bytes of the body came, or the end, nothing is added to the fields. */
const char *http_header(const struct http_exchange *x, const char *name)
{
	return fields_find(&x->transfer.fields, name);
}

void http_blot_secrets(const struct http_exchange *x, void *bytes, size_t len)
{
	secrets_blot(x->secrets, bytes, len);
}

bool http_may_have_arrived(const struct http_exchange *x)
{
	return x->may_have_arrived || x->transfer.is_sent;
}
