/* Requests to the control plane. */
#include "providers/base/cleanup.h"
#include "providers/base/wait.h"
#include "providers/json.h"
#include "providers/langsmith/box.h"
#include "providers/rest/list.h"

#include <stdio.h>
#include <string.h>

/* A request's values come from a command line, so a request is no longer than one. */
#define CREATE_MAX ((size_t)1024 * 1024)
#define MIB        ((int64_t)1024 * 1024)
/* The service's longest time for a URL. */
#define URL_HOLDS_S 86400

/* ---- One request ---- */

/* `ask` lacks the path and the sandbox, which are set here. *json may be NULL. */
static enum err ask_about(const struct rest *r, const struct call *call, const char *id,
	const char *below, struct rest_ask ask, struct json_object **json, struct error *e)
{
	enum err kind = box_check_id(id, e);

	ask.path = "/boxes/";
	ask.about = id;
	ask.below = below;
	ask.id = id;
	return kind ? kind : rest_perform(r, call, &ask, json, e);
}

enum err box_get(const struct rest *r, const struct call *call, const char *id, struct box *out,
	struct error *e)
{
	const struct rest_ask ask = {
		.method = HTTP_GET, .flags = HTTP_REPEATABLE, .what = "asking how it is"
	};
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ask_about(r, call, id, "", ask, &json, e);

	return kind ? kind : box_parse(out, json, rest_now_s(r), e);
}

enum err box_get_status(const struct rest *r, const struct call *call, const char *id,
	struct box *out, struct error *e)
{
	const struct rest_ask ask = {
		.method = HTTP_GET, .flags = HTTP_REPEATABLE, .what = "asking for its status"
	};
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ask_about(r, call, id, "/status", ask, &json, e);

	if (!kind)
		box_read_status(out, json);
	return kind;
}

enum err box_act(const struct rest *r, const struct call *call, const char *id, const char *action,
	struct error *e)
{
	char below[16], what[32];
	const struct rest_ask ask = { .method = HTTP_POST, .body = "{}", .what = what };

	snprintf(below, sizeof below, "/%s", action);
	snprintf(what, sizeof what, "%s", !strcmp(action, "stop") ? "stopping it" : "starting it");
	return ask_about(r, call, id, below, ask, NULL, e);
}

enum err box_set_idle(const struct rest *r, const struct call *call, const char *id, int64_t idle_s,
	struct error *e)
{
	char body[64];
	const struct rest_ask ask = { .method = HTTP_PATCH,
		.flags = HTTP_REPEATABLE,
		.body = body,
		.what = "setting how long it may be idle" };

	snprintf(body, sizeof body, "{\"idle_ttl_seconds\":%lld}", (long long)idle_s);
	return ask_about(r, call, id, "", ask, NULL, e);
}

/* An address as any other that the service names, and behind it the token as a query. */
static enum err check_service_url(const struct rest *r, const char *url, struct error *e)
{
	AUTO_FREE char *address = strndup(url, strcspn(url, "?"));
	struct error why = { 0 };
	enum err kind = address ? http_check_named_url(address, r->base_url, &why)
				: error_set(&why, ERR_NO_MEMORY, "a URL");

	return kind ? error_set(e, kind, "langsmith: %s", why.text) : ERR_OK;
}

/* The browser's URL contains the token, so no header is needed. */
enum err box_port_url(const struct rest *r, const struct call *call, const char *id, unsigned port,
	struct buf *out, struct error *e)
{
	char body[64];
	const struct rest_ask ask = { .method = HTTP_POST,
		.flags = HTTP_REPEATABLE,
		.body = body,
		.what = "asking for a port's URL" };
	AUTO_JSON struct json_object *json = NULL;
	const char *url;
	enum err kind;

	snprintf(body, sizeof body, "{\"port\":%u,\"expires_in_seconds\":%d}", port, URL_HOLDS_S);
	kind = ask_about(r, call, id, "/service-url", ask, &json, e);
	url = rest_text(json, "browser_url", "");
	if (!kind)
		kind = check_service_url(r, url, e);
	if (!kind)
		buf_add_string(out, url);
	return kind;
}

enum err box_delete(const struct rest *r, const struct call *call, const char *id, struct error *e)
{
	const struct rest_ask ask = {
		.method = HTTP_DELETE, .flags = HTTP_REPEATABLE, .what = "deleting it"
	};
	struct error why = { 0 };
	enum err kind = ask_about(r, call, id, "", ask, NULL, &why);

	return !kind || kind == ERR_NOT_FOUND ? ERR_OK : error_set(e, kind, "%s", why.text);
}

/* ---- Waiting ---- */

struct waiting {
	const struct rest *rest;
	const char *id;
	struct box *box;
};

static enum err poll_status(void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct waiting *w = context;
	enum err kind = box_get_status(w->rest, call, w->id, w->box, e);

	*is_done = !kind && w->box->status != BOX_PROVISIONING && w->box->status != BOX_STOPPED;
	return kind;
}

