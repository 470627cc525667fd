#include "providers/e2b/envd_client.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/e2b/refusal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of an answer that says why something was not done, so much is kept. */
#define REFUSAL_MAX ((size_t)64 * 1024)
/* A path whose every byte is escaped, and what stands around it. */
#define URL_MAX ((size_t)3 * PATH_LENGTH_MAX + 4096)

/* *url is allocated and must outlive the request. */
static enum err files_request(const struct envd *d, enum http_method method, const char *path,
	char **url, struct http_request *out, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(URL_MAX);

	buf_printf(&text, "%s/files?path=", d->base_url);
	http_escape(&text, path, "/");
	if (d->user) {
		buf_add_string(&text, "&username=");
		http_escape(&text, d->user, "");
	}
	if (text.failed)
		return buf_check(&text, "the address of a file", e);
	*url = (char *)take(text.bytes);
	*out = (struct http_request){ .method = method,
		.flags = ENVD_HTTP | HTTP_REPEATABLE,
		.url = *url,
		.headers = d->headers,
		.headers_count = d->file_headers };
	return ERR_OK;
}

/* `bytes`: what http_read() gave first. */
static enum err read_refusal(struct http_exchange *x, const struct call *call, const void *bytes,
	size_t len, const char *path, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(REFUSAL_MAX);
	bool is_untouched;

	while (len && buf_add(&body, bytes, len))
		if (http_read(x, call, &bytes, &len, NULL) != ERR_OK)
			break;
	http_blot_secrets(x, body.bytes, body.len);
	return refusal_of_status(http_status(x), body.bytes, body.len, path, &is_untouched, e);
}

/* ---- Storing ---- */

enum err envd_post_begin(
	struct envd *d, const struct envd_upload *upload, struct envd_post *out, struct error *e)
{
	struct http_header headers[ENVD_HEADERS_MAX + 1];
	struct http_request request;
	enum err kind;

	*out = (struct envd_post){ 0 };
	kind = files_request(d, HTTP_POST, upload->path, &out->url, &request, e);
	if (kind != ERR_OK)
		return kind;
	memcpy(headers, request.headers, request.headers_count * sizeof *headers);
	/* A form (multipart) is older, but names the file in a header that does not carry every byte. */
	headers[request.headers_count++] =
		(struct http_header){ .name = "Content-Type", .value = "application/octet-stream" };
	request.headers = headers;
	request.body = upload->bytes;
	request.body_len = upload->len;
	request.source = upload->bytes ? NULL : upload->source;
	request.source_context = upload->source_context;
	return http_begin(d->http, &request, &out->exchange, e);
}

/* The answer says nothing that we do not know, and calls its JSON text; it is read so that the connection is free again. */
enum err envd_post_read(struct envd_post *p, const struct call *call, const char *path,
	bool *is_over, struct error *e)
{
	const void *bytes;
	size_t len;
	enum err kind = http_read(p->exchange, call, &bytes, &len, e);

	*is_over = false;
	if (kind != ERR_OK)
		return kind;
	if (http_status(p->exchange) != 200)
		return read_refusal(p->exchange, call, bytes, len, path, e);
	*is_over = !len;
	return ERR_OK;
}

void envd_post_end(struct envd_post *p)
{
	if (p->exchange)
		http_end(p->exchange);
	free(p->url);
	*p = (struct envd_post){ 0 };
}

enum err envd_store(
	struct envd *d, const struct call *call, const struct envd_upload *upload, struct error *e)
{
	struct envd_post post;
	enum err kind = envd_post_begin(d, upload, &post, e);
	bool is_over = false;

	while (kind == ERR_OK && !is_over)
		kind = envd_post_read(&post, call, upload->path, &is_over, e);
	envd_post_end(&post);
	return kind;
}

/* ---- Fetching ---- */

struct fetch {
	struct http_exchange *exchange;
	const char *path;
	uint64_t offset, len; /* what is wanted */
	execute_sink sink;
	void *context;
	uint64_t at;   /* of the file, where the next byte of the answer belongs */
	uint64_t end;  /* of the answer's part; UINT64_MAX: not told */
	uint64_t size; /* of the file; UINT64_MAX: not told */
};

static bool is_whole(const struct fetch *f)
{
	return !f->offset && f->len == FETCH_TO_END;
}

/* One past the last wanted byte. */
static uint64_t wanted_end(const struct fetch *f)
{
	return f->len > UINT64_MAX - f->offset ? UINT64_MAX : f->offset + f->len;
}

