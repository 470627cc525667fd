#include "providers/modal/grpc.h"

#include "providers/base/cleanup.h"
#include "providers/modal/warnings.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PREFIX 5

struct grpc_stream {
	struct http_exchange *exchange;
	const char *what;
	struct warnings *warnings;
	struct buf body;
	struct buf in; /* what came, from the message that was given last */
	size_t given;  /* its size with its prefix */
};

/* ---- The request ---- */

static bool put_message(struct buf *out, const ProtobufCMessage *message)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	unsigned char prefix[PREFIX] = { 0, (unsigned char)(len >> 24), (unsigned char)(len >> 16),
		(unsigned char)(len >> 8), (unsigned char)len };
	unsigned char *room;

	buf_add(out, prefix, sizeof prefix);
	room = buf_reserve(out, len);
	if (!room)
		return false;
	out->len += protobuf_c_message_pack(message, room);
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
			.body_len = s->body.len },
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
		.body = BUF_INIT(GRPC_MESSAGE_MAX + PREFIX),
		.in = BUF_INIT(GRPC_MESSAGE_MAX + PREFIX + HTTP_WINDOW) };
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
	buf_release(&s->in);
	free(s);
}

int grpc_fd(const struct grpc_stream *s)
{
	return http_fd(s->exchange);
}

/* ---- Answers ---- */

static size_t message_len(const struct buf *in)
{
	const unsigned char *b = in->bytes;

	return (size_t)b[1] << 24 | (size_t)b[2] << 16 | (size_t)b[3] << 8 | b[4];
}

static bool has_whole(const struct grpc_stream *s)
{
	struct buf rest = s->in;

	if (s->in.len < s->given + PREFIX)
		return false;
	rest.bytes += s->given;
	return s->in.len - s->given - PREFIX >= message_len(&rest);
}

bool grpc_is_ready(const struct grpc_stream *s)
{
	return has_whole(s);
}

/* We ask for no compression. */
static enum err check_prefix(const struct grpc_stream *s, struct error *e)
{
	if (s->in.len < PREFIX)
		return ERR_OK;
	if (s->in.bytes[0] != 0)
		return error_set(e, ERR_PROTOCOL, "modal: %s: a compressed answer", s->what);
	if (message_len(&s->in) > GRPC_MESSAGE_MAX)
		return error_set(e, ERR_TOO_LARGE, "modal: %s: an answer of more than %zu MiB",
			s->what, GRPC_MESSAGE_MAX >> 20);
	return ERR_OK;
}

static enum err end_of(struct grpc_stream *s, const struct error *transport,
	struct grpc_outcome *out, struct error *e)
{
	enum err kind = grpc_settle(s->exchange, s->what, transport, out, e);

	if (s->warnings)
		warnings_note(s->warnings, s->exchange);
	if (kind || !s->in.len)
		return kind;
	/* Whatever the server says: gRPC's own libraries say that it failed within. */
	out->status = GRPC_INTERNAL;
	return error_set(e, ERR_PROTOCOL, "modal: %s: an answer that ends early", s->what);
}

enum err grpc_next(struct grpc_stream *s, const struct call *call, const unsigned char **bytes,
	size_t *len, struct grpc_outcome *out, struct error *e)
{
	enum err kind = ERR_OK;

	*bytes = NULL;
	*len = 0;
	*out = (struct grpc_outcome){ .status = GRPC_LOCAL, .may_have_arrived = true };
	if (s->given)
		buf_consume(&s->in, s->given);
	s->given = 0;
	while (kind == ERR_OK && !has_whole(s)) {
		struct error transport = { 0 };
		const void *piece;
		size_t piece_len = 0;

		if (http_read(s->exchange, call, &piece, &piece_len, &transport) || !piece_len)
			return end_of(s, &transport, out, e);
		/* What is no answer of gRPC's is of no interest. */
		if (http_status(s->exchange) != 200)
			continue;
		if (!buf_add(&s->in, piece, piece_len))
			return buf_check(&s->in, s->what, e);
		kind = check_prefix(s, e);
	}
	if (kind)
		return kind;
	*bytes = s->in.bytes + PREFIX;
	*len = message_len(&s->in);
	s->given = *len + PREFIX;
	return ERR_OK;
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
