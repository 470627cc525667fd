#include "providers/runloop/devbox_files.h"

#include "providers/base/cleanup.h"
#include "providers/json.h"

#include <limits.h>

/* A path in which every byte is escaped. */
#define BODY_MAX ((size_t)6 * PATH_MAX + 64)

/* ---- Storing ---- */

enum err devbox_upload_make(struct devbox_upload *u, const char *id,
	const struct remote_upload *upload, struct error *e)
{
	enum err kind;

	*u = (struct devbox_upload){ 0 };
	kind = devbox_request_make(
		&u->request, HTTP_POST, id, "storing a file", e, "%s", "/upload_file");
	if (!kind)
		kind = multipart_init(&u->form, e);
	if (kind)
		return kind;
	/* The service wants the path before the file. */
	multipart_add_text(&u->form, "path", upload->path);
	multipart_add_file(&u->form, "file", "file", upload->bytes, upload->len);
	multipart_content_type(&u->form, u->content_type);
	u->request.ask.flags |= HTTP_REPEATABLE;
	u->request.ask.content_type = u->content_type;
	u->request.ask.source = multipart_read;
	u->request.ask.source_context = &u->form;
	kind = multipart_finish(&u->form, e);
	u->request.ask.body_len = u->form.len;
	return kind;
}

void devbox_upload_release(struct devbox_upload *u)
{
	multipart_release(&u->form);
}

enum err devbox_store(const struct rest *r, const struct call *call, const char *id,
	const struct remote_upload *upload, struct error *e)
{
	struct devbox_upload u;
	enum err kind = devbox_upload_make(&u, id, upload, e);

	if (!kind)
		kind = rest_perform(r, call, &u.request.ask, NULL, e);
	devbox_upload_release(&u);
	return kind;
}

/* ---- Fetching ---- */

struct fetching {
	execute_sink sink;
	void *sink_context;
};

static enum err pass_on(void *context, const void *bytes, size_t len, struct error *e)
{
	const struct fetching *f = context;

	return f->sink(f->sink_context, STREAM_OUT, bytes, len, e);
}

enum err devbox_fetch(const struct rest *r, const struct call *call, const char *id,
	const char *path, execute_sink sink, void *sink_context, struct error *e)
{
	struct fetching fetching = { sink, sink_context };
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
	q.ask.flags |= HTTP_REPEATABLE;
	return rest_stream(r, call, &q.ask, pass_on, &fetching, e);
}
