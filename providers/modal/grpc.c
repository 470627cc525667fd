#include "providers/modal/grpc.h"

#include "providers/base/cleanup.h"
#include "providers/vendor_frame.h"
#include "providers/modal/grpc_frames.h"
#include "providers/modal/warnings.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static_assert(HTTP_WINDOW <= GRPC_PIECE_MAX, "a piece of an answer has room behind a message");

struct grpc_stream {
	struct http_exchange *exchange;
	const char *what;
	struct warnings *warnings;
	struct buf body;
	struct grpc_frames frames;
};

/* ---- The request ---- */

static bool put_message(struct buf *out, const ProtobufCMessage *message)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	unsigned char prefix[GRPC_PREFIX] = { 0, (unsigned char)(len >> 24),
		(unsigned char)(len >> 16), (unsigned char)(len >> 8), (unsigned char)len };
	unsigned char *room;

	buf_add(out, prefix, sizeof prefix);
	room = buf_reserve(out, len);
	if (!room)
		return false;
	buf_filled(out, protobuf_c_message_pack(message, room));
	return true;
}

struct headers {
	struct http_header list[GRPC_HEADERS_MAX + 4];
	size_t count;
	char timeout[24];
};

static void add_header(struct headers *h, const char *name, const char *value)
{
	h->list[h->count++] = (struct http_header){ .name = name, .value = value };
}

static void fill_headers(struct headers *h, const struct grpc_request *request)
{
	assert(request->headers_count <= GRPC_HEADERS_MAX);
	h->count = request->headers_count;
	if (h->count)
		memcpy(h->list, request->headers, h->count * sizeof *h->list);
	add_header(h, "content-type", "application/grpc");
	add_header(h, "te", "trailers");
	if (request->timeout_ms <= 0)
		return;
	/* At most eight digits. */
	if (request->timeout_ms < 100000000)
		snprintf(h->timeout, sizeof h->timeout, "%dm", (int)request->timeout_ms);
	else
		snprintf(h->timeout, sizeof h->timeout, "%dS",
			(int)(request->timeout_ms / 1000 % 100000000));
	add_header(h, "grpc-timeout", h->timeout);
}

/* How a call ended is said in fields, of a good answer of this type. */
static const struct vendor_frame frame = { .http = { .types = "application/grpc",
						   .is_own = vendor_frame_is_own } };

static enum err send_request(
	struct http *h, const struct grpc_request *request, struct grpc_stream *s, struct error *e)
{
	AUTO_FREE char *url = NULL;
	struct headers headers;

	if (!put_message(&s->body, request->message))
		return buf_check(&s->body, request->what, e);
	if (asprintf(&url, "%s/%s", request->base_url, request->method) < 0) {
		url = NULL;
		return error_set(e, ERR_NO_MEMORY, "%s", request->what);
	}
	fill_headers(&headers, request);
	return http_begin(h,
		&(struct http_request){ .method = HTTP_POST,
			.flags = HTTP_REQUIRE_2,
			.url = url,
			.address = request->address,
			.headers = headers.list,
			.headers_count = headers.count,
			.body = s->body.bytes,
			.body_len = s->body.len,
			.frame = &frame.http },
		&s->exchange, e);
}

enum err grpc_begin(struct http *h, const struct grpc_request *request, struct grpc_stream **out,
	struct error *e)
{
	struct grpc_stream *s = malloc(sizeof *s);
	enum err kind;

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "%s", request->what);
	*s = (struct grpc_stream){ .what = request->what,
		.warnings = request->warnings,
		.body = BUF_INIT(GRPC_MESSAGE_MAX + GRPC_PREFIX),
		.frames = GRPC_FRAMES_INIT(request->what) };
	kind = send_request(h, request, s, e);
	if (kind)
		grpc_end(s);
	else
		*out = s;
	return kind;
}

