#include "providers/daytona/control.h"

#include "providers/base/cleanup.h"
#include "providers/daytona/wish.h"
#include "providers/rest/list.h"

#include <stdio.h>
#include <string.h>

#define MINUTE_S 60
/* The service's longest time for a URL. */
#define URL_HOLDS_S 86400

/* ---- Answers about a sandbox ---- */

static const struct {
	const char *state;
	enum daytona_life life;
} states[] = {
	{ "started", DAYTONA_RUNS },
	{ "stopped", DAYTONA_RESTS },
	{ "archived", DAYTONA_RESTS },
	{ "archiving", DAYTONA_RESTS }, /* a start is possible meanwhile */
	{ "paused", DAYTONA_RESTS },
	{ "error", DAYTONA_BROKEN },
	{ "build_failed", DAYTONA_FAILED },
	{ "destroyed", DAYTONA_ENDED },
	{ "destroying", DAYTONA_ENDED },
};

/* A state that is unknown here counts as one that changes. */
enum daytona_life daytona_life_of(const char *state)
{
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (!strcmp(states[i].state, state))
			return states[i].life;
	return DAYTONA_CHANGES;
}

static enum sandbox_state state_of(const struct daytona_sandbox *sandbox)
{
	const char *state = sandbox->state;

	switch (sandbox->life) {
	case DAYTONA_BROKEN: return SANDBOX_ERROR;
	case DAYTONA_FAILED: return SANDBOX_FAILED;
	case DAYTONA_RUNS: return SANDBOX_RUNNING;
	case DAYTONA_CHANGES:
		if (!strcmp(state, "pausing"))
			return SANDBOX_PAUSED;
		return strcmp(state, "stopping") ? SANDBOX_RUNNING : SANDBOX_STOPPED;
	case DAYTONA_RESTS:
	case DAYTONA_ENDED: break;
	}
	return strcmp(state, "paused") ? SANDBOX_STOPPED : SANDBOX_PAUSED;
}

static void put_warning(const struct daytona_sandbox *s, struct sandbox_info *out)
{
	const size_t room = sizeof out->warning;

	if (s->life == DAYTONA_BROKEN || s->life == DAYTONA_FAILED)
		snprintf(out->warning, room, "%s%s", s->why,
			s->is_recoverable ? "; sandboxctl resume recovers the sandbox" : "");
	else if (*s->destroyed_at)
		snprintf(out->warning, room,
			"the sandbox is destroyed at %s, also when it rests; a mount in use and "
			"sandboxctl extend give it more time",
			s->destroyed_at);
	else if (s->is_spot)
		snprintf(out->warning, room,
			"a spot sandbox may be destroyed at any time, without notice");
}

void daytona_describe(const struct daytona_sandbox *sandbox, struct sandbox_info *out)
{
	*out = (struct sandbox_info){ .state = state_of(sandbox), .expires_s = sandbox->expires_s };
	memcpy(out->volumes, sandbox->volumes, sizeof out->volumes);
	put_warning(sandbox, out);
}

static int64_t idle_left_s(struct json_object *json, const struct daytona_sandbox *s, int64_t now_s)
{
	int64_t left_s;

	if (!s->idle_s || s->life != DAYTONA_RUNS)
		return -1;
	left_s = rest_seconds_until(rest_text(json, "lastActivityAt", ""), now_s - s->idle_s);
	return left_s < 0 || left_s > s->idle_s ? s->idle_s : left_s;
}

/* An interval that makes no sense, as more than 4,000 years, counts as none. */
static int64_t interval_s(struct json_object *json, const char *name)
{
	int64_t minutes = rest_integer(json, name, 0);

	return minutes > 0 && minutes <= INT32_MAX ? MINUTE_S * minutes : 0;
}

/* The vendor uses at most one of the two intervals, autopause and autostop. */
static void read_lifetimes(struct json_object *json, struct daytona_sandbox *s, int64_t now_s)
{
	const char *destroyed_at = rest_text(json, "autoDestroyAt", "");
	int64_t autopause_s = interval_s(json, "autoPauseInterval");
	int64_t idle_left;

	s->pauses = autopause_s > 0;
	s->idle_s = s->pauses ? autopause_s : interval_s(json, "autoStopInterval");
	s->destroyed_s = rest_seconds_until(destroyed_at, now_s);
	if (s->destroyed_s >= 0)
		snprintf(s->destroyed_at, sizeof s->destroyed_at, "%s", destroyed_at);
	idle_left = idle_left_s(json, s, now_s);
	s->expires_s = idle_left < 0 || (s->destroyed_s >= 0 && s->destroyed_s < idle_left)
		? s->destroyed_s
		: idle_left;
}

static enum err take_text(
	char *out, size_t room, struct json_object *json, const char *name, struct error *e)
{
	const char *text = rest_text(json, name, "");

	if (strlen(text) >= room)
		return error_set(e, ERR_PROTOCOL, "daytona: a sandbox's %s is too long", name);
	strcpy(out, text);
	return ERR_OK;
}

