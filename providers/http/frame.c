#include "providers/http/frame.h"

#include "providers/http/request.h"
#include "providers/http/secrets.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The length of the quoted answer in an error. */
#define QUOTED_MAX 120
/* For a person: the source of that limit. */
#define TOO_LARGE                                                                                  \
	"what stands before the service takes no larger request (nginx: client_max_body_size)"

static bool is_good(int status)
{
	return status >= 200 && status < 300;
}

/* ---- Types ---- */

/* Whether `type` without its parameters is `name`: "text/html; charset=utf-8" is text/html. */
static bool is_type(const char *type, const char *name, size_t len)
{
	return !strncasecmp(type, name, len) && (!type[len] || strchr(";+ \t", type[len]));
}

static bool is_wanted(const char *types, const char *type)
{
	if (!types)
		return !is_type(type, "text/html", strlen("text/html"));
	while (*types) {
		size_t len = strcspn(types, " ");

		if (is_type(type, types, len))
			return true;
		types += len + (types[len] == ' ');
	}
	return false;
}

bool frame_holds(const struct http_frame *frame, int status, const char *type)
{
	return frame && status >= 200 &&
		!(is_good(status) && is_wanted(frame->types, type ? type : ""));
}

/* ---- Own or foreign ---- */

static const char *type_of(const struct http_exchange *x)
{
	const char *type = fields_find(&x->transfer.fields, "Content-Type");

	return type ? type : "";
}

/* Whether the answer is the service's. A good answer without a body says enough by its status. */
static bool is_own(const struct http_frame *frame, const struct http_said *said)
{
	if (is_good(said->status) && !is_wanted(frame->types, said->type))
		return !said->len && !*said->type;
	return frame->is_own(frame, said);
}

/* The first words of the body, in one line. `out` has room for QUOTED_MAX and the end. */
static void quote(char *out, const unsigned char *body, size_t len)
{
	size_t made = 0;

	for (size_t i = 0; i < len && made < QUOTED_MAX; i++) {
		unsigned char c = isspace(body[i]) ? ' ' : body[i];

		if (c != ' ' || (made && out[made - 1] != ' '))
			out[made++] = (char)c;
	}
	out[made] = 0;
}

static void describe(const struct http_exchange *x, const struct http_said *said, struct error *e)
{
	const struct transfer *t = &x->transfer;
	const char *hint = said->status == 413 ? TOO_LARGE : t->frame->hint;
	char words[QUOTED_MAX + 1];

	quote(words, said->body, said->len);
	error_set(e, ERR_UNREACHABLE, "%s %.150s: %d%s%.40s '%s' is no answer of the service's%s%s",
		request_method(t->method), t->shown, said->status, *said->type ? " " : "",
		said->type, words, hint ? "; " : "", hint ? hint : "");
	foreign_note(http_foreign(x->client), e->text);
}

/* ---- Results of the check ---- */

static struct http_said held_answer_locked(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;

	secrets_blot(x->secrets, t->window.bytes, t->window.len);
	return (struct http_said){ .status = t->outcome.status,
		.type = type_of(x),
		.body = t->window.bytes,
		.len = t->window.len,
		.is_whole = true,
		.is_query = t->method == HTTP_GET };
}

/* Whether the held answer has to be checked. A redirection that is followed has not. */
static bool must_be_checked(const struct http_exchange *x)
{
	const struct transfer *t = &x->transfer;

	return t->frame && t->is_held && !t->outcome.failure.kind && !exchange_may_follow(x);
}

void frame_conclude(struct http_exchange *x, const struct call *call)
{
	struct transfer *t = &x->transfer;

	pthread_mutex_lock(&t->lock);
	if (must_be_checked(x)) {
		const struct http_said said = held_answer_locked(x);

		t->outcome.is_foreign = !is_own(t->frame, &said);
		if (t->outcome.is_foreign) {
			describe(x, &said, &t->outcome.failure);
			if (said.status == 413)
				call_is_too_large(call);
			buf_reset(&t->window);
			transfer_tell_locked(t);
		}
	}
	pthread_mutex_unlock(&t->lock);
}

enum err frame_refuse(struct http_exchange *x, struct error *e)
{
	struct error own = { 0 };

	pthread_mutex_lock(&x->transfer.lock);
	const struct http_said said = held_answer_locked(x);

	describe(x, &said, &own);
	pthread_mutex_unlock(&x->transfer.lock);
	return error_set(e, own.kind, "%s", own.text);
}

enum err frame_check_whole(
	struct http_exchange *x, const struct http_answer *answer, struct error *e)
{
	const struct http_said said = { .status = answer->status,
		.type = type_of(x),
		.body = answer->body.bytes,
		.len = answer->body.len,
		.is_whole = true,
		.is_query = x->transfer.method == HTTP_GET };
	struct error own = { 0 };

	if (!x->transfer.frame || !is_good(answer->status) || is_own(x->transfer.frame, &said))
		return ERR_OK;
	describe(x, &said, &own);
	return error_set(e, own.kind, "%s", own.text);
}
