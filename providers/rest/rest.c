#include "providers/rest/reader.h"

#include "providers/base/cleanup.h"
#include "providers/rest/form.h"

#include <assert.h>
#include <string.h>

/* Room for a sandbox's path with every byte escaped, and the text around it. */
#define URL_MAX ((size_t)32 * 1024)

/* ---- Life of a struct rest ---- */

char *rest_without_slashes(const char *url)
{
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	return strndup(url, len);
}

static void release_header(struct http_header *header)
{
	char *value = (char *)header->value;

	if (value && header->is_secret)
		explicit_bzero(value, strlen(value));
	free(value);
	free((char *)header->name);
}

void rest_release(struct rest *r)
{
	for (size_t i = 0; i < r->headers_count; i++)
		release_header(&r->headers[i]);
	free(r->headers);
	free(r->base_url);
	free(r->clock);
	*r = (struct rest){ 0 };
}

/* False: no memory. The copies made so far are in `r` in any case. */
static bool copy_headers(struct rest *r, const struct http_header *headers, size_t count)
{
	r->headers = calloc(count + 1, sizeof *r->headers);
	if (!r->headers)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct http_header *copy = &r->headers[r->headers_count++];

		*copy = (struct http_header){ .name = strdup(headers[i].name),
			.value = strdup(headers[i].value),
			.is_secret = headers[i].is_secret };
		if (!copy->name || !copy->value)
			return false;
	}
	return true;
}

enum err rest_init(struct rest *out, struct http *http, const char *vendor, const char *base_url,
	const struct http_header *headers, size_t headers_count, rest_verdict verdict,
	struct error *e)
{
	enum err kind = http_check_reach(http, base_url, e);

	*out = (struct rest){ .http = http, .vendor = vendor, .verdict = verdict };
	if (kind)
		return kind;
	out->base_url = rest_without_slashes(base_url);
	out->clock = calloc(1, sizeof *out->clock);
	if (out->base_url && out->clock && copy_headers(out, headers, headers_count))
		return ERR_OK;
	rest_release(out);
	return error_set(e, ERR_NO_MEMORY, "%s", vendor);
}

/* ---- Making a request ---- */

struct sending {
	struct http_request request;
	struct http_header *headers;
	struct buf url;
	struct rest_form_body form;
};

static void sending_release(struct sending *s)
{
	free(s->headers);
	buf_release(&s->url);
	rest_form_release(&s->form);
}
#define AUTO_SENDING __attribute__((cleanup(sending_release)))

/* The last header of a name counts. */
static void put_header(struct sending *s, const struct http_header *header)
{
	size_t at = 0;

	while (at < s->request.headers_count && strcasecmp(s->headers[at].name, header->name))
		at++;
	s->headers[at] = *header;
	if (at == s->request.headers_count)
		s->request.headers_count++;
}

static bool put_headers(struct sending *s, const struct rest *r, const struct rest_ask *ask)
{
	const char *type = ask->content_type ? ask->content_type : "application/json";
	bool is_form = ask->form.file_field != NULL;

	s->headers = calloc(r->headers_count + ask->headers_count + 2, sizeof *s->headers);
	if (!s->headers)
		return false;
	put_header(s, &(struct http_header){ .name = "Accept", .value = "application/json" });
	if (ask->body || is_form)
		put_header(s,
			&(struct http_header){
				.name = "Content-Type", .value = is_form ? s->form.type : type });
	for (size_t i = 0; i < r->headers_count; i++)
		put_header(s, &r->headers[i]);
	for (size_t i = 0; i < ask->headers_count; i++)
		put_header(s, &ask->headers[i]);
	s->request.headers = s->headers;
	return true;
}

static uint64_t body_len(const struct rest_ask *ask)
{
	return ask->body && !ask->body_len ? strlen(ask->body) : ask->body_len;
}

static enum err put_form(struct sending *s, const struct rest_ask *ask, struct error *e)
{
	enum err kind = rest_form_make(&s->form, &ask->form, e);