static enum err take_sandbox(
	struct json_object *json, int64_t now_s, struct daytona_sandbox *out, struct error *e)
{
	struct daytona_sandbox s = { .is_ephemeral =
					     rest_integer(json, "autoDeleteInterval", -1) == 0,
		.is_recoverable = rest_flag(json, "recoverable", false),
		.is_spot = rest_flag(json, "spot", false) };
	enum err kind = take_text(s.id, sizeof s.id, json, "id", e);

	if (!kind)
		kind = take_text(s.state, sizeof s.state, json, "state", e);
	if (!kind)
		kind = take_text(s.user, sizeof s.user, json, "user", e);
	if (!kind)
		kind = take_text(s.toolbox_url, sizeof s.toolbox_url, json, "toolboxProxyUrl", e);
	if (kind)
		return kind;
	if (!*s.id)
		return error_set(e, ERR_PROTOCOL, "daytona: a sandbox without an ID");
	snprintf(s.why, sizeof s.why, "%s", rest_text(json, "errorReason", "no reason is told"));
	s.life = daytona_life_of(s.state);
	rest_volumes(
		rest_member(json, "volumes"), "volumeId", "mountPath", s.volumes, sizeof s.volumes);
	read_lifetimes(json, &s, now_s);
	*out = s;
	return ERR_OK;
}

/* ---- Requests about one sandbox ---- */

/* `below` follows the sandbox's path. */
static enum err ask(const struct rest *r, const struct call *call, const char *id,
	const char *below, struct rest_ask wanted, struct json_object **json, struct error *e)
{
	wanted.path = "/sandbox/";
	wanted.about = id;
	wanted.below = below;
	wanted.id = id;
	wanted.flags = HTTP_REPEATABLE;
	return rest_perform(r, call, &wanted, json, e);
}

enum err daytona_look(const struct rest *r, const struct call *call, const char *id,
	struct daytona_sandbox *out, struct error *e)
{
	const struct rest_ask wanted = { .method = HTTP_GET, .what = "looking for the sandbox" };
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ask(r, call, id, "", wanted, &json, e);

	if (!kind)
		kind = take_sandbox(json, rest_now_s(r), out, e);
	if (!kind && out->life == DAYTONA_ENDED)
		return error_set(e, ERR_NOT_FOUND, "daytona:%s was %s", id,
			*rest_text(json, "spotEvictedAt", "")
				? "destroyed because others need its GPU: it was a spot sandbox"
				: "deleted");
	return kind;
}

enum err daytona_make(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, struct daytona_sandbox *out, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(WISH_MAX);
	struct rest_ask wanted = {
		.method = HTTP_POST, .path = "/sandbox", .what = "creating a sandbox"
	};
	AUTO_JSON struct json_object *json = NULL;
	struct error why = { 0 };
	enum err kind = daytona_wish(&body, cfg, variable("DAYTONA_TARGET"), e);

	*out = (struct daytona_sandbox){ 0 };
	wanted.body = buf_text(&body);
	if (!kind)
		kind = rest_make(r, call, &wanted, "id", &json, out->id, sizeof out->id, e);
	if (kind)
		return kind;
	kind = take_sandbox(json, rest_now_s(r), out, &why);
	if (!kind)
		return ERR_OK;
	take_text(out->id, sizeof out->id, json, "id", NULL);
	if (!*out->id)
		return error_set(e, kind, "%.250s" REST_MAY_EXIST, why.text, "daytona");
	return error_set(e, kind, "%s", why.text);
}

enum err daytona_act(const struct rest *r, const struct call *call, const char *id,
	enum daytona_action action, struct error *e)
{
	static const struct {
		enum http_method method;
		const char *below, *body, *what;
	} rows[] = {
		[DAYTONA_START] = { HTTP_POST, "/start", "{}", "starting the sandbox" },
		[DAYTONA_STOP] = { HTTP_POST, "/stop", "{}", "stopping the sandbox" },
		[DAYTONA_RECOVER] = { HTTP_POST, "/recover", "{}", "recovering the sandbox" },
		[DAYTONA_TOUCH] = { HTTP_POST, "/last-activity", "{}", "keeping the sandbox" },
		[DAYTONA_DELETE] = { HTTP_DELETE, "", NULL, "deleting the sandbox" },
	};
	const struct rest_ask wanted = {
		.method = rows[action].method, .body = rows[action].body, .what = rows[action].what
	};
	struct error why = { 0 };
	enum err kind = ask(r, call, id, rows[action].below, wanted, NULL, &why);

	if (!kind || (kind == ERR_NOT_FOUND && action == DAYTONA_DELETE))
		return ERR_OK;
	return error_set(e, kind, "%s", why.text);
}

