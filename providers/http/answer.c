#include "providers/http/http.h"

#include <stdio.h>
#include <string.h>

void http_answer_release(struct http_answer *a)
{
	buf_release(&a->body);
}

static enum err read_body(
	struct http_exchange *x, const struct call *call, struct buf *body, struct error *e)
{
	const void *bytes;
	size_t len;
	enum err kind;

	do {
		kind = http_read(x, call, &bytes, &len, e);
		if (kind == ERR_OK && len && !buf_add(body, bytes, len))
			return buf_check(body, "an answer", e);
	} while (kind == ERR_OK && len);
	return kind;
}

/* Part of a token is none. */
static enum err note_headers(
	const struct http_exchange *x, struct http_answer *out, struct error *e)
{
	const char *token = http_header(x, "X-Next-Token"), *type = http_header(x, "Content-Type");
	const char *should_retry = http_header(x, "X-Should-Retry");

	snprintf(out->content_type, sizeof out->content_type, "%s", type ? type : "");
	out->is_final = should_retry && !strcasecmp(should_retry, "false");
	if (token && strlen(token) >= sizeof out->next_token)
		return error_set(e, ERR_PROTOCOL, "the header X-Next-Token is too long");
	snprintf(out->next_token, sizeof out->next_token, "%s", token ? token : "");
	return ERR_OK;
}

enum err http_read_answer(
	struct http_exchange *x, const struct call *call, struct http_answer *out, struct error *e)
{
	enum err kind = read_body(x, call, &out->body, e);

	if (kind == ERR_OK)
		kind = note_headers(x, out, e);
	out->status = http_status(x);
	if (out->status >= 300)
		http_blot_secrets(x, out->body.bytes, out->body.len);
	out->may_have_arrived = http_may_have_arrived(x);
	return kind;
}

enum err http_perform(struct http *h, const struct call *call, const struct http_request *request,
	struct http_answer *out, struct error *e)
{
	struct http_exchange *x;
	enum err kind;

	buf_reset(&out->body);
	out->may_have_arrived = false;
	kind = http_begin(h, request, &x, e);
	if (kind != ERR_OK)
		return kind;
	kind = http_read_answer(x, call, out, e);
	http_end(x);
	return kind;
}
