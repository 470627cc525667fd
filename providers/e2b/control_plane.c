#include "providers/e2b/control_plane_ask.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/e2b/control_plane_json.h"
#include "providers/e2b/verdict.h"
#include "providers/rest/logs.h"

#include <stdlib.h>
#include <string.h>

/* The life that a wake gives by default in v2. v1 has no default, so the number is sent. */
#define DEFAULT_LIFETIME_S 300
/* The most that /refreshes takes. */
#define REFRESH_MAX_S 3600
/* A request's values come from a command line, so a request is no longer than one. */
#define CREATE_MAX ((size_t)1024 * 1024)
/*
 * The most pages, of 100 sandboxes each. No account may run as many, so a server that names a
 * further page is wrong.
 */
#define PAGES_MAX 1000

/* ---- Making and freeing ---- */

void plane_free(struct plane *c)
{
	if (c)
		rest_account_close(&c->account);
	free(c);
}

enum err plane_new(struct plane **out, const struct e2b_settings *settings,
	const struct provider_config *cfg, struct error *e)
{
	/* No rest_verdict: an unknown route leads to a second request, see control_plane_ask.c. */
	const struct rest_account_facts facts = { .vendor = "e2b",
		.url = settings->api_url,
		.own_url = e2b_own_url(settings),
		.header = "X-API-Key",
		.scheme = "",
		.headers_variable = "E2B_API_HEADERS",
		.login = &e2b_login,
		.frame = &e2b_plane_frame };
	struct plane *c = calloc(1, sizeof *c);
	enum err kind = c ? rest_account_open(&c->account, &facts, cfg, e)
			  : error_set(e, ERR_NO_MEMORY, "e2b");

	if (kind)
		free(c);
	else
		*out = c;
	return kind;
}

struct http *plane_http(const struct plane *c)
{
	return c->account.http;
}

/* ---- One sandbox ---- */

enum err plane_logs(struct plane *c, const struct call *call, const char *id, log_sink sink,
	void *context, struct error *e)
{
	static const struct rest_log log = { .lines = "logs",
		.time = "timestamp",
		.kind = "level",
		.text = "message",
		.is_newest_first = true };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_JSON struct json_object *json = NULL;
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "/v2/sandboxes/",
		.about = id,
		.below = "/logs?direction=backward&limit=1000",
		.id = id,
		.what = "reading the log" };
	enum err kind = plane_ask(c, call, &ask, &answer, e);

	rest_parse(&answer.body, &json);
	return kind ? kind : rest_log_pass(&c->account.rest, json, &log, sink, context, e);
}

enum err plane_info(struct plane *c, const struct call *call, const char *id,
	struct plane_sandbox *out, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "",
		.id = id,
		.what = "looking at the sandbox" };
	enum err kind = plane_ask_of(c, call, ask, &answer, e);

	return kind ? kind : plane_json_sandbox(&answer.body, rest_now_s(&c->account.rest), out, e);
}

/* The API has no idempotency key: after a lost answer the user has to look for a sandbox. */
static enum err plane_lost_answer(
	enum err kind, const struct error *why, bool may_exist, struct error *e)
{
	if (may_exist)
		return error_set(e, kind, "%.250s" REST_MAY_EXIST, why->text, "e2b");
	return error_set(e, kind, "%s", why->text);
}

/* An answer that makes no sense may still have the ID. */
static enum err read_made(
	const struct buf *body, int64_t now_s, struct plane_sandbox *out, struct error *e)
{
	struct error why = { 0 };
	enum err kind = plane_json_sandbox(body, now_s, out, &why);

	if (kind && !*out->id)
		rest_find_text(body, "sandboxID", out->id, sizeof out->id);
	return kind ? plane_lost_answer(kind, &why, !*out->id, e) : ERR_OK;
}

enum err plane_create(struct plane *c, const struct call *call,
	const struct plane_new_sandbox *wanted, struct plane_sandbox *out, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_BUF struct buf newer_body = BUF_INIT(CREATE_MAX), older_body = BUF_INIT(CREATE_MAX);
	struct rest_ask newer = {
		.method = HTTP_POST, .path = "/v2/sandboxes", .what = "creating a sandbox"
	};
	struct rest_ask older = newer;
	struct error why = { 0 };
	enum err kind;

	*out = (struct plane_sandbox){ .ends_s = -1 };
	plane_json_create(&newer_body, wanted, false);
	plane_json_create(&older_body, wanted, true);
	if (newer_body.failed || older_body.failed)
		return error_set(e, ERR_INVALID, "e2b: more is asked of a sandbox than fits");
	newer.body = buf_text(&newer_body);
	older.body = buf_text(&older_body);
	older.path = "/sandboxes";
	kind = plane_ask_either(c, call, ROUTE_CREATE, &newer, &older, &answer, &why);
	if (!kind)
		return read_made(&answer.body, rest_now_s(&c->account.rest), out, e);
	return plane_lost_answer(kind, &why, answer.may_have_arrived && !answer.status, e);
}

enum err plane_wake(struct plane *c, const struct call *call, const char *id, int64_t lifetime_s,
	struct plane_sandbox *out, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_BUF struct buf newer_path = BUF_INIT(200), newer_body = BUF_INIT(100),
			    older_body = BUF_INIT(100);
	struct rest_ask newer = { .method = HTTP_POST,
		.flags = HTTP_REPEATABLE | HTTP_CONFLICT_PASSES,
		.id = id,
		.what = "waking the sandbox" };
	struct rest_ask older = newer;
	enum err kind;

	buf_printf(&newer_path, "/v2/sandboxes/%s/connect", id);
	plane_json_timeout(&newer_body, "timeout", lifetime_s);
	plane_json_timeout(&older_body, "timeout", lifetime_s ? lifetime_s : DEFAULT_LIFETIME_S);
	newer.path = buf_text(&newer_path);
	newer.body = buf_text(&newer_body);
	older.path = newer.path + strlen("/v2");
	older.body = buf_text(&older_body);
	kind = plane_ask_either(c, call, ROUTE_CONNECT, &newer, &older, &answer, e);
	return kind ? kind : plane_json_sandbox(&answer.body, rest_now_s(&c->account.rest), out, e);
}