enum err daytona_set_interval(const struct rest *r, const struct call *call, const char *id,
	enum daytona_interval interval, int64_t seconds, struct error *e)
{
	static const char *const names[] = {
		[DAYTONA_AUTOSTOP] = "autostop",
		[DAYTONA_AUTOPAUSE] = "autopause",
		[DAYTONA_TTL] = "ttl",
	};
	char behind[64];

	snprintf(behind, sizeof behind, "/%s/%lld", names[interval],
		(long long)daytona_minutes(seconds));
	return ask(r, call, id, behind,
		(struct rest_ask){ .method = HTTP_POST,
			.body = "{}",
			.what = "keeping the sandbox for longer" },
		NULL, e);
}

enum err daytona_set_network(const struct rest *r, const struct call *call, const char *id,
	bool blocked, const char *const *allowed, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(WISH_MAX);
	enum err kind = daytona_network(&body, blocked, allowed, e);

	return kind ? kind
		    : ask(r, call, id, "/network-settings",
			      (struct rest_ask){ .method = HTTP_POST,
				      .body = buf_text(&body),
				      .what = "changing what the sandbox reaches" },
			      NULL, e);
}

/* ---- The URLs of ports and of the daemon ---- */

enum err daytona_port_url(const struct rest *r, const struct call *call, const char *id,
	unsigned port, struct buf *out, struct error *e)
{
	const struct rest_ask wanted = { .method = HTTP_GET, .what = "asking for a port's URL" };
	AUTO_JSON struct json_object *json = NULL;
	struct error why = { 0 };
	const char *url;
	char behind[80];
	enum err kind;

	snprintf(behind, sizeof behind, "/ports/%u/signed-preview-url?expiresInSeconds=%d", port,
		URL_HOLDS_S);
	kind = ask(r, call, id, behind, wanted, &json, e);
	if (kind)
		return kind;
	url = rest_text(json, "url", "");
	kind = http_check_named_url(url, r->base_url, &why);
	if (kind)
		return error_set(e, kind, "daytona: %s", why.text);
	buf_add_string(out, url);
	return ERR_OK;
}

/* ERR_UNSUPPORTED: the server is so old that it has no proxy. */
static enum err ask_proxy_url(const struct rest *r, const struct call *call, const char *id,
	char out[DAYTONA_TEXT_MAX], struct error *e)
{
	const struct rest_ask wanted = { .method = HTTP_GET, .what = "asking for the proxy" };
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ask(r, call, id, "/toolbox-proxy-url", wanted, &json, e);

	return kind ? kind : take_text(out, DAYTONA_TEXT_MAX, json, "url", e);
}

enum err daytona_toolbox_url(const struct rest *r, const struct call *call,
	const struct daytona_sandbox *sandbox, char **out, struct error *e)
{
	char proxy[DAYTONA_TEXT_MAX];
	struct error why = { 0 };
	enum err kind = ERR_OK;
	int len;

	strcpy(proxy, sandbox->toolbox_url);
	if (!*proxy)
		kind = ask_proxy_url(r, call, sandbox->id, proxy, &why);
	if (kind && kind != ERR_UNSUPPORTED)
		return error_set(e, kind, "%s", why.text);
	len = (int)strlen(proxy);
	while (len && proxy[len - 1] == '/')
		len--;
	len = len ? asprintf(out, "%.*s/%s", len, proxy, sandbox->id)
		  : asprintf(out, "%s/toolbox/%s/toolbox", r->base_url, sandbox->id);
	return len < 0 ? error_set(e, ERR_NO_MEMORY, "daytona") : ERR_OK;
}

enum err daytona_build_log_url(const struct rest *r, const struct call *call, const char *id,
	char out[DAYTONA_TEXT_MAX], struct error *e)
{
	const struct rest_ask wanted = { .method = HTTP_GET, .what = "asking for a log" };
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ask(r, call, id, "/build-logs-url", wanted, &json, e);

	return kind ? kind : take_text(out, DAYTONA_TEXT_MAX, json, "url", e);
}

/* ---- All sandboxes ---- */

static enum err read_listed(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e)
{
	struct daytona_sandbox s;
	enum err kind = take_sandbox(item, now_s, &s, e);

	if (kind)
		return kind;
	memcpy(out->id, s.id, sizeof out->id);
	out->state = state_of(&s);
	out->expires_s = s.expires_s;
	out->has_ended = s.life == DAYTONA_ENDED;
	return ERR_OK;
}

enum err daytona_list(const struct rest *r, const struct call *call, sandbox_sink sink,
	void *context, struct error *e)
{
	static const struct rest_list list = { .what = "listing sandboxes",
		.path = "/sandbox?limit=200", /* 200 is the vendor's limit */
		.cursor = "&cursor=",
		.items = "items",
		.labels = "labels",
		.made = "createdAt",
		.next = "nextCursor" };

	return rest_list_sandboxes(r, call, &list, read_listed, sink, context, e);
}