	s->request.source = rest_form_read;
	s->request.source_context = &s->form;
	s->request.body_len = rest_form_len(&s->form);
	return kind;
}

static enum err prepare(
	struct sending *s, const struct rest *r, const struct rest_ask *ask, struct error *e)
{
	const struct vendor_frame *frame;
	enum err kind;

	*s = (struct sending){ .url = BUF_INIT(URL_MAX) };
	buf_printf(&s->url, "%s%s", r->base_url, ask->path);
	if (ask->about)
		http_escape(&s->url, ask->about, "");
	if (ask->below)
		buf_add_string(&s->url, ask->below);
	if (ask->file)
		http_escape(&s->url, ask->file, "/");
	if (s->url.failed)
		return error_set(
			e, ERR_INVALID, "%s: %s: the URL is too long", r->vendor, ask->what);
	frame = ask->frame ? ask->frame : r->frame;
	s->request = (struct http_request){ .method = ask->method,
		.frame = frame ? &frame->http : NULL,
		.flags = ask->flags,
		.url = buf_text(&s->url),
		.body = ask->body,
		.body_len = body_len(ask) };
	kind = ask->form.file_field ? put_form(s, ask, e) : ERR_OK;
	if (kind)
		return kind;
	return put_headers(s, r, ask) ? ERR_OK
				      : error_set(e, ERR_NO_MEMORY, "%s: %s", r->vendor, ask->what);
}

enum err rest_begin(const struct rest *r, const struct rest_ask *ask, struct http_exchange **out,
	struct error *e)
{
	AUTO_SENDING struct sending s;
	enum err kind = prepare(&s, r, ask, e);

	assert(!ask->form.file_field); /* the form would end with this call */
	return kind ? kind : http_begin(r->http, &s.request, out, e);
}

/* ---- The meaning of an answer ---- */

static bool is_good(int status)
{
	return status >= 200 && status < 300;
}

static enum err refusal_kind(int status)
{
	switch (status) {
	case 400:
	case 422: return ERR_INVALID;
	case 401:
	case 403: return ERR_AUTH;
	case 404: return ERR_NOT_FOUND;
	case 409: return ERR_BUSY;
	case 413: return ERR_TOO_LARGE;
	case 429: return ERR_QUOTA;
	default: return status >= 500 ? ERR_UNREACHABLE : ERR_PROTOCOL;
	}
}

enum err rest_refuse(const struct rest *r, const struct rest_ask *ask, int status,
	const char *words, struct error *e)
{
	return error_set(e, refusal_kind(status), "%s:%s: %s: %d%s%s", r->vendor,
		ask->id ? ask->id : "", ask->what, status, *words ? ": " : "", words);
}

enum err rest_no_json(const struct rest *r, const struct rest_ask *ask, struct error *e)
{
	struct error why = { 0 };

	error_set(&why, ERR_UNREACHABLE, "%s: %s: the answer is not JSON", r->vendor, ask->what);
	foreign_note(http_foreign(r->http), why.text);
	return error_set(e, why.kind, "%s", why.text);
}

static enum err check_answer(const struct rest *r, const struct rest_ask *ask,
	const struct http_answer *answer, struct json_object **json, struct error *e)
{
	AUTO_JSON struct json_object *value = NULL;
	bool is_json = rest_parse(&answer->body, &value);
	enum err kind = r->verdict(r, ask, answer->status, value, answer, e);

	if (kind || !json)
		return kind;
	if (!is_json && answer->body.len)
		return rest_no_json(r, ask, e);
	*json = take(value);
	return ERR_OK;
}

/* ---- Small answers ---- */

enum err rest_send(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	struct http_answer *out, struct error *e)
{
	AUTO_SENDING struct sending s;
	enum err kind = prepare(&s, r, ask, e);

	if (!kind)
		kind = http_perform(r->http, call, &s.request, out, e);
	if (!kind)
		server_clock_note(r->clock, out->date_s);
	return kind;
}

enum err rest_perform(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	struct json_object **json, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	enum err kind = rest_send(r, call, ask, &answer, e);

	return kind ? kind : check_answer(r, ask, &answer, json, e);
}

