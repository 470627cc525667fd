/* Files of staging, as the bytes they are. */
#include "providers/aio/aio.h"

enum err aio_form_make(struct aio_form *f, const struct aio *a, const struct remote_upload *upload,
	struct error *e)
{
	enum err kind = multipart_init(&f->parts, e);

	if (kind)
		return kind;
	/* The order of the vendor's own client. */
	multipart_add_file(&f->parts, "file", "upload", upload->bytes, upload->len);
	multipart_add_text(&f->parts, "path", upload->path);
	kind = multipart_finish(&f->parts, e);
	multipart_content_type(&f->parts, f->type);
	f->ask = (struct rest_ask){ .method = HTTP_POST,
		.flags = HTTP_REPEATABLE,
		.path = "/v1/file/upload",
		.source = multipart_read,
		.source_context = &f->parts,
		.body_len = f->parts.len,
		.content_type = f->type,
		.what = "uploading",
		.id = a->address.id };
	return kind;
}

void aio_form_release(struct aio_form *f)
{
	multipart_release(&f->parts);
}

enum err aio_upload(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	const struct aio *a = context;
	AUTO_AIO_FORM struct aio_form form = { 0 };
	enum err kind = aio_form_make(&form, a, upload, e);

	return kind ? kind : rest_perform(&a->rest, call, &form.ask, NULL, e);
}

struct downloading {
	execute_sink sink;
	void *context;
};

static enum err pass_on(void *context, const void *bytes, size_t len, struct error *e)
{
	struct downloading *d = context;

	return d->sink(d->context, STREAM_OUT, bytes, len, e);
}

enum err aio_download(void *context, const struct call *call, const char *path, execute_sink sink,
	void *sink_context, struct error *e)
{
	const struct aio *a = context;
	struct downloading d = { sink, sink_context };
	AUTO_BUF struct buf target = BUF_INIT((size_t)32 * 1024);
	enum err kind;

	buf_add_string(&target, "/v1/file/download?path=");
	http_escape(&target, path, "/");
	kind = buf_check(&target, "a path to download", e);
	if (kind)
		return kind;
	return rest_stream(&a->rest, call,
		&(struct rest_ask){ .method = HTTP_GET,
			.flags = HTTP_REPEATABLE,
			.path = buf_text(&target),
			.what = "downloading",
			.id = a->address.id },
		pass_on, &d, e);
}
