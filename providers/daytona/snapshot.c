/* Snapshots and forks. A snapshot is found by its name. */
#include "providers/base/cleanup.h"
#include "providers/base/wait.h"
#include "providers/daytona/daytona.h"
#include "providers/remote/names.h"
#include "providers/rest/snapshot.h"

#include <stdio.h>
#include <string.h>

/* ---- A new snapshot ---- */

static enum err begin(struct daytona *d, const struct call *call, const char *name, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(SNAPSHOT_BODY_MAX);
	enum err kind = snapshot_body(&body, name, e);
	const struct rest_ask ask = { .method = HTTP_POST,
		.path = "/sandbox/",
		.about = d->at.id,
		.below = "/snapshot",
		.body = buf_text(&body),
		.id = d->at.id,
		.what = "making a snapshot" };

	return kind ? kind : rest_perform(&d->account.rest, call, &ask, NULL, e);
}

static enum err look(const struct rest *r, const struct call *call, const char *name,
	struct json_object **json, struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "/snapshots/",
		.about = name,
		.what = "looking for a snapshot" };

	return rest_perform(r, call, &ask, json, e);
}

struct waiting {
	struct daytona *d;
	const char *name;
};

/* The sandbox is of the state snapshotting meanwhile, and then of the one before. */
static enum err poll_snapshot(
	void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct waiting *w = context;
	AUTO_JSON struct json_object *json = NULL;
	struct daytona_sandbox sandbox;
	const char *state;
	enum err kind = daytona_see(w->d, call, &sandbox, e);

	if (kind || !strcmp(sandbox.state, "snapshotting"))
		return kind;
	if (sandbox.life == DAYTONA_BROKEN || sandbox.life == DAYTONA_FAILED)
		return error_set(e, ERR_IO, "daytona: the snapshot failed: %s", sandbox.why);
	kind = look(&w->d->account.rest, call, w->name, &json, e);
	state = rest_text(json, "state", "");
	*is_done = !kind && !strcmp(state, "active");
	if (kind || (strcmp(state, "error") != 0 && strcmp(state, "build_failed") != 0))
		return kind;
	return error_set(e, ERR_IO, "daytona: the snapshot failed: %.200s",
		rest_text(json, "errorReason", "no reason is told"));
}

enum err daytona_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	struct daytona *d = daytona_of(p);
	char made[REMOTE_NAME_SIZE];
	struct waiting w = { d, name ? name : made };
	enum err kind = name ? ERR_OK : remote_new_name("sandboxfs-", made, e);

	if (!kind)
		kind = attachment_note(&d->at, begin(d, call, w.name, e), e);
	if (!kind)
		kind = wait_for_state(call, call_ready_ms(call), "waiting for the snapshot",
			poll_snapshot, &w, e);
	if (!kind)
		snprintf(id, SNAPSHOT_ID_SIZE, "%s", w.name);
	return kind;
}

/* ---- All snapshots ---- */

/* The name is the ID for `create`. The vendor's own snapshots are left out. */
static enum err read_listed(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e)
{
	enum err kind = snapshot_read(out, item, now_s, e);

	if (kind)
		return kind;
	out->has_ended = rest_flag(item, "general", false);
	memcpy(out->id, *out->name ? out->name : out->id, sizeof out->id);
	*out->name = 0;
	return ERR_OK;
}

enum err daytona_list_snapshots(const struct provider_config *cfg, const struct call *call,
	snapshot_sink sink, void *context, struct error *e)
{
	static const struct rest_list list = { .what = "listing snapshots",
		.path = "/snapshots?limit=100",
		.cursor = "&page=",
		.items = "items",
		.labels = "labels",
		.counts = REST_COUNTS_PAGES };
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	enum err kind = daytona_account_open(&account, cfg, e);

	return kind ? kind
		    : snapshot_list(&account.rest, call, &list, read_listed, sink, context, e);
}

static enum err delete_by_id(
	const struct rest *r, const struct call *call, struct json_object *json, struct error *e)
{
	char id[SNAPSHOT_ID_SIZE];
	const struct rest_ask ask = { .method = HTTP_DELETE,
		.flags = HTTP_REPEATABLE,
		.path = "/snapshots/",
		.about = id,
		.what = "deleting a snapshot" };
	enum err kind = snapshot_take_id(r, json, "id", id, e);

	return kind ? kind : snapshot_delete(r, call, &ask, e);
}

enum err daytona_delete_snapshot(
	const struct provider_config *cfg, const struct call *call, const char *id, struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	AUTO_JSON struct json_object *json = NULL;
	struct error why = { 0 };
	enum err kind = daytona_account_open(&account, cfg, e);

	if (kind)
		return kind;
	kind = look(&account.rest, call, id, &json, &why);
	if (!kind)
		return delete_by_id(&account.rest, call, json, e);
	return kind == ERR_NOT_FOUND ? ERR_OK : error_set(e, kind, "%s", why.text);
}

/* ---- A fork ---- */

static enum err begin_fork(
	struct daytona *d, const struct call *call, char id[128], struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_POST,
		.path = "/sandbox/",
		.about = d->at.id,
		.below = "/fork",
		.body = "{}",
		.id = d->at.id,
		.what = "forking the sandbox" };
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = rest_make(&d->account.rest, call, &ask, "id", &json, id, 128, e);

	if (kind)
		return kind;
	snprintf(id, 128, "%s", rest_text(json, "id", ""));
	return *id ? ERR_OK
		   : error_set(e, ERR_PROTOCOL, "daytona: a fork without an ID" REST_MAY_EXIST,
			     "daytona");
}

struct forking {
	const struct rest *rest;
	const char *id;
};

static enum err poll_fork(void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct forking *f = context;
	struct daytona_sandbox sandbox;
	enum err kind = daytona_look(f->rest, call, f->id, &sandbox, e);

	if (kind)
		return kind;
	*is_done = sandbox.life == DAYTONA_RUNS;
	if (sandbox.life == DAYTONA_BROKEN || sandbox.life == DAYTONA_FAILED)
		return error_set(e, ERR_IO, "daytona: the fork failed: %s", sandbox.why);
	return ERR_OK;
}

enum err daytona_fork(struct provider *p, const struct call *call, char id[128], struct error *e)
{
	struct daytona *d = daytona_of(p);
	struct forking f = { &d->account.rest, id };
	enum err kind;

	*id = 0;
	kind = begin_fork(d, call, id, e);
	if (!kind)
		kind = wait_for_state(
			call, call_ready_ms(call), "waiting for the fork", poll_fork, &f, e);
	if (kind && *id)
		daytona_act(&d->account.rest, NULL, id, DAYTONA_DELETE, NULL);
	return kind;
}
