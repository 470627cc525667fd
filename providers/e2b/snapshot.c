/* Snapshots and forks by E2B's control plane. A snapshot is a template there. */
#include "providers/base/cleanup.h"
#include "providers/e2b/control_plane_ask.h"
#include "providers/e2b/control_plane_json.h"
#include "providers/rest/snapshot.h"

#include <stdio.h>
#include <string.h>

/* The life of a fork; the service's own default is 15 s, which ends before anybody has used it. */
#define FORK_S 300
/* More than any account has, of 100 snapshots a page: a server that goes on is faulty. */
#define PAGES_MAX 1000

static enum err no_json(const struct plane *c, const struct rest_ask *ask, struct error *e)
{
	return rest_no_json(&c->account.rest, ask, e);
}

enum err plane_snapshot(struct plane *c, const struct call *call, const char *id, const char *name,
	char snapshot[SNAPSHOT_ID_SIZE], struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_BUF struct buf body = BUF_INIT(SNAPSHOT_BODY_MAX);
	AUTO_JSON struct json_object *json = NULL;
	struct rest_ask ask = {
		.method = HTTP_POST, .path = "/snapshots", .id = id, .what = "making a snapshot"
	};
	enum err kind = snapshot_body(&body, name, e);

	ask.body = buf_text(&body);
	if (!kind)
		kind = plane_ask_of(c, call, ask, &answer, e);
	if (!kind && !rest_parse(&answer.body, &json))
		return no_json(c, &ask, e);
	return kind ? kind : snapshot_take_id(&c->account.rest, json, "snapshotID", snapshot, e);
}

/* The first name that is not the ID. */
static const char *name_of(struct json_object *item, const char *id)
{
	struct json_object *names = rest_member(item, "names");
	const char *name = NULL;

	if (json_object_is_type(names, json_type_array) && json_object_array_length(names))
		name = json_object_get_string(json_object_array_get_idx(names, 0));
	return name && strcmp(name, id) != 0 ? name : "";
}

static enum err pass_page(struct plane *c, const struct rest_ask *ask, const struct buf *body,
	snapshot_sink sink, void *context, struct error *e)
{
	AUTO_JSON struct json_object *list = NULL;
	struct json_object *item;
	enum err kind = ERR_OK;

	if (!rest_parse(body, &list) || !json_object_is_type(list, json_type_array))
		return no_json(c, ask, e);
	for (size_t i = 0; !kind && (item = rest_item(list, i)); i++) {
		char id[SNAPSHOT_ID_SIZE];

		kind = snapshot_take_id(&c->account.rest, item, "snapshotID", id, e);
		if (!kind)
			kind = sink(context, id, name_of(item, id), e);
	}
	return kind;
}

enum err plane_list_snapshots(struct plane *c, const struct call *call, snapshot_sink sink,
	void *context, struct error *e)
{
	char token[sizeof((struct http_answer *)0)->next_token] = "";

	for (int page = 0; page < PAGES_MAX; page++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		struct rest_ask ask = { .method = HTTP_GET,
			.flags = HTTP_REPEATABLE,
			.path = *token ? "/snapshots?limit=100&nextToken=" : "/snapshots?limit=100",
			.about = *token ? token : NULL,
			.what = "listing snapshots" };
		enum err kind = plane_ask(c, call, &ask, &answer, e);

		if (!kind)
			kind = pass_page(c, &ask, &answer.body, sink, context, e);
		if (kind || !*answer.next_token)
			return kind;
		memcpy(token, answer.next_token, sizeof token);
	}
	return error_set(e, ERR_PROTOCOL, "e2b: the list of snapshots has no end");
}

enum err plane_delete_snapshot(
	struct plane *c, const struct call *call, const char *snapshot, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	const struct rest_ask ask = { .method = HTTP_DELETE,
		.flags = HTTP_REPEATABLE,
		.path = "/templates/",
		.about = snapshot,
		.what = "deleting a snapshot" };
	struct error why = { 0 };
	enum err kind = plane_ask(c, call, &ask, &answer, &why);

	return !kind || kind == ERR_NOT_FOUND ? ERR_OK : error_set(e, kind, "%s", why.text);
}

/* The answer is a list of results, each a sandbox or an error. */
static enum err read_fork(
	struct plane *c, struct json_object *list, struct plane_sandbox *out, struct error *e)
{
	struct json_object *one = rest_item(list, 0);
	struct json_object *sandbox = rest_member(one, "sandbox");
	AUTO_BUF struct buf text = BUF_INIT(HTTP_BODY_MAX);

	if (!sandbox)
		return error_set(e, ERR_IO, "e2b: the fork did not start: %.200s",
			rest_text(rest_member(one, "error"), "message",
				"the service does not say why"));
	buf_add_string(&text, json_object_to_json_string(sandbox));
	return plane_json_sandbox(&text, rest_now_s(&c->account.rest), out, e);
}

enum err plane_fork(struct plane *c, const struct call *call, const char *id,
	struct plane_sandbox *out, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_JSON struct json_object *json = NULL;
	char body[64];
	struct rest_ask ask = { .method = HTTP_POST,
		.path = "/fork",
		.body = body,
		.id = id,
		.what = "forking the sandbox" };
	enum err kind;

	snprintf(body, sizeof body, "{\"timeout\": %d, \"count\": 1}", FORK_S);
	kind = plane_ask_of(c, call, ask, &answer, e);
	if (!kind && !rest_parse(&answer.body, &json))
		return no_json(c, &ask, e);
	return kind ? kind : read_fork(c, json, out, e);
}