void grpc_end(struct grpc_stream *s)
{
	if (!s)
		return;
	if (s->exchange)
		http_end(s->exchange);
	buf_release(&s->body);
	grpc_frames_release(&s->frames);
	free(s);
}

int grpc_fd(const struct grpc_stream *s)
{
	return http_fd(s->exchange);
}

/* ---- Answers ---- */

bool grpc_is_ready(const struct grpc_stream *s)
{
	return grpc_frames_has(&s->frames);
}

static enum err end_of(struct grpc_stream *s, const struct error *transport,
	struct grpc_outcome *out, struct error *e)
{
	enum err kind = grpc_conclude(s->exchange, s->what, transport, out, e);

	if (s->warnings)
		warnings_note(s->warnings, s->exchange);
	if (kind || !grpc_frames_is_cut(&s->frames))
		return kind;
	/*
	 * The server's status does not count: gRPC's own libraries report an internal failure here.
	 */
	out->status = GRPC_INTERNAL;
	return error_set(e, ERR_PROTOCOL, "modal: %s: an answer that ends early", s->what);
}

enum err grpc_next(struct grpc_stream *s, const struct call *call, const unsigned char **bytes,
	size_t *len, struct grpc_outcome *out, struct error *e)
{
	*out = (struct grpc_outcome){ .status = GRPC_LOCAL, .may_have_arrived = true };
	for (;;) {
		struct error transport = { 0 };
		const void *piece;
		size_t piece_len = 0;
		enum err kind = grpc_frames_next(&s->frames, bytes, len, e);

		if (kind || *bytes)
			return kind;
		if (http_read(s->exchange, call, &piece, &piece_len, &transport) || !piece_len)
			return end_of(s, &transport, out, e);
		/* The body of an answer that is not gRPC's is dropped. */
		if (http_status(s->exchange) == 200)
			kind = grpc_frames_add(&s->frames, piece, piece_len, e);
		if (kind)
			return kind;
	}
}

/* ---- One answer ---- */

static enum err read_single(struct grpc_stream *s, const struct call *call, struct buf *answer,
	struct grpc_outcome *out, struct error *e)
{
	const unsigned char *bytes;
	size_t len, count = 0;
	enum err kind;

	while (!(kind = grpc_next(s, call, &bytes, &len, out, e)) && bytes) {
		buf_add(answer, bytes, len);
		count++;
	}
	if (kind || (count == 1 && !answer->failed))
		return kind;
	out->status = GRPC_INTERNAL;
	return error_set(
		e, ERR_PROTOCOL, "modal: %s: %zu answers where one was due", s->what, count);
}

static struct call with_deadline(const struct call *call, const struct grpc_request *request)
{
	struct call out = call ? *call : (struct call){ 0 };

	if (call_progress_ms(call) < 0)
		out.progress_ms = CALL_PROGRESS_MS + request->timeout_ms;
	return out;
}

enum err grpc_call(struct http *h, const struct call *call, const struct grpc_request *request,
	const ProtobufCMessageDescriptor *type, ProtobufCMessage **answer, struct grpc_outcome *out,
	struct error *e)
{
	AUTO_BUF struct buf bytes = BUF_INIT(GRPC_MESSAGE_MAX);
	const struct call bounded = with_deadline(call, request);
	struct grpc_stream *s;
	enum err kind;

	*out = (struct grpc_outcome){ .status = GRPC_LOCAL, .retry_after_ms = -1 };
	*answer = NULL;
	kind = grpc_begin(h, request, &s, e);
	if (kind)
		return kind;
	kind = read_single(s, &bounded, &bytes, out, e);
	grpc_end(s);
	if (kind)
		return kind;
	*answer = protobuf_c_message_unpack(type, NULL, bytes.len, bytes.bytes);
	if (*answer)
		return ERR_OK;
	out->status = GRPC_LOCAL;
	return error_set(
		e, ERR_PROTOCOL, "modal: %s: an answer that makes no sense", request->what);
}
