#include "providers/runloop/devbox.h"

#include "providers/base/cleanup.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define BODY_MAX 512

/* ---- Reading ---- */

static const struct {
	const char *status;
	enum devbox_phase phase;
} phases[] = {
	{ "scheduled", DEVBOX_STARTING },
	{ "queued", DEVBOX_STARTING },
	{ "provisioning", DEVBOX_STARTING },
	{ "initializing", DEVBOX_STARTING },
	{ "resuming", DEVBOX_STARTING },
	{ "running", DEVBOX_RUNNING },
	{ "suspending", DEVBOX_SUSPENDING },
	{ "suspended", DEVBOX_SUSPENDED },
	{ "failure", DEVBOX_ENDED },
	{ "shutdown", DEVBOX_ENDED },
};

static enum devbox_phase phase_of(const char *status)
{
	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
		if (!strcmp(phases[i].status, status))
			return phases[i].phase;
	return DEVBOX_RUNNING;
}

/* The time of the last entry to `running`, or of the making. */
static int64_t running_since(struct json_object *json)
{
	struct json_object *transitions = rest_member(json, "state_transitions");
	int64_t since_ms = rest_integer(json, "create_time_ms", 0);

	if (!json_object_is_type(transitions, json_type_array))
		return since_ms;
	for (size_t i = 0; i < json_object_array_length(transitions); i++) {
		struct json_object *one = json_object_array_get_idx(transitions, i);

		if (!strcmp(rest_text(one, "status", ""), "running"))
			since_ms = rest_integer(one, "transition_time_ms", since_ms);
	}
	return since_ms;
}

/* With after_idle, whose place was another once, the other lifetime does not count. */
static void read_lifetime(struct devbox *out, struct json_object *launch)
{
	struct json_object *idle = rest_member(rest_member(launch, "lifecycle"), "after_idle");

	if (!idle)
		idle = rest_member(launch, "after_idle");
	out->is_idle_counted = idle != NULL;
	out->lifetime_s = idle ? rest_integer(idle, "idle_time_seconds", -1)
			       : rest_integer(launch, "keep_alive_time_seconds", -1);
}

/* The key becomes a part of a host's name, so it may have the characters of an id only. */
static bool take_tunnel(char key[128], struct json_object *tunnel)
{
	const char *text = rest_text(tunnel, "tunnel_key", "");
	bool is_fit = devbox_is_id(text);

	snprintf(key, 128, "%s", is_fit ? text : "");
	return is_fit;
}

enum err devbox_parse(struct devbox *out, struct json_object *json, struct error *e)
{
	const char *id = rest_text(json, "id", ""), *name = rest_text(json, "name", "");
	const char *status = rest_text(json, "status", "");
	const char *reason =
		rest_text(json, "shutdown_reason", rest_text(json, "failure_reason", ""));

	if (!devbox_is_id(id))
		return error_set(e, ERR_PROTOCOL, "runloop: a devbox without an id");
	*out = (struct devbox){ .phase = phase_of(status), .running_ms = running_since(json) };
	snprintf(out->id, sizeof out->id, "%s", id);
	snprintf(out->name, sizeof out->name, "%s", strlen(name) < sizeof out->name ? name : "");
	snprintf(out->status, sizeof out->status, "%s", status);
	snprintf(out->reason, sizeof out->reason, "%s", reason);
	read_lifetime(out, rest_member(json, "launch_parameters"));
	take_tunnel(out->tunnel, rest_member(json, "tunnel"));
	return ERR_OK;
}

/* ---- One devbox ---- */

/* Takes the answer. */
static enum err parse_answer(
	enum err kind, struct json_object *json, struct devbox *out, struct error *e)
{
	if (!kind)
		kind = devbox_parse(out, json, e);
	json_object_put(json);
	return kind;
}

enum err devbox_look(const struct rest *r, const struct call *call, const char *id,
	struct devbox *out, struct error *e)
{
	struct json_object *json = NULL;
	struct devbox_request q;
	enum err kind = devbox_request_make(&q, HTTP_GET, id, "looking at it", e, "%s", "");

	q.ask.flags |= HTTP_REPEATABLE;
	if (!kind)
		kind = rest_perform(r, call, &q.ask, &json, e);
	return parse_answer(kind, json, out, e);
}

enum err devbox_wait(const struct rest *r, const struct call *call, const char *id,
	enum devbox_phase wanted, struct devbox *out, struct error *e)
{
	const char *status = wanted == DEVBOX_RUNNING ? "running" : "suspended";
	struct json_object *json = NULL;
	struct devbox_request q;
	char body[BODY_MAX];
	enum err kind = devbox_request_make(
		&q, HTTP_POST, id, "waiting for it", e, "%s", "/wait_for_status");