enum err box_wait(const struct rest *r, const struct call *call, const char *id, struct box *out,
	struct error *e)
{
	struct waiting w = { r, id, out };
	char what[200];

	snprintf(what, sizeof what, "langsmith:%s: waiting until it is ready", id);
	return wait_for_state(call, call_ready_ms(call), what, poll_status, &w, e);
}

/* ---- A new sandbox ---- */

/* A snapshot's id is a UUID. Any other text is a name, or NAME:TAG. */
static bool is_uuid(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(text) != sizeof form - 1 || text[strspn(text, "0123456789abcdefABCDEF-")])
		return false;
	for (size_t i = 0; form[i]; i++)
		if ((form[i] == '-') != (text[i] == '-'))
			return false;
	return true;
}

static void put_size(struct json_writer *w, const char *name, int64_t mib)
{
	if (mib)
		json_put_integer(w, name, mib * MIB);
}

/* Every deployment knows the field for whole CPUs, only some the field for parts of one. */
static void put_cpus(struct json_writer *w, double cpus)
{
	int64_t thousandths = (int64_t)(cpus * 1000 + 0.5);

	if (thousandths && thousandths % 1000 == 0)
		json_put_integer(w, "vcpus", thousandths / 1000);
	else if (thousandths)
		json_put_integer(w, "cpu_millicores", thousandths);
}

static void put_wanted(struct json_writer *w, const struct provider_config *cfg, const char *name)
{
	json_put_open(w, NULL);
	json_put_boolean(w, "wait_for_ready", false);
	json_put_text(w, "name", name);
	if (cfg->template)
		json_put_text(
			w, is_uuid(cfg->template) ? "snapshot_id" : "snapshot_name", cfg->template);
	if (cfg->env)
		json_put_pairs(w, "env_vars", cfg->env);
	if (cfg->labels)
		json_put_pairs(w, "labels", cfg->labels);
	put_cpus(w, cfg->cpus);
	put_size(w, "mem_bytes", cfg->memory_mb);
	put_size(w, "fs_capacity_bytes", cfg->disk_mb);
	if (cfg->idle_s)
		json_put_integer(w, "idle_ttl_seconds", box_whole_minutes(cfg->idle_s));
	if (cfg->delete_after_s)
		json_put_integer(
			w, "delete_after_stop_seconds", box_whole_minutes(cfg->delete_after_s));
	json_put_close(w);
}

static enum box_trace trace_of(enum err kind, const struct http_answer *answer)
{
	if (!answer->may_have_arrived)
		return BOX_NOT_MADE;
	if (kind || answer->status >= 500)
		return BOX_MAY_BE_MADE;
	return answer->status < 400 ? BOX_WAS_MADE : BOX_NOT_MADE;
}

/*
 * The request is not repeated once it may have arrived. A second sandbox of the name is refused,
 * and the refusal does not show whether the first is ours.
 */
enum err box_create(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, const char *name, struct box *out, enum box_trace *trace,
	struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(CREATE_MAX);
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_JSON struct json_object *json = NULL;
	struct rest_ask ask = {
		.method = HTTP_POST, .path = "/boxes", .what = "creating a sandbox"
	};
	enum err kind;

	*trace = BOX_NOT_MADE;
	put_wanted(&(struct json_writer){ .out = &body }, cfg, name);
	kind = buf_check(&body, "what is asked of a sandbox", e);
	if (kind)
		return kind;
	ask.body = buf_text(&body);
	kind = rest_send(r, call, &ask, &answer, e);
	*trace = trace_of(kind, &answer);
	if (kind)
		return kind;
	rest_parse(&answer.body, &json);
	kind = r->verdict(r, &ask, answer.status, json, &answer, e);
	return kind ? kind : box_parse(out, json, rest_now_s(r), e);
}

/* ---- All sandboxes ---- */

static enum err read_listed(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e)
{
	struct box b;
	enum err kind = box_parse(&b, item, now_s, e);

	if (kind)
		return kind;
	memcpy(out->id, b.id, sizeof out->id);
	out->state = box_state(&b);
	out->expires_s = box_ends_s(&b);
	out->has_ended = b.status == BOX_DELETING;
	return ERR_OK;
}

/* The request names no page size, since a deployment's limit is unknown. */
enum err box_list(const struct rest *r, const struct call *call, sandbox_sink sink, void *context,
	struct error *e)
{
	static const struct rest_list list = { .what = "listing sandboxes",
		.path = "/boxes",
		.cursor = "?cursor=",
		.items = "items",
		.older_items = "sandboxes",
		.labels = "labels",
		.made = "created_at",
		.may_lack_labels = true,
		.next = "next_cursor" };

	return rest_list_sandboxes(r, call, &list, read_listed, sink, context, e);
}
