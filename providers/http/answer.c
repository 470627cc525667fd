#include "providers/http/frame.h"
#include "providers/http/retry.h"

#include <curl/curl.h>
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

/* The years 2020 and 2200: a date outside is ignored. */
#define DATE_MIN_S ((int64_t)1577836800)
#define DATE_MAX_S ((int64_t)7258118400)

int64_t http_date_s(const struct http_exchange *x)
{
	const char *date = http_header(x, "Date");
	int64_t date_s = date ? curl_getdate(date, NULL) : 0;

	return date_s >= DATE_MIN_S && date_s <= DATE_MAX_S ? date_s : 0;
}

/* A token that does not fit is refused: a part of it would be useless. */
static enum err note_headers(
	const struct http_exchange *x, struct http_answer *out, struct error *e)
{
	const char *token = http_header(x, "X-Next-Token"), *type = http_header(x, "Content-Type");
	const char *should_retry = http_header(x, "X-Should-Retry");

	out->date_s = http_date_s(x);
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
	/* The status of a foreign answer says nothing about the request. */
	out->status = x->transfer.outcome.is_foreign ? 0 : http_status(x);
	if (out->status >= 300)
		http_blot_secrets(x, out->body.bytes, out->body.len);
	out->may_have_arrived |= http_may_have_arrived(x);
	return kind;
}

static enum err perform_once(struct http *h, const struct call *call,
	const struct http_request *request, struct http_answer *out, bool *is_foreign,
	struct error *e)
{
	struct http_exchange *x;
	enum err kind;

	buf_reset(&out->body);
	kind = http_begin(h, request, &x, e);
	if (kind != ERR_OK)
		return kind;
	kind = http_read_answer(x, call, out, e);
	if (kind == ERR_OK) {
		kind = frame_check_whole(x, out, e);
		*is_foreign = kind != ERR_OK;
	}
	http_end(x);
	return kind;
}

/* Only a foreign answer is repeated here: exchange_conclude.c has repeated other failures. */
enum err http_perform(struct http *h, const struct call *call, const struct http_request *request,
	struct http_answer *out, struct error *e)
{
	unsigned most = request->flags & HTTP_REPEATABLE ? RETRY_MAX : 0;
	int64_t since_ms = call_since_ms(call), limit_ms = call_progress_ms(call);

	out->may_have_arrived = false;
	for (unsigned n = 0;; n++) {
		struct error why = { 0 };
		bool is_foreign = false;
		enum err kind = perform_once(h, call, request, out, &is_foreign, &why);
		int64_t pause_ms = retry_pause_ms(n, false, -1);

		if (kind == ERR_OK)
			return ERR_OK;
		if (!is_foreign || n >= most ||
			(limit_ms >= 0 && monotonic_ms() + pause_ms >= since_ms + limit_ms))
			return error_set(e, kind, "%s", why.text);
		kind = call_sleep(call, pause_ms, e);
		if (kind)
			return kind;
	}
}
