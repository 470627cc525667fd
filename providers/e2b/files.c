#include "providers/e2b/envd_client.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/e2b/verdict.h"
#include "providers/rest/form.h"

#include <string.h>

/* The most of a refusal that is kept. */
#define REFUSAL_MAX ((size_t)64 * 1024)
/* Room for a path whose every byte is escaped, and for the rest of the URL. */
#define URL_MAX ((size_t)3 * PATH_LENGTH_MAX + 4096)

/* *url is allocated and must outlive the request. */
static enum err files_request(const struct envd *d, const char *path, char **url,
	struct http_request *out, struct error *e)
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
	*out = (struct http_request){ .method = HTTP_POST,
		.flags = ENVD_HTTP | HTTP_REPEATABLE,
		.url = *url,
		.headers = d->headers,
		.headers_count = d->file_headers,
		.frame = &e2b_files_frame.http };
	return ERR_OK;
}

/* `bytes`: the first piece that http_read() gave. */
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

/*
 * The body is one piece: a command waits on http_fd(), which is for exchanges without a source.
 */
static enum err make_form(struct buf *out, const struct rest_form_body *form, struct error *e)
{
	size_t len = (size_t)rest_form_len(form);
	unsigned char *place;

	*out = (struct buf)BUF_INIT(len);
	place = buf_reserve(out, len);
	if (!place)
		return buf_check(out, "an upload", e);
	buf_filled(out, len);
	return rest_form_read((void *)form, 0, place, len, e);
}

static enum err begin_post(struct envd *d, struct envd_post *p, struct http_request *request,
	const char *type, struct error *e)
{
	struct http_header headers[ENVD_HEADERS_MAX + 1];

	memcpy(headers, request->headers, request->headers_count * sizeof *headers);
	headers[request->headers_count++] =
		(struct http_header){ .name = "Content-Type", .value = type };
	request->headers = headers;
	return http_begin(d->http, request, &p->exchange, e);
}

/* The path stands in the URL: a form's name of the file cannot have every byte. */
static enum err begin_form(struct envd *d, const struct remote_upload *upload, struct envd_post *p,
	struct http_request *request, struct error *e)
{
	const struct rest_form form = {
		.file_field = "file", .bytes = upload->bytes, .len = upload->len
	};
	struct rest_form_body body;
	enum err kind = rest_form_make(&body, &form, e);

	if (kind == ERR_OK)
		kind = make_form(&p->form, &body, e);
	request->body = p->form.bytes;
	request->body_len = p->form.len;
	if (kind == ERR_OK)
		kind = begin_post(d, p, request, body.type, e);
	rest_form_release(&body);
	return kind;
}

enum err envd_post_begin(
	struct envd *d, const struct remote_upload *upload, struct envd_post *out, struct error *e)
{
	struct http_request request;
	enum err kind;

	*out = (struct envd_post){ 0 };
	kind = files_request(d, upload->path, &out->url, &request, e);
	if (kind != ERR_OK)
		return kind;
	if (!(d->features & ENVD_TAKES_RAW_FILES))
		return begin_form(d, upload, out, &request, e);
	request.body = upload->bytes;
	request.body_len = upload->len;
	return begin_post(d, out, &request, "application/octet-stream", e);
}

/*
 * The answer has nothing new, and its type is text though it is JSON. The answer is read so that
 * the connection is free again.
 */
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
	buf_release(&p->form);
	*p = (struct envd_post){ 0 };
}

enum err envd_store(struct envd *d, const struct call *call, const struct remote_upload *upload,
	struct error *e)
{
	struct envd_post post;
	enum err kind = envd_post_begin(d, upload, &post, e);
	bool is_over = false;

	while (kind == ERR_OK && !is_over)
		kind = envd_post_read(&post, call, upload->path, &is_over, e);
	envd_post_end(&post);
	return kind;
}
