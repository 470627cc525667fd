/* Snapshots of a box. */
#include "providers/base/cleanup.h"
#include "providers/langsmith/langsmith.h"
#include "providers/langsmith/snapshot.h"
#include "providers/remote/names.h"
#include "providers/rest/snapshot.h"

static enum err begin(struct langsmith *l, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(SNAPSHOT_BODY_MAX);
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = snapshot_body(&body, name, e);
	const struct rest_ask ask = { .method = HTTP_POST,
		.path = "/boxes/",
		.about = l->at.id,
		.below = "/snapshot",
		.body = buf_text(&body),
		.id = l->at.id,
		.what = "making a snapshot" };

	if (!kind)
		kind = box_check_id(l->at.id, e);
	if (!kind)
		kind = rest_perform(&l->account.rest, call, &ask, &json, e);
	return kind ? kind : snapshot_take_id(&l->account.rest, json, "id", id, e);
}

/* The service wants a name. */
enum err langsmith_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	struct langsmith *l = langsmith_of(p);
	char made[REMOTE_NAME_SIZE];
	enum err kind = name ? ERR_OK : remote_new_name("sandboxfs-", made, e);

	if (!kind)
		kind = begin(l, call, name ? name : made, id, e);
	return kind ? kind : snapshot_wait(&l->account.rest, call, id, e);
}

enum err langsmith_list_snapshots(const struct provider_config *cfg, const struct call *call,
	snapshot_sink sink, void *context, struct error *e)
{
	static const struct rest_list list = { .what = "listing snapshots",
		.path = "/snapshots?limit=500", /* 500 is the service's limit */
		.cursor = "&offset=",
		.items = "snapshots",
		.labels = "labels",
		.counts = REST_COUNTS_ITEMS };
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	enum err kind = langsmith_account_open(&account, cfg, e);

	return kind ? kind
		    : snapshot_list(&account.rest, call, &list, snapshot_read, sink, context, e);
}

enum err langsmith_delete_snapshot(
	const struct provider_config *cfg, const struct call *call, const char *id, struct error *e)
{
	AUTO_REST_ACCOUNT struct rest_account account = { 0 };
	const struct rest_ask ask = { .method = HTTP_DELETE,
		.flags = HTTP_REPEATABLE,
		.path = "/snapshots/",
		.about = id,
		.what = "deleting a snapshot" };
	enum err kind = langsmith_account_open(&account, cfg, e);

	return kind ? kind : snapshot_delete(&account.rest, call, &ask, e);
}
