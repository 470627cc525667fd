#include "providers/http/exchange.h"

#include "providers/base/cleanup.h"
#include "providers/http/frame.h"
#include "providers/http/request.h"
#include "providers/http/secrets.h"
#include "providers/http/url.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- Beginning ---- */

static void free_exchange(struct http_exchange *x)
{
	transfer_release(&x->transfer);
	curl_slist_free_all(x->headers);
	curl_slist_free_all(x->open_headers);
	curl_slist_free_all(x->secrets);
	curl_slist_free_all(x->address);
	buf_release(&x->piece);
	buf_release(&x->ready);
	free(x->origin);
	free(x);
}

enum err exchange_set_url(struct http_exchange *x, char *url, struct error *e)
{
	struct transfer *t = &x->transfer;

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

/* libcurl's form: any host and port, then the address; the port stays. */
static enum err take_address(struct http_exchange *x, const char *address, struct error *e)
{
	AUTO_FREE char *line = NULL;

	if (!address)
		return ERR_OK;
	if (asprintf(&line, "::%s:", address) < 0)
		line = NULL;
	x->address = line ? curl_slist_append(NULL, line) : NULL;
	x->transfer.address = x->address;
	return x->address ? ERR_OK : error_set(e, ERR_NO_MEMORY, "a request");
}

/* Over plain HTTP each running exchange has a connection for itself anyway. */
static bool is_bulk(const struct transfer *t)
{
	return (t->flags & HTTP_BULK || t->body_len >= HTTP_BULK_MIN) &&
		!(t->flags & HTTP_OWN_CONNECTION) && !url_is_plain(t->url);
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
	t->frame = request->frame;
	t->has_source = !request->body && request->source;
	t->body_len = request->body || request->source ? request->body_len : 0;
	if (t->method != HTTP_GET)
		t->flags &= ~(unsigned)HTTP_FOLLOW;
	x->origin = strdup(request->url);
	if (kind == ERR_OK)
		kind = exchange_set_url(x, x->origin ? strdup(x->origin) : NULL, e);
	if (kind == ERR_OK)
		t->is_bulk = is_bulk(t);
	if (kind == ERR_OK)
		kind = take_headers(x, request, e);
	if (kind == ERR_OK)
		kind = take_address(x, request->address, e);
	return kind;
}

static void count(struct http *h, int by)
{
	pthread_mutex_lock(&h->lock);
	h->exchanges += (size_t)by;
	pthread_mutex_unlock(&h->lock);
}

/*
 * The time until a connection stands, TLS included, at the first sending: five round trips of
 * 600 ms, and the lookup of a name. Each repetition has twice as long. The connection may be dead
 * before anything was sent, and its kernel then waits for half a minute.
 */
#define CONNECT_MS 4000L

void exchange_start(struct http_exchange *x)
{
	transfer_reset(&x->transfer);
	x->transfer.connect_ms = CONNECT_MS << x->repetitions;
	buf_reset(&x->ready);
	x->made = 0;
	client_note_sleep(x->client);
	client_ask(x->client, &x->transfer, TRANSFER_START);
}

enum err http_begin(struct http *h, const struct http_request *request, struct http_exchange **out,
	struct error *e)
{
	enum err kind = http_check_reach(h, request->url, e);
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
	exchange_start(x);
	*out = x;
	return ERR_OK;
}

/* After this the I/O thread has no reference to the exchange, and no ask for it may follow. */
static void stop(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;

	client_ask(x->client, t, TRANSFER_STOP);
	pthread_mutex_lock(&t->lock);
	while (!t->is_stopped)
		pthread_cond_wait(&t->stopped, &t->lock);
	pthread_mutex_unlock(&t->lock);
	x->is_stopped = true;
}

void http_end(struct http_exchange *x)
{
	/* The caller owns the body again, so the I/O thread must have stopped reading it. */
	if (!x->is_stopped)
		stop(x);
	count(x->client, -1);
	free_exchange(x);
}

/* ---- Reading ---- */

enum look { LOOK_NOTHING, LOOK_PIECE, LOOK_OVER, LOOK_UNDECIDED, LOOK_FOREIGN };

/* Exchanges the buffers: the reader gets the full one, the I/O thread the empty one. */
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

