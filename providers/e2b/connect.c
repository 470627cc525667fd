#include "providers/e2b/connect.h"

#include "providers/e2b/envelope.h"
#include "providers/gzip.h"
#include "providers/e2b/verdict.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * The shortest request that is compressed: a shorter one fits into TCP's first window anyway. The
 * daemon then compresses its answers too, asked or not.
 */
#define WORTH_COMPRESSING 4096
/* The most of a refusal that is read. */
#define REFUSAL_MAX ((size_t)64 * 1024)

#define STREAM_TYPE "application/connect+proto"
#define UNARY_TYPE  "application/proto"

struct connect_stream {
	struct http_exchange *exchange;
	const char *what;
	struct buf body; /* the request, which must outlive the exchange */
	struct envelopes envelopes;
	struct buf refusal;   /* the answer, where its status is not 200 */
	struct error outcome; /* the error that the stream's end reported */
	bool has_begun, is_untouched;
};

/* ---- Requests ---- */

struct headers {
	struct http_header list[CONNECT_HEADERS_MAX + 5];
	size_t count;
};

static void add_header(struct headers *h, const char *name, const char *value)
{
	h->list[h->count++] = (struct http_header){ .name = name, .value = value };
}

static void begin_headers(
	struct headers *h, const struct connect_request *request, const char *content_type)
{
	assert(request->headers_count <= CONNECT_HEADERS_MAX);
	*h = (struct headers){ .count = request->headers_count };
	if (h->count)
		memcpy(h->list, request->headers, h->count * sizeof *h->list);
	add_header(h, "Content-Type", content_type);
	add_header(h, "Connect-Protocol-Version", "1");
}

/* The request of a stream is a stream of one message, without an end. *flags: the packing. */
static bool put_body(struct buf *body, const struct connect_request *request, unsigned *flags)
{
	AUTO_BUF struct buf packed = BUF_INIT(ENVELOPE_MAX);

	*flags = 0;
	if (!request->is_plain && request->len >= WORTH_COMPRESSING &&
		gzip_deflate(&packed, request->message, request->len) && packed.len < request->len)
		*flags = ENVELOPE_GZIP;
	return *flags ? envelope_add(body, *flags, packed.bytes, packed.len)
		      : envelope_add(body, 0, request->message, request->len);
}

static enum err send_request(struct http *h, const struct connect_request *request,
	struct connect_stream *s, struct error *e)
{
	struct headers headers;
	char keepalive[24];
	unsigned packing;

	if (!put_body(&s->body, request, &packing))
		return buf_check(&s->body, request->what, e);
	begin_headers(&headers, request, STREAM_TYPE);
	if (packing & ENVELOPE_GZIP)
		add_header(&headers, "Connect-Content-Encoding", "gzip");
	if (request->wants_compressed)
		add_header(&headers, "Connect-Accept-Encoding", "gzip");
	snprintf(keepalive, sizeof keepalive, "%lld", (long long)request->keepalive_s);
	if (request->keepalive_s)
		add_header(&headers, "Keepalive-Ping-Interval", keepalive);
	return http_begin(h,
		&(struct http_request){ .method = HTTP_POST,
			.flags = request->flags,
			.url = request->url,
			.headers = headers.list,
			.headers_count = headers.count,
			.body = s->body.bytes,
			.body_len = s->body.len,
			.frame = &e2b_stream_frame.http },
		&s->exchange, e);
}

enum err connect_begin(struct http *h, const struct connect_request *request,
	struct connect_stream **out, struct error *e)
{
	struct connect_stream *s = malloc(sizeof *s);
	enum err kind;

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "%s", request->what);
	*s = (struct connect_stream){ .what = request->what,
		.body = BUF_INIT(ENVELOPE_MAX + ENVELOPE_PREFIX),
		.envelopes = ENVELOPES_INIT,
		.refusal = BUF_INIT(REFUSAL_MAX) };
	kind = send_request(h, request, s, e);
	if (kind == ERR_OK)
		*out = s;
	else
		connect_end(s);
	return kind;
}

/* ---- Answers ---- */

static bool is_type(const char *value, const char *type)
{
	size_t len = strlen(type);

	return value && !strncasecmp(value, type, len) && (!value[len] || value[len] == ';');
}

/* Called once, as soon as the status and the headers are known. */
static enum err look_at_head(struct connect_stream *s, struct error *e)
{
	const char *type = http_header(s->exchange, "Content-Type");
	const char *packing = http_header(s->exchange, "Connect-Content-Encoding");

	if (!is_type(type, STREAM_TYPE))
		return error_set(e, ERR_PROTOCOL, "E2B: %s: the answer is of type %.80s", s->what,
			type ? type : "none");
	s->envelopes.is_gzip = packing && !strcasecmp(packing, "gzip");
	s->has_begun = true;
	return ERR_OK;
}

