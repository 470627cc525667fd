/* Snapshots of a devbox's disk. */
#include "providers/base/cleanup.h"
#include "providers/base/wait.h"
#include "providers/rest/snapshot.h"
#include "providers/runloop/runloop.h"

#include <stdio.h>
#include <string.h>

/* The service's own word before an ID that does not show what it is of, as in create.c. */
#define WORD  "snapshot:"
#define BEGIN "snp_"

/* The API's ID of the text that `create` takes. ERR_INVALID: it cannot go into a URL. */
static enum err api_id(const char *id, const char **out, struct error *e)
{
	*out = strncmp(id, WORD, strlen(WORD)) ? id : id + strlen(WORD);
	if (devbox_is_id(*out))
		return ERR_OK;
	return error_set(e, ERR_INVALID, "runloop: '%.60s' is no ID of a snapshot", id);
}

static enum err begin(struct runloop *b, const struct call *call, const char *name,
	struct json_object **json, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(SNAPSHOT_BODY_MAX);
	struct devbox_request q;
	enum err kind = snapshot_body(&body, name, e);

	if (!kind)
		kind = devbox_request_make(&q, HTTP_POST, b->at.id, "making a snapshot", e, "%s",
			"/snapshot_disk_async");
	q.ask.body = buf_text(&body);
	return kind ? kind : rest_perform(&b->api.rest, call, &q.ask, json, e);
}

struct waiting {
	const struct rest *rest;
	const char *id;
};

static enum err poll(void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct waiting *w = context;
	AUTO_JSON struct json_object *json = NULL;
	struct devbox_request q;
	const char *status;
	enum err kind = devbox_request_make(&q, HTTP_GET, "", "asking how a snapshot is", e,
		"/disk_snapshots/%s/status", w->id);

	q.ask.flags |= HTTP_REPEATABLE;
	if (!kind)
		kind = rest_perform(w->rest, call, &q.ask, &json, e);
	if (kind)
		return kind;
	status = rest_text(json, "status", "");
	*is_done = !strcmp(status, "complete");
	if (*is_done || !strcmp(status, "in_progress"))
		return ERR_OK;
	return error_set(e, ERR_IO, "runloop: the snapshot %s is of status '%.40s': %.200s", w->id,
		status, rest_text(json, "error_message", "the service does not say why"));
}

enum err runloop_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	struct runloop *b = runloop_of(p);
	AUTO_JSON struct json_object *json = NULL;
	char made[SNAPSHOT_ID_SIZE];
	struct waiting w = { &b->api.rest, made };
	const char *checked;
	enum err kind = attachment_check(&b->at, e);

	if (!kind)
		kind = attachment_note(&b->at, begin(b, call, name, &json, e), e);
	if (!kind)
		kind = snapshot_take_id(&b->api.rest, json, "id", made, e);
	if (!kind)
		kind = api_id(made, &checked, e);
	if (!kind)
		kind = wait_for_state(
			call, call_ready_ms(call), "waiting for the snapshot", poll, &w, e);
	if (!kind)
		snprintf(id, SNAPSHOT_ID_SIZE, "%s%.127s",
			strncmp(made, BEGIN, strlen(BEGIN)) ? WORD : "", checked);
	return kind;
}

enum err runloop_list_snapshots(const struct provider_config *cfg, const struct call *call,
	snapshot_sink sink, void *context, struct error *e)
{
	static const struct rest_list list = { .what = "listing snapshots",
		.path = "/v1/devboxes/disk_snapshots?limit=100&include_total_count=false",
		.cursor = "&starting_after=",
		.items = "snapshots",
		.has_always_items = true,
		.labels = "metadata",
		.more = "has_more",
		.flags = DEVBOX_FLAGS };
	AUTO_REST_ACCOUNT struct rest_account api = { 0 };
	enum err kind = devbox_api_open(&api, cfg, e);

	return kind ? kind : snapshot_list(&api.rest, call, &list, snapshot_read, sink, context, e);
}

enum err runloop_delete_snapshot(
	const struct provider_config *cfg, const struct call *call, const char *id, struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account api = { 0 };
	struct devbox_request q;
	const char *checked;
	enum err kind = api_id(id, &checked, e);

	if (!kind)
		kind = devbox_api_open(&api, cfg, e);
	if (!kind)
		kind = devbox_request_make(&q, HTTP_POST, "", "deleting a snapshot", e,
			"/disk_snapshots/%s/delete", checked);
	q.ask.flags |= HTTP_REPEATABLE;
	return kind ? kind : snapshot_delete(&api.rest, call, &q.ask, e);
}
