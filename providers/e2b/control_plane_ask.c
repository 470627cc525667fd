#include "providers/e2b/control_plane_ask.h"

#include "providers/base/cleanup.h"
#include "providers/e2b/control_plane_json.h"
#include "providers/e2b/verdict.h"

#include <string.h>

/* ---- One request ---- */

static bool is_good(const struct http_answer *answer)
{
	return answer->status >= 200 && answer->status < 300;
}

static enum err refuse_not_found(const struct rest_ask *ask, const char *words, struct error *e)
{
	if (ask->id)
		return error_set(e, ERR_NOT_FOUND,
			"e2b:%s: no such sandbox, or it belongs to another team", ask->id);
	return error_set(
		e, ERR_NOT_FOUND, "e2b: %s: %s", ask->what, *words ? words : "not found (404)");
}

/* Sets the error for an answer that is not a good one. */
static enum err refuse(
	const struct rest_ask *ask, const struct http_answer *answer, struct error *e)
{
	char words[300];
	const char *colon;

	plane_json_message(&answer->body, words, sizeof words);
	colon = *words ? ": " : "";
	switch (answer->status) {
	case 400: return error_set(e, ERR_INVALID, "e2b: %s%s%s", ask->what, colon, words);
	case 401:
		return error_set(e, ERR_AUTH,
			"e2b: the key is not accepted%s%s; "
			"E2B_API_KEY or -o key_file= must be a key of the sandbox's team",
			colon, words);
	case 403:
		return error_set(e, ERR_AUTH, "e2b: %s is not allowed to this key%s%s", ask->what,
			colon, words);
	case 404: return refuse_not_found(ask, words, e);
	case 409:
		return error_set(e, ERR_BUSY, "e2b: %s: the sandbox is in between states%s%s",
			ask->what, colon, words);
	case 429:
		return error_set(e, ERR_QUOTA, "e2b: %s: too many requests or sandboxes%s%s",
			ask->what, colon, words);
	}
	if (answer->status >= 500)
		return error_set(e, ERR_UNREACHABLE, "e2b: %s: the control plane answers %d%s%s",
			ask->what, answer->status, colon, words);
	return error_set(e, ERR_PROTOCOL,
		"e2b: %s: the control plane answers %d%s%s; is E2B_API_URL right?", ask->what,
		answer->status, colon, words);
}

enum err plane_ask(struct plane *c, const struct call *call, const struct rest_ask *ask,
	struct http_answer *answer, struct error *e)
{
	enum err kind = rest_send(&c->account.rest, call, ask, answer, e);

	return kind || is_good(answer) ? kind : refuse(ask, answer, e);
}

enum err plane_ask_of(struct plane *c, const struct call *call, struct rest_ask ask,
	struct http_answer *answer, struct error *e)
{
	ask.about = ask.id;
	ask.below = ask.path;
	ask.path = "/sandboxes/";
	return plane_ask(c, call, &ask, answer, e);
}

/* ---- Requests of two forms ---- */

/*
 * Whether the server does not know the route. An unknown sandbox or template is 404 as well, but
 * the vendor's message then names a sandbox or template. Only a router's message names the path.
 */
static bool is_route_unknown(const struct http_answer *answer)
{
	const struct http_said said = { .status = answer->status,
		.type = answer->content_type,
		.body = answer->body.bytes,
		.len = answer->body.len,
		.is_whole = true };
	char words[300];

	if (!vendor_frame_is_own(&e2b_plane_frame.http, &said))
		return answer->status == 404 || answer->status == 405;
	if (answer->status != 404)
		return answer->status == 405;
	plane_json_message(&answer->body, words, sizeof words);
	return strstr(words, "/v2/") ||
		(!strcasestr(words, "sandbox") && !strcasestr(words, "template"));
}

enum err plane_ask_either(struct plane *c, const struct call *call, enum route route,
	const struct rest_ask *newer, const struct rest_ask *older, struct http_answer *answer,
	struct error *e)
{
	bool is_old = atomic_load(&c->old_routes) & (1U << route);
	struct rest_ask first = *newer;
	enum err kind;

	first.frame = &e2b_route_frame;
	kind = rest_send(&c->account.rest, call, is_old ? older : &first, answer, e);

	if (kind || is_good(answer))
		return kind;
	if (is_old || !is_route_unknown(answer))
		return refuse(is_old ? older : newer, answer, e);
	http_answer_release(answer);
	*answer = (struct http_answer)HTTP_ANSWER_NONE;
	kind = plane_ask(c, call, older, answer, e);
	if (!kind)
		atomic_fetch_or(&c->old_routes, 1U << route);
	return kind;
}