/* A sandbox that is paused already answers 409, too. */
static bool is_paused(struct plane *c, const struct call *call, const char *id)
{
	struct plane_sandbox sandbox;

	return plane_info(c, call, id, &sandbox, NULL) == ERR_OK && sandbox.state == SANDBOX_PAUSED;
}

enum err plane_pause(struct plane *c, const struct call *call, const char *id, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	const struct rest_ask ask = { .method = HTTP_POST,
		.flags = HTTP_REPEATABLE,
		.path = "/pause",
		.body = "{}",
		.id = id,
		.what = "pausing the sandbox" };
	struct error why = { 0 };
	enum err kind = plane_ask_of(c, call, ask, &answer, &why);

	if (kind == ERR_OK || (kind == ERR_BUSY && is_paused(c, call, id)))
		return ERR_OK;
	return error_set(e, kind, "%s", why.text);
}

enum err plane_kill(struct plane *c, const struct call *call, const char *id, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	const struct rest_ask ask = { .method = HTTP_DELETE,
		.flags = HTTP_REPEATABLE | HTTP_CONFLICT_PASSES,
		.path = "",
		.id = id,
		.what = "deleting the sandbox" };
	struct error why = { 0 };
	enum err kind = plane_ask_of(c, call, ask, &answer, &why);

	if (kind == ERR_OK || kind == ERR_NOT_FOUND)
		return ERR_OK;
	return error_set(e, kind, "%s", why.text);
}

/* ---- More life ---- */

static enum err set_end(struct plane *c, const struct call *call, const char *id, const char *path,
	const char *field, int64_t seconds, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_BUF struct buf body = BUF_INIT(100);
	struct rest_ask ask = { .method = HTTP_POST,
		.flags = HTTP_REPEATABLE,
		.path = path,
		.id = id,
		.what = "extending the sandbox's life" };

	plane_json_timeout(&body, field, seconds);
	ask.body = buf_text(&body);
	return plane_ask_of(c, call, ask, &answer, e);
}

/* /timeout may shorten a life, so the present end is asked for first. */
static enum err set_far_end(
	struct plane *c, const struct call *call, const char *id, int64_t seconds, struct error *e)
{
	struct plane_sandbox now;
	enum err kind = plane_info(c, call, id, &now, e);

	if (kind || now.ends_s >= seconds)
		return kind;
	return set_end(c, call, id, "/timeout", "timeout", seconds, e);
}

/* Past the plan's longest life the vendor answers 400. */
enum err plane_extend(
	struct plane *c, const struct call *call, const char *id, int64_t seconds, struct error *e)
{
	struct error why = { 0 };
	enum err kind = ERR_INVALID;

	if (seconds > REFRESH_MAX_S)
		kind = set_far_end(c, call, id, seconds, &why);
	if (kind == ERR_INVALID)
		kind = set_end(c, call, id, "/refreshes", "duration",
			seconds < REFRESH_MAX_S ? seconds : REFRESH_MAX_S, &why);
	if (kind == ERR_INVALID) {
		if (!atomic_exchange(&c->has_logged_limit, true))
			log_warn(LOG_PROVIDER,
				"e2b:%s cannot live longer than the plan allows (%s)", id,
				why.text);
		return ERR_OK;
	}
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- The network ---- */

enum err plane_set_network(struct plane *c, const struct call *call, const char *id, bool blocked,
	const char *const *allowed, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_BUF struct buf body = BUF_INIT(CREATE_MAX);
	struct rest_ask ask = { .method = HTTP_PUT,
		.flags = HTTP_REPEATABLE,
		.path = "/network",
		.id = id,
		.what = "changing what the sandbox reaches" };
	enum err kind;

	plane_json_network(&body, blocked, allowed);
	ask.body = buf_text(&body);
	kind = buf_check(&body, "the hosts that it may reach", e);
	return kind ? kind : plane_ask_of(c, call, ask, &answer, e);
}

/* ---- All sandboxes ---- */

static enum err list_page(struct plane *c, const struct call *call, const char *token,
	struct http_answer *answer, struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(4096);
	struct rest_ask newer = {
		.method = HTTP_GET, .flags = HTTP_REPEATABLE, .what = "listing sandboxes"
	};
	struct rest_ask older = newer;

	buf_add_string(&path, "/v2/sandboxes?limit=100&state=running,paused");
	if (*token) {
		buf_add_string(&path, "&nextToken=");
		http_escape(&path, token, "");
	}
	newer.path = buf_text(&path);
	/* An old server lists running sandboxes only, on one page. */
	older.path = "/sandboxes";
	return plane_ask_either(c, call, ROUTE_LIST, &newer, &older, answer, e);
}

enum err plane_list(
	struct plane *c, const struct call *call, sandbox_sink sink, void *context, struct error *e)
{
	char token[sizeof((struct http_answer *)0)->next_token] = "";

	for (int page = 0; page < PAGES_MAX; page++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		enum err kind = list_page(c, call, token, &answer, e);

		if (!kind)
			kind = plane_json_list(
				&answer.body, rest_now_s(&c->account.rest), sink, context, e);
		if (kind || !*answer.next_token)
			return kind;
		memcpy(token, answer.next_token, sizeof token);
	}
	return error_set(e, ERR_PROTOCOL, "e2b: the list of sandboxes has no end");
}
