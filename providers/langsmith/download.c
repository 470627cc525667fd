/* Downloads of files, resumed where they broke off. */
#include "providers/base/cleanup.h"
#include "providers/langsmith/files.h"
#include "providers/langsmith/langsmith.h"
#include "providers/langsmith/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The most attempts in a row that break without a new byte. */
#define FAILURES_MAX 3

/* ---- Requests ---- */

/* `range`: room for the value of the Range header. */
static size_t make_headers(
	const struct file_fetch *f, struct http_header headers[3], char range[40])
{
	size_t count = 0;

	headers[count++] = (struct http_header){ .name = "Accept", .value = "*/*" };
	if (!f->done)
		return count;
	snprintf(range, 40, "bytes=%" PRIu64 "-", f->done);
	headers[count++] = (struct http_header){ .name = "Range", .value = range };
	if (*f->tag)
		headers[count++] = (struct http_header){ .name = "If-Range", .value = f->tag };
	return count;
}

/* ---- Answers ---- */

static enum err say_changed(const struct file_fetch *f, struct error *e)
{
	return error_set(e, ERR_STALE,
		"langsmith:%s: a file in the sandbox changed while it was read", f->id);
}

static const char *tag_of(const struct http_exchange *x)
{
	const char *tag = http_header(x, "ETag");

	/* A weak tag does not promise the same bytes. */
	return tag && *tag == '"' && strlen(tag) < FILE_TAG_SIZE ? tag : "";
}

/* The whole file comes the first time, after a change, or from a server that knows no ranges. */
static enum err begin_whole(struct file_fetch *f, const struct http_exchange *x, struct error *e)
{
	const char *tag = tag_of(x);

	if (f->done && strcmp(f->tag, tag) != 0)
		return say_changed(f, e);
	f->skip = f->done;
	snprintf(f->tag, sizeof f->tag, "%s", tag);
	return ERR_OK;
}

static enum err begin_range(struct file_fetch *f, const struct http_exchange *x, struct error *e)
{
	const char *range = http_header(x, "Content-Range");
	uint64_t from;

	f->skip = 0;
	if (!f->done || !range || sscanf(range, "bytes %" SCNu64 "-", &from) != 1 ||
		from != f->done)
		return error_set(e, ERR_PROTOCOL,
			"langsmith:%s: the service gives another range than was asked for", f->id);
	return strcmp(f->tag, tag_of(x)) ? say_changed(f, e) : ERR_OK;
}

/* Whether the file has no more bytes: the last transfer broke off at the file's very end. */
static bool is_at_end(const struct file_fetch *f, const struct http_exchange *x)
{
	const char *range = http_header(x, "Content-Range");
	uint64_t size;

	return range && sscanf(range, "bytes */%" SCNu64, &size) == 1 && f->done && size == f->done;
}

static enum err pass_on(struct file_fetch *f, const void *bytes, size_t len, struct error *e)
{
	size_t old = f->skip < len ? (size_t)f->skip : len;
	enum err kind = len > old
		? f->sink(f->sink_context, STREAM_OUT, (const char *)bytes + old, len - old, e)
		: ERR_OK;

	f->skip -= old;
	f->done += len - old;
	f->has_refused = kind != ERR_OK;
	return kind;
}

static enum err pass_all_on(struct file_fetch *f, struct http_exchange *x, const struct call *call,
	const void *bytes, size_t len, struct error *e)
{
	enum err kind = ERR_OK;

	while (!kind && len) {
		kind = pass_on(f, bytes, len, e);
		if (!kind)
			kind = http_read(x, call, &bytes, &len, e);
	}
	return kind;
}

static enum err take_answer(struct file_fetch *f, const struct rest *r, const struct call *call,
	const struct rest_ask *ask, struct http_exchange *x, struct error *e)
{
	const void *bytes;
	size_t len;
	enum err kind = http_read(x, call, &bytes, &len, e);

	if (kind)
		return kind;
	if (http_status(x) == 416 && is_at_end(f, x))
		return ERR_OK;
	if (http_status(x) != 200 && http_status(x) != 206)
		return rest_read_verdict(r, call, ask, x, bytes, len, e);
	kind = http_status(x) == 206 ? begin_range(f, x, e) : begin_whole(f, x, e);
	return kind ? kind : pass_all_on(f, x, call, bytes, len, e);
}

/* ---- A whole file ---- */

static enum err fetch_once(
	struct file_fetch *f, const struct rest *r, const struct call *call, struct error *e)
{
	struct http_header headers[3];
	char range[40];
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE | HTTP_INTERNAL_ERROR_IS_FINAL | HTTP_BULK,
		.path = "/download?path=",
		.file = f->path,
		.headers = headers,
		.headers_count = make_headers(f, headers, range),
		.what = "reading a file",
		.id = f->id,
		.frame = &langsmith_file_frame };
	struct http_exchange *x;
	enum err kind = rest_begin(r, &ask, &x, e);

	if (kind)
		return kind;
	kind = take_answer(f, r, call, &ask, x, e);
	http_end(x);
	return kind;
}

enum err file_fetch(
	struct file_fetch *f, const struct rest *r, const struct call *call, struct error *e)
{
	struct error why;
	unsigned failures = 0;
	enum err kind;

	do {
		uint64_t before = f->done;

		why = (struct error){ 0 };
		kind = fetch_once(f, r, call, &why);
		failures = f->done > before ? 0 : failures + 1;
	} while (kind == ERR_UNREACHABLE && f->done && !f->has_refused && failures < FAILURES_MAX);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err step(struct langsmith *l, const struct call *call, void *context, struct error *e)
{
	return file_fetch(context, &l->data, call, e);
}

enum err langsmith_download(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct langsmith *l = context;
	struct file_fetch f = {
		.path = path, .id = l->at.id, .sink = sink, .sink_context = sink_context
	};

	return langsmith_reach(l, call, step, &f, e);
}