/* There is no idempotency key: after a lost answer the caller has to look. */
static bool may_be_made(const struct http_answer *answer)
{
	return answer->status ? is_good(answer->status) : answer->may_have_arrived;
}

enum err rest_make(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	const char *id_name, struct json_object **json, char *id, size_t room, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error why = { 0 };
	enum err kind = rest_send(r, call, ask, &answer, &why);

	*id = 0;
	if (!kind)
		kind = check_answer(r, ask, &answer, json, &why);
	if (!kind)
		return ERR_OK;
	if (is_good(answer.status))
		rest_find_text(&answer.body, id_name, id, room);
	if (!*id && may_be_made(&answer))
		return error_set(e, kind, "%.250s" REST_MAY_EXIST, why.text, r->vendor);
	return error_set(e, kind, "%s", why.text);
}

static enum err read_and_check(const struct rest *r, const struct call *call,
	const struct rest_ask *ask, struct http_exchange *x, struct json_object **json,
	struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	enum err kind = http_read_answer(x, call, &answer, e);

	return kind ? kind : check_answer(r, ask, &answer, json, e);
}

enum err rest_perform_both(const struct rest *r, const struct call *call,
	const struct rest_ask *first, struct json_object **json, bool *first_arrived,
	const struct rest_ask *second, struct error *e)
{
	struct http_exchange *x;
	enum err kind;

	*first_arrived = false;
	kind = rest_begin(r, first, &x, e);
	if (kind)
		return kind;
	kind = rest_perform(r, call, second, NULL, e);
	if (!kind)
		kind = read_and_check(r, call, first, x, json, e);
	*first_arrived = http_may_have_arrived(x);
	http_end(x);
	return kind;
}

/* ---- A body in pieces ---- */

/* Bytes that do not arrive, or do not fit, are not needed for the reason. */
enum err rest_read_verdict(const struct rest *r, const struct call *call,
	const struct rest_ask *ask, struct http_exchange *x, const void *bytes, size_t len,
	struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;

	answer.status = http_status(x);
	answer.may_have_arrived = http_may_have_arrived(x);
	while (len && buf_add(&answer.body, bytes, len))
		if (http_read(x, call, &bytes, &len, NULL) != ERR_OK)
			break;
	http_blot_secrets(x, answer.body.bytes, answer.body.len);
	return check_answer(r, ask, &answer, NULL, e);
}

static enum err pass_on(struct http_exchange *x, const struct call *call, rest_sink sink,
	void *context, const void *bytes, size_t len, struct error *e)
{
	enum err kind = ERR_OK;

	while (!kind && len) {
		kind = sink(context, bytes, len, e);
		if (!kind)
			kind = http_read(x, call, &bytes, &len, e);
	}
	return kind;
}

enum err rest_stream(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	rest_sink sink, void *context, struct error *e)
{
	struct http_exchange *x;
	const void *bytes;
	size_t len;
	enum err kind = rest_begin(r, ask, &x, e);

	if (kind)
		return kind;
	kind = http_read(x, call, &bytes, &len, e);
	if (!kind && is_good(http_status(x)))
		kind = pass_on(x, call, sink, context, bytes, len, e);
	else if (!kind)
		kind = rest_read_verdict(r, call, ask, x, bytes, len, e);
	http_end(x);
	return kind;
}

static enum err read_piece(void *context, const void *bytes, size_t len, struct error *e)
{
	return rest_reader_add(context, bytes, len, e);
}

enum err rest_perform_large(const struct rest *r, const struct call *call,
	const struct rest_ask *ask, struct json_object **json, struct error *e)
{
	struct rest_reader reader;
	struct error why = { 0 };

	rest_reader_begin(&reader, 0);
	enum err kind = rest_stream(r, call, ask, read_piece, &reader, &why);
	bool is_json = !kind && rest_reader_end(&reader, json);

	rest_reader_release(&reader);
	if (kind)
		return error_set(e, kind, "%s", why.text);
	return is_json ? ERR_OK : rest_no_json(r, ask, e);
}