/* Where nothing is wanted, one byte is asked for: its answer tells the size. */
static bool put_range(char *out, size_t room, const struct fetch *f)
{
	uint64_t last = f->len ? wanted_end(f) - 1 : f->offset;

	if (is_whole(f))
		return false;
	if (f->len == FETCH_TO_END)
		snprintf(out, room, "bytes=%" PRIu64 "-", f->offset);
	else
		snprintf(out, room, "bytes=%" PRIu64 "-%" PRIu64, f->offset, last);
	return true;
}

/* 206: "bytes 10-15/16". */
static enum err understand_part(struct fetch *f, struct error *e)
{
	const char *range = http_header(f->exchange, "Content-Range");
	uint64_t last;

	if (!range ||
		sscanf(range, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, &f->at, &last, &f->size) !=
			3 ||
		f->at != f->offset || last < f->at || last >= f->size)
		return error_set(e, ERR_PROTOCOL,
			"E2B: %s: sent another range than was asked for: %.80s", f->path,
			range ? range : "none");
	f->end = last + 1;
	return ERR_OK;
}

/* 416, "bytes * /16": what is wanted begins behind the file's end. */
static enum err understand_nothing(struct fetch *f, struct error *e)
{
	const char *range = http_header(f->exchange, "Content-Range");

	if (!range || sscanf(range, "bytes */%" SCNu64, &f->size) != 1 || f->size > f->offset)
		return error_set(
			e, ERR_PROTOCOL, "E2B: %s: refused a range and did not say why", f->path);
	f->at = f->end = f->size;
	return ERR_OK;
}

static enum err understand_head(
	struct fetch *f, const struct call *call, const void *bytes, size_t len, struct error *e)
{
	switch (http_status(f->exchange)) {
	case 200: return ERR_OK; /* the whole; so an empty file answers every range */
	case 206: return understand_part(f, e);
	case 416: return understand_nothing(f, e);
	default: return read_refusal(f->exchange, call, bytes, len, f->path, e);
	}
}

/* Passes on what of the piece is wanted. */
static enum err deliver(struct fetch *f, const unsigned char *bytes, size_t len, struct error *e)
{
	uint64_t from = f->at > f->offset ? f->at : f->offset;
	uint64_t to = f->at + len < wanted_end(f) ? f->at + len : wanted_end(f);
	uint64_t skipped = from - f->at;

	if (len > f->end - f->at)
		return error_set(e, ERR_PROTOCOL, "E2B: %s: more bytes than announced", f->path);
	f->at += len;
	return from < to ? f->sink(f->context, STREAM_OUT, bytes + skipped, to - from, e) : ERR_OK;
}

static enum err read_body(
	struct fetch *f, const struct call *call, const void *bytes, size_t len, struct error *e)
{
	enum err kind = ERR_OK;

	while (kind == ERR_OK && len) {
		kind = deliver(f, bytes, len, e);
		if (kind == ERR_OK)
			kind = http_read(f->exchange, call, &bytes, &len, e);
	}
	if (kind == ERR_OK && f->end != UINT64_MAX && f->at != f->end)
		kind = error_set(e, ERR_UNREACHABLE, "E2B: %s: the answer was cut off", f->path);
	return kind;
}

static enum err read_answer(struct fetch *f, const struct call *call, struct error *e)
{
	const void *bytes;
	size_t len;
	enum err kind = http_read(f->exchange, call, &bytes, &len, e);

	if (kind == ERR_OK)
		kind = understand_head(f, call, bytes, len, e);
	/* The words that come with it are no contents. */
	if (kind == ERR_OK && http_status(f->exchange) != 416)
		kind = read_body(f, call, bytes, len, e);
	if (kind == ERR_OK && f->size == UINT64_MAX)
		f->size = f->at;
	return kind;
}

enum err envd_fetch(struct envd *d, const struct call *call, const char *path, uint64_t offset,
	uint64_t len, execute_sink sink, void *context, uint64_t *size, struct error *e)
{
	struct fetch f = { .path = path,
		.offset = offset,
		.len = len,
		.sink = sink,
		.context = context,
		.end = UINT64_MAX,
		.size = UINT64_MAX };
	struct http_header headers[ENVD_HEADERS_MAX + 1];
	struct http_request request;
	AUTO_FREE char *url = NULL;
	char range[64];
	enum err kind = files_request(d, HTTP_GET, path, &url, &request, e);

	if (kind != ERR_OK)
		return kind;
	memcpy(headers, request.headers, request.headers_count * sizeof *headers);
	if (put_range(range, sizeof range, &f))
		headers[request.headers_count++] =
			(struct http_header){ .name = "Range", .value = range };
	request.headers = headers;
	kind = http_begin(d->http, &request, &f.exchange, e);
	if (kind != ERR_OK)
		return kind;
	kind = read_answer(&f, call, e);
	http_end(f.exchange);
	if (kind == ERR_OK)
		*size = f.size;
	return kind;
}