static enum err read_refusal(struct connect_stream *s, const struct call *call, const void *bytes,
	size_t len, struct error *e)
{
	while (len && buf_add(&s->refusal, bytes, len))
		if (http_read(s->exchange, call, &bytes, &len, NULL) != ERR_OK)
			break;
	http_blot_secrets(s->exchange, s->refusal.bytes, s->refusal.len);
	return refusal_of_status(http_status(s->exchange), s->refusal.bytes, s->refusal.len,
		s->what, &s->is_untouched, e);
}

struct delivery {
	struct connect_stream *stream;
	connect_sink sink;
	void *context;
};

static enum err take_end(struct connect_stream *s, const void *message, size_t len, struct error *e)
{
	AUTO_BUF struct buf end = BUF_INIT(ENVELOPE_MAX);

	if (!buf_add(&end, message, len))
		return buf_check(&end, s->what, e);
	http_blot_secrets(s->exchange, end.bytes, end.len);
	refusal_of_end(end.bytes, end.len, s->what, &s->is_untouched, &s->outcome);
	return ERR_OK;
}

static enum err on_envelope(
	void *context, bool is_end, const void *message, size_t len, struct error *e)
{
	struct delivery *d = context;
	struct connect_stream *s = d->stream;

	if (!is_end)
		return d->sink(d->context, message, len, e);
	return take_end(s, message, len, e);
}

static enum err finish(const struct connect_stream *s, bool *is_over, struct error *e)
{
	*is_over = s->envelopes.is_over && s->outcome.kind == ERR_OK;
	if (!s->envelopes.is_over)
		return error_set(e, ERR_UNREACHABLE, "E2B: %s: the answer was cut off", s->what);
	return *is_over ? ERR_OK : error_set(e, s->outcome.kind, "%s", s->outcome.text);
}

enum err connect_read(struct connect_stream *s, const struct call *call, connect_sink sink,
	void *context, bool *is_over, struct error *e)
{
	struct delivery d = { s, sink, context };
	const void *bytes;
	size_t len = 0;

	*is_over = false;
	/* The answer is whole. A link that broke since would delay it by a deadline. */
	if (s->envelopes.is_over && !http_is_ending(s->exchange, call))
		return finish(s, is_over, e);
	enum err kind = http_read(s->exchange, call, &bytes, &len, e);

	/* A connection's failure after the stream's end does not matter. */
	if (s->envelopes.is_over && (kind != ERR_OK || !len))
		return finish(s, is_over, e);
	if (kind == ERR_OK && http_status(s->exchange) != 200)
		return read_refusal(s, call, bytes, len, e);
	if (kind == ERR_OK && !s->has_begun)
		kind = look_at_head(s, e);
	if (kind != ERR_OK)
		return kind;
	return len ? envelopes_feed(&s->envelopes, bytes, len, on_envelope, &d, e)
		   : finish(s, is_over, e);
}

int connect_fd(const struct connect_stream *s)
{
	return http_fd(s->exchange);
}

bool connect_has_begun(const struct connect_stream *s)
{
	return s->has_begun;
}

bool connect_may_have_run(const struct connect_stream *s)
{
	return !s->is_untouched && http_may_have_arrived(s->exchange);
}

void connect_end(struct connect_stream *s)
{
	if (!s)
		return;
	if (s->exchange)
		http_end(s->exchange);
	envelopes_release(&s->envelopes);
	buf_release(&s->body);
	buf_release(&s->refusal);
	free(s);
}

/* ---- Unary calls ---- */

enum err connect_call(struct http *h, const struct call *call,
	const struct connect_request *request, struct buf *answer, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer got = HTTP_ANSWER_NONE;
	struct headers headers;
	bool is_untouched;
	enum err kind;

	begin_headers(&headers, request, UNARY_TYPE);
	kind = http_perform(h, call,
		&(struct http_request){ .method = HTTP_POST,
			.flags = request->flags,
			.url = request->url,
			.headers = headers.list,
			.headers_count = headers.count,
			.body = request->message,
			.body_len = request->len,
			.frame = &e2b_unary_frame.http },
		&got, e);
	if (kind != ERR_OK)
		return kind;
	if (got.status != 200)
		return refusal_of_status(
			got.status, got.body.bytes, got.body.len, request->what, &is_untouched, e);
	if (!is_type(got.content_type, UNARY_TYPE))
		return error_set(e, ERR_PROTOCOL, "E2B: %s: the answer is of type %.80s",
			request->what, got.content_type);
	buf_reset(answer);
	buf_add(answer, got.body.bytes, got.body.len);
	return buf_check(answer, request->what, e);
}