	if (t->is_over && !x->is_final)
		return LOOK_UNDECIDED;
	/* A refusal of the service never has so many bytes. */
	if (t->is_held && t->frame && t->is_receiving_paused && !t->is_over)
		return LOOK_FOREIGN;
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

/* After a timeout other idle connections may be dead as well, each for one more deadline. */
static enum err give_up(struct http_exchange *x, const struct call *call, struct error *e)
{
	http_drop_connections(x->client);
	return error_set(e, ERR_TIMEOUT, "%s %s: no progress for %lld s",
		request_method(x->transfer.method), x->transfer.shown,
		(long long)call_progress_ms(call) / 1000);
}

/*
 * The interval, in ms, at which a caller's progress is recorded for threads that wait for the same.
 */
#define PROGRESS_MS 500

void http_note_progress(struct http_exchange *x, const struct call *call)
{
	curl_off_t sent = x->transfer.sent;

	call_moved_at(call, x->transfer.progress_ms);
	if (sent > x->reported)
		call_sent(call, (uint64_t)(sent - x->reported));
	x->reported = sent;
}

/* Waits until there is work. Moved bytes put the deadline off without waking the reader. */
static enum err wait_for_news(struct http_exchange *x, const struct call *call, struct error *e)
{
	struct call rest = { .cancel = call ? call->cancel : NULL };
	enum err kind = ERR_TIMEOUT;

	while (kind == ERR_TIMEOUT) {
		int64_t left = exchange_left_ms(x, call);

		if (left <= 0)
			return give_up(x, call, e);
		if (call && call->progress && left > PROGRESS_MS)
			left = PROGRESS_MS;
		rest.progress_ms = left == INT64_MAX ? -1 : left;
		kind = call_wait_fd(&rest, x->transfer.fd, POLLIN, e);
		http_note_progress(x, call);
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

/* The time that the reader spends between two pieces does not count. */
static void begin_wait(struct http_exchange *x, const struct call *call)
{
	if (x->has_given || !x->since_ms)
		x->since_ms = x->has_given ? monotonic_ms() : call_since_ms(call);
}

/* The text of a refusal is no progress. */
static void note_given(struct http_exchange *x, const struct call *call)
{
	x->has_given = true;
	if (http_status(x) < 400)
		call_moved(call);
}

enum err http_read(struct http_exchange *x, const struct call *call, const void **bytes,
	size_t *len, struct error *e)
{
	enum err kind = ERR_OK;

	begin_wait(x, call);
	while (kind == ERR_OK) {
		if (call && call->cancel && cancel_thrown(call->cancel))
			return error_set(e, ERR_INTERRUPTED, "interrupted");
		switch (look(x)) {
		case LOOK_PIECE:
			note_given(x, call);
			*bytes = x->piece.bytes;
			*len = x->piece.len;
			return ERR_OK;
		case LOOK_OVER: http_note_progress(x, call); return give_end(x, len, e);
		case LOOK_UNDECIDED: kind = exchange_conclude(x, call, e); break;
		case LOOK_FOREIGN: return frame_refuse(x, e);
		case LOOK_NOTHING:
			kind = exchange_feed(x, e);
			if (kind == ERR_OK)
				kind = wait_for_news(x, call, e);
			break;
		}
	}
	return kind;
}

/* HTTP's end comes with the last bytes of the answer, or right behind them. Design decision. */
#define END_MS 1000

bool http_is_ending(const struct http_exchange *x, const struct call *call)
{
	const struct call brief = { .progress_ms = END_MS, .cancel = call ? call->cancel : NULL };

	return call_wait_fd(&brief, x->transfer.fd, POLLIN, NULL) == ERR_OK;
}

/* ---- Facts about the answer ---- */

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

/*
 * No fields are added after bytes of the body came, and no trailers after the result is final.
 */
const char *http_header(const struct http_exchange *x, const char *name)
{
	const struct transfer *t = &x->transfer;
	const char *value = x->has_given || x->is_final ? fields_find(&t->fields, name) : NULL;

	return value || !x->is_final ? value : fields_find(&t->trailers, name);
}

void http_blot_secrets(const struct http_exchange *x, void *bytes, size_t len)
{
	secrets_blot(x->secrets, bytes, len);
}

struct foreign_answers *http_foreign_of(const struct http_exchange *x)
{
	return http_foreign(x->client);
}

/*
 * The exchange is stopped first: a running request that was not sent yet could be sent right after
 * the answer "no".
 */
bool http_may_have_arrived(struct http_exchange *x)
{
	if (x->may_have_arrived || x->transfer.is_sent)
		return true;
	if (!x->is_final && !x->is_stopped)
		stop(x);
	return x->transfer.is_sent;
}
