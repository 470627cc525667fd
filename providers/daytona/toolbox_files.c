#include "providers/base/cleanup.h"
#include "providers/base/utf8.h"
#include "providers/daytona/parts.h"
#include "providers/daytona/toolbox_inside.h"
#include "providers/json.h"

#include <string.h>

/* A path of which every byte is escaped. */
#define PATH_BODY_MAX ((size_t)32 * 1024)

/* ---- Uploads ---- */

/* What the daemon takes off both ends of a path. */
static bool is_trimmed(const char *path)
{
	static const char blanks[] = " \t\n\v\f\r";
	size_t len = strlen(path);

	return !len || strchr(blanks, path[0]) || strchr(blanks, path[len - 1]);
}

void toolbox_form_release(struct toolbox_form *f)
{
	multipart_release(&f->body);
}

/* The path stands before the file, or the daemon does not know where to put it. */
enum err toolbox_form_make(
	struct toolbox_form *f, const struct remote_upload *upload, struct error *e)
{
	enum err kind = multipart_init(&f->body, e);

	if (!kind && is_trimmed(upload->path))
		kind = error_set(e, ERR_INVALID,
			"daytona: '%s' cannot be uploaded: blanks at its ends", upload->path);
	if (kind)
		return kind;
	multipart_add_text(&f->body, "files[0].path", upload->path);
	multipart_add_file(&f->body, "files[0].file", "file", upload->bytes, upload->len);
	kind = multipart_finish(&f->body, e);
	multipart_content_type(&f->body, f->content_type);
	f->ask = (struct rest_ask){ .method = HTTP_POST,
		.flags = HTTP_REPEATABLE,
		.path = "/files/bulk-upload",
		.body_len = f->body.len,
		.content_type = f->content_type,
		.source = multipart_read,
		.source_context = &f->body,
		.what = "uploading a file" };
	return kind;
}

enum err toolbox_upload(const struct rest *r, const struct call *call,
	const struct remote_upload *upload, struct error *e)
{
	AUTO_TOOLBOX_FORM struct toolbox_form form = { 0 };
	enum err kind = toolbox_form_make(&form, upload, e);
	struct rest_ask ask = toolbox_as_asked(form.ask, call);

	return kind ? kind : rest_perform(r, call, &ask, NULL, e);
}

/* ---- Downloads ---- */

struct download {
	execute_sink sink;
	void *sink_context;
};

static enum err take_bytes(void *context, const void *bytes, size_t len, struct error *e)
{
	const struct download *d = context;

	return d->sink(d->sink_context, STREAM_OUT, bytes, len, e);
}

static enum err take_parts(void *context, const void *bytes, size_t len, struct error *e)
{
	return parts_take(context, bytes, len, e);
}

/* A list of one. */
static void put_paths(struct buf *body, const char *path)
{
	AUTO_BUF struct buf list = BUF_INIT(body->max);
	struct json_writer element = { .out = &list }, object = { .out = body };

	buf_add_byte(&list, '[');
	json_put_text(&element, NULL, path);
	buf_add_byte(&list, ']');
	json_put_open(&object, NULL);
	json_put_raw(&object, "paths", buf_text(&list));
	json_put_close(&object);
	body->failed |= list.failed;
}

/* The way of the SDK: it says how each file failed, and that it was whole. */
static enum err download_part(const struct rest *r, const struct call *call, const char *path,
	struct download *d, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(PATH_BODY_MAX);
	AUTO_PARTS struct parts_reader parts;
	struct rest_ask ask = { .method = HTTP_POST,
		.flags = HTTP_REPEATABLE,
		.path = "/files/bulk-download",
		.what = "downloading a file" };
	enum err kind;

	put_paths(&body, path);
	ask.body = buf_text(&body);
	ask = toolbox_as_asked(ask, call);
	parts_init(&parts, take_bytes, d);
	kind = buf_check(&body, "a path", e);
	if (!kind)
		kind = rest_stream(r, call, &ask, take_parts, &parts, e);
	return kind ? kind : parts_end(&parts, e);
}

/* For a path that is no UTF-8, which JSON does not carry. */
static enum err download_alone(const struct rest *r, const struct call *call, const char *path,
	struct download *d, struct error *e)
{
	AUTO_BUF struct buf url = BUF_INIT(PATH_BODY_MAX);
	struct rest_ask ask = {
		.method = HTTP_GET, .flags = HTTP_REPEATABLE, .what = "downloading a file"
	};

	buf_add_string(&url, "/files/download?path=");
	http_escape(&url, path, "/");
	ask.path = buf_text(&url);
	ask = toolbox_as_asked(ask, call);
	return url.failed ? buf_check(&url, "a path", e)
			  : rest_stream(r, call, &ask, take_bytes, d, e);
}

enum err toolbox_download(const struct rest *r, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct download d = { .sink = sink, .sink_context = sink_context };

	return utf8_valid(path, strlen(path)) ? download_part(r, call, path, &d, e)
					      : download_alone(r, call, path, &d, e);
}
