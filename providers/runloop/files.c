#include "providers/runloop/files.h"

#include "providers/base/cleanup.h"
#include "providers/json.h"

#include <limits.h>

/* A path in which every byte is escaped. */
#define BODY_MAX ((size_t)6 * PATH_MAX + 64)

enum err devbox_upload_make(struct devbox_request *q, const char *id,
	const struct remote_upload *upload, struct error *e)
{
	enum err kind =
		devbox_request_make(q, HTTP_POST, id, "storing a file", e, "%s", "/upload_file");

	q->ask.flags |= HTTP_REPEATABLE;
	/*
	 * Uploads that starve each other are given up with 408: an immediate repetition makes that
	 * worse.
	 */
	q->ask.flags &= ~(unsigned)HTTP_LATENESS_PASSES;
	/* The service wants the path before the file. */
	q->ask.form = (struct rest_form){ .path_field = "path",
		.path = upload->path,
		.file_field = "file",
		.bytes = upload->bytes,
		.len = upload->len };
	return kind;
}

enum err devbox_store(const struct rest *r, const struct call *call, const char *id,
	const struct remote_upload *upload, struct error *e)
{
	struct devbox_request q;
	enum err kind = devbox_upload_make(&q, id, upload, e);

	return kind ? kind : rest_perform(r, call, &q.ask, NULL, e);
}

enum err devbox_fetch(const struct rest *r, const struct call *call, const char *id,
	const char *path, execute_sink sink, void *sink_context, struct error *e)
{
	struct remote_bytes to = { sink, sink_context };
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	struct json_writer w = { .out = &body };
	struct devbox_request q;
	enum err kind = devbox_request_make(
		&q, HTTP_POST, id, "fetching a file", e, "%s", "/download_file");

	json_put_open(&w, NULL);
	json_put_text(&w, "path", path);
	json_put_close(&w);
	if (!kind)
		kind = buf_check(&body, "a path", e);
	if (kind)
		return kind;
	q.headers[q.ask.headers_count++] =
		(struct http_header){ .name = "Accept", .value = "application/octet-stream" };
	q.ask.body = buf_text(&body);
	q.ask.flags |= HTTP_REPEATABLE | HTTP_BULK;
	q.ask.frame = &devbox_file_frame;
	return rest_stream(r, call, &q.ask, remote_bytes_take, &to, e);
}
