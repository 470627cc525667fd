#include "providers/modal/grpc.h"

#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/modal/modal.pb-c.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PREFIX 5
/* Modal's wish for another time is a few bytes. */
#define DETAILS_MAX 4096
#define WORDS_MAX   300

struct grpc_stream {
	struct http_exchange *exchange;
	const char *what;
	struct buf body;
	struct buf in; /* what came, from the message that was given last */
	size_t given;  /* its size with its prefix */
};

bool grpc_is_passing(enum grpc_status status)
{
	switch (status) {
	case GRPC_CANCELLED:
	case GRPC_UNKNOWN:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_INTERNAL:
	case GRPC_UNAVAILABLE: return true;
	default: return false;
	}
}

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

/* ---- How it ended ---- */

/* gRPC's own table for answers that are none of gRPC's. */
static enum grpc_status of_http(int status)
{
	switch (status) {
	case 400: return GRPC_INTERNAL;
	case 401: return GRPC_UNAUTHENTICATED;
	case 403: return GRPC_PERMISSION_DENIED;
	case 404: return GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504: return GRPC_UNAVAILABLE;
	default: return GRPC_UNKNOWN;
	}
}

static enum err kind_of(enum grpc_status status)
{
	switch (status) {
	case GRPC_OK: return ERR_OK;
	case GRPC_INVALID_ARGUMENT:
	case GRPC_OUT_OF_RANGE: return ERR_INVALID;
	case GRPC_DEADLINE_EXCEEDED: return ERR_TIMEOUT;
	case GRPC_NOT_FOUND: return ERR_NOT_FOUND;
	case GRPC_ALREADY_EXISTS: return ERR_EXISTS;
	case GRPC_PERMISSION_DENIED:
	case GRPC_UNAUTHENTICATED: return ERR_AUTH;
	case GRPC_RESOURCE_EXHAUSTED: return ERR_QUOTA;
	case GRPC_FAILED_PRECONDITION:
	case GRPC_ABORTED: return ERR_BUSY;
	case GRPC_UNIMPLEMENTED: return ERR_UNSUPPORTED;
	case GRPC_DATA_LOSS: return ERR_IO;
	default: return ERR_UNREACHABLE;
	}
}

static int hex(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
				       : -1;
}

/* Percent-encoded, as gRPC has it. */
static void put_words(const struct grpc_stream *s, char words[WORDS_MAX + 1])
{
	const char *in = http_header(s->exchange, "grpc-message");
	size_t len = 0;

	for (; in && *in && len < WORDS_MAX; in++) {
		bool is_escape = *in == '%' && hex(in[1]) >= 0 && hex(in[2]) >= 0;

		words[len++] = is_escape ? (char)(hex(in[1]) * 16 + hex(in[2])) : *in;
		in += is_escape ? 2 : 0;
	}
	words[len] = 0;
	http_blot_secrets(s->exchange, words, len);
}

/* Never less than a tenth of a second, as Modal's clients have it; more than a day nobody waits. */
static int64_t bounded_ms(float seconds)
{
	if (!(seconds >= 0.1F))
		return 100;
	return seconds > 86400 ? 86400000 : (int64_t)(seconds * 1000);
}

static int64_t policy_ms(const Modal__RpcStatus *status)
{
	static const char name[] = "/modal.client.RPCRetryPolicy";
	int64_t ms = -1;

	for (size_t i = 0; i < status->n_details; i++) {
		const Modal__Any *any = status->details[i];
		size_t len = any->type_url ? strlen(any->type_url) : 0;
		Modal__RpcRetryPolicy *policy;

		if (len < sizeof name - 1 || strcmp(any->type_url + len - (sizeof name - 1), name))
			continue;
		policy = modal__rpc_retry_policy__unpack(NULL, any->value.len, any->value.data);
		if (policy)
			ms = bounded_ms(policy->retry_after_secs);
		if (policy)
			modal__rpc_retry_policy__free_unpacked(policy, NULL);
	}
	return ms;
}

/* In base64 whose padding may be missing. */
static int64_t retry_after_ms(const struct grpc_stream *s)
{
	const char *details = http_header(s->exchange, "grpc-status-details-bin");
	AUTO_BUF struct buf text = BUF_INIT(DETAILS_MAX), bytes = BUF_INIT(DETAILS_MAX);
	Modal__RpcStatus *status = NULL;
	int64_t ms = -1;

	if (!details)
		return -1;
	buf_add_string(&text, details);
	while (!text.failed && text.len % 4)
		buf_add_byte(&text, '=');
	if (!text.failed &&
		base64_decode(&bytes, (const char *)text.bytes, text.len, NULL) == ERR_OK)
		status = modal__rpc_status__unpack(NULL, bytes.len, bytes.bytes);
	if (status) {
		ms = policy_ms(status);
		modal__rpc_status__free_unpacked(status, NULL);
	}
	return ms;
}

static bool parse_status(const char *text, enum grpc_status *out)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end == text || *end || number < 0 || number > GRPC_UNAUTHENTICATED)
		return false;
	*out = (enum grpc_status)number;
	return true;
}

/* The transport's failure counts only where the server did not say how it ended. */
static enum err settle(const struct grpc_stream *s, const struct error *transport,
	struct grpc_outcome *out, struct error *e)
{
	const char *status = http_header(s->exchange, "grpc-status");
	char words[WORDS_MAX + 1];

	*out = (struct grpc_outcome){ .retry_after_ms = retry_after_ms(s),
		.may_have_arrived = http_may_have_arrived(s->exchange) };
	if (status && !parse_status(status, &out->status))
		out->status = GRPC_UNKNOWN;
	else if (!status && transport->kind) {
		out->status = transport->kind == ERR_UNREACHABLE ? GRPC_UNAVAILABLE : GRPC_LOCAL;
		return error_set(e, transport->kind, "%s", transport->text);
	} else if (!status)
		out->status = of_http(http_status(s->exchange));
	put_words(s, words);
	if (status)
		return out->status ? error_set(e, kind_of(out->status), "modal: %s: %s", s->what,
					     *words ? words : error_words(kind_of(out->status)))
				   : ERR_OK;
	return error_set(e, kind_of(out->status), "modal: %s: HTTP status %d without gRPC's own",
		s->what, http_status(s->exchange));
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
	enum err kind = settle(s, transport, out, e);

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

enum err grpc_call(struct http *h, const struct call *call, const struct grpc_request *request,
	const ProtobufCMessageDescriptor *type, ProtobufCMessage **answer, struct grpc_outcome *out,
	struct error *e)
{
	AUTO_BUF struct buf bytes = BUF_INIT(GRPC_MESSAGE_MAX);
	struct grpc_stream *s;
	enum err kind;

	*out = (struct grpc_outcome){ .status = GRPC_LOCAL, .retry_after_ms = -1 };
	*answer = NULL;
	kind = grpc_begin(h, request, &s, e);
	if (kind)
		return kind;
	kind = read_single(s, call, &bytes, out, e);
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
