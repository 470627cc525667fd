#include "providers/base/cleanup.h"
#include "providers/daytona/toolbox_inside.h"

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

/* The answer's length says whether the file came whole; a bulk download would say so in a form. */
enum err toolbox_download(const struct rest *r, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct download d = { .sink = sink, .sink_context = sink_context };
	AUTO_BUF struct buf url = BUF_INIT(PATH_BODY_MAX);
	struct rest_ask ask = {
		.method = HTTP_GET, .flags = HTTP_REPEATABLE, .what = "downloading a file"
	};

	buf_add_string(&url, "/files/download?path=");
	http_escape(&url, path, "/");
	ask.path = buf_text(&url);
	ask = toolbox_as_asked(ask, call);
	return url.failed ? buf_check(&url, "a path", e)
			  : rest_stream(r, call, &ask, take_bytes, &d, e);
}