	snprintf(body, sizeof body,
		"{\"statuses\":[\"%s\",\"failure\",\"shutdown\"],\"timeout_seconds\":%d}", status,
		devbox_hold_s(call));
	q.ask.body = body;
	q.ask.flags |= HTTP_REPEATABLE;
	if (!kind)
		kind = devbox_ask_held(r, call, &q.ask, call_ready_ms(call), &json, NULL, e);
	return parse_answer(kind, json, out, e);
}

enum err devbox_act(const struct rest *r, const struct call *call, const char *id,
	const char *action, struct error *e)
{
	struct devbox_request q;
	enum err kind = devbox_request_make(&q, HTTP_POST, id, action, e, "/%s", action);

	q.ask.flags |= HTTP_REPEATABLE;
	return kind ? kind : rest_perform(r, call, &q.ask, NULL, e);
}

enum err devbox_open_tunnel(const struct rest *r, const struct call *call, const char *id,
	char key[128], struct error *e)
{
	AUTO_JSON struct json_object *json = NULL;
	struct devbox_request q;
	enum err kind = devbox_request_make(
		&q, HTTP_POST, id, "opening its tunnel", e, "%s", "/enable_tunnel");

	q.ask.body = "{\"auth_mode\":\"open\"}";
	q.ask.flags |= HTTP_REPEATABLE;
	if (!kind)
		kind = rest_perform(r, call, &q.ask, &json, e);
	if (!kind && !take_tunnel(key, json))
		kind = error_set(e, ERR_PROTOCOL, "runloop:%s: a tunnel without a key", id);
	return kind;
}

/* The host of the ports, next to the API's, as the vendor's SDK finds it. */
void devbox_port_url(struct buf *out, const struct rest *r, const char *tunnel, unsigned port)
{
	const char *host = strstr(r->base_url, "://");

	host = host ? host + 3 : r->base_url;
	if (!strncmp(host, "api.", 4))
		host += 4;
	buf_printf(out, "https://%u-%s.tunnel.%.*s", port, tunnel, (int)strcspn(host, ":/"), host);
}

enum err devbox_create(const struct rest *r, const struct call *call, const char *json,
	struct devbox *out, struct error *e)
{
	AUTO_JSON struct json_object *answer = NULL;
	struct error why = { 0 };
	struct devbox_request q;
	enum err kind = devbox_request_make(&q, HTTP_POST, "", "creating a devbox", e, "%s", "");

	*out = (struct devbox){ 0 };
	q.ask.body = json;
	if (!kind)
		kind = rest_make(r, call, &q.ask, "id", &answer, out->id, sizeof out->id, e);
	if (kind)
		return kind;
	kind = devbox_parse(out, answer, &why);
	return kind ? error_set(e, kind, "%.250s" REST_MAY_EXIST, why.text, "runloop") : ERR_OK;
}

/* ---- The state of a devbox ---- */

enum sandbox_state devbox_state(const struct devbox *d)
{
	return d->phase == DEVBOX_SUSPENDED || d->phase == DEVBOX_SUSPENDING ? SANDBOX_PAUSED
									     : SANDBOX_RUNNING;
}

int64_t devbox_left_s(const struct devbox *d, int64_t now_s, int64_t kept_ms)
{
	int64_t used_s = now_s - d->running_ms / 1000;
	int64_t kept_s = (monotonic_ms() - kept_ms) / 1000;

	if (d->lifetime_s < 0 || devbox_state(d) == SANDBOX_PAUSED)
		return -1;
	if (d->is_idle_counted && kept_ms && kept_s < used_s)
		used_s = kept_s;
	return used_s < 0 ? d->lifetime_s : used_s < d->lifetime_s ? d->lifetime_s - used_s : 0;
}

/* ---- All ---- */

static enum err read_listed(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e)
{
	struct devbox d;
	enum err kind = devbox_parse(&d, item, e);

	if (kind)
		return kind;
	memcpy(out->id, d.id, sizeof out->id);
	memcpy(out->name, d.name, sizeof out->name);
	out->state = devbox_state(&d);
	out->expires_s = devbox_left_s(&d, now_s, 0);
	out->has_ended = d.phase == DEVBOX_ENDED;
	return ERR_OK;
}

enum err devbox_list(const struct rest *r, const struct call *call, rest_listed_sink sink,
	void *context, struct error *e)
{
	static const struct rest_list list = { .what = "listing devboxes",
		/* The API's own default is 20; no source says how many there may be. */
		.path = "/v1/devboxes?limit=100&include_total_count=false",
		.cursor = "&starting_after=",
		.items = "devboxes",
		.has_always_items = true,
		.labels = "metadata",
		.made = "create_time_ms",
		.more = "has_more",
		.flags = DEVBOX_FLAGS };

	return rest_list(r, call, &list, read_listed, sink, context, e);
}
