#include "providers/langsmith/snapshot.h"

#include "providers/base/cleanup.h"
#include "providers/json.h"
#include "providers/rest/image.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX ((size_t)4096)
#define MIB      ((int64_t)1024 * 1024)
/* The service has no default size; the vendor's own documents use this one. */
#define DISK_MB 8192

static bool is_named(struct json_object *snapshot, const char *name)
{
	return !strcmp(rest_text(snapshot, "name", ""), name) &&
		strcmp(rest_text(snapshot, "status", ""), "failed") != 0;
}

static enum err take_id(struct json_object *snapshot, char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	const char *said = rest_text(snapshot, "id", "");

	if (!*said || strlen(said) >= SNAPSHOT_ID_SIZE)
		return error_set(e, ERR_PROTOCOL, "langsmith: a snapshot without an ID");
	snprintf(id, SNAPSHOT_ID_SIZE, "%s", said);
	return ERR_OK;
}

/* Finds a snapshot that was made before; id "": none. */
static enum err find(const struct rest *r, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "/snapshots?name_contains=",
		.about = name,
		.what = "looking for a snapshot" };
	AUTO_JSON struct json_object *json = NULL;
	struct json_object *list, *one;
	enum err kind = rest_perform(r, call, &ask, &json, e);

	*id = 0;
	list = kind ? NULL : rest_member(json, "snapshots");
	for (size_t i = 0; (one = rest_item(list, i)); i++)
		if (is_named(one, name))
			return take_id(one, id, e);
	return kind;
}

static enum err make(const struct rest *r, const struct call *call, const char *name,
	const struct provider_config *cfg, char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	AUTO_JSON struct json_object *json = NULL;
	struct json_writer w = { .out = &body };
	struct rest_ask ask = {
		.method = HTTP_POST, .path = "/snapshots", .what = "making a snapshot of an image"
	};
	enum err kind;

	json_put_open(&w, NULL);
	json_put_text(&w, "name", name);
	json_put_text(&w, "docker_image", cfg->image);
	json_put_integer(&w, "fs_capacity_bytes", (cfg->disk_mb ? cfg->disk_mb : DISK_MB) * MIB);
	json_put_close(&w);
	kind = buf_check(&body, "an image's name", e);
	ask.body = buf_text(&body);
	if (!kind)
		kind = rest_perform(r, call, &ask, &json, e);
	return kind ? kind : take_id(json, id, e);
}

struct waiting {
	const struct rest *rest;
	const struct provider_config *cfg;
	const char *id;
};

static enum err poll_status(void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct waiting *w = context;
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "/snapshots/",
		.about = w->id,
		.what = "asking how a snapshot is" };
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = rest_perform(w->rest, call, &ask, &json, e);
	const char *status = rest_text(json, "status", "");

	build_log_tell(w->cfg->build_log, status);
	*is_done = !kind && !strcmp(status, "ready");
	if (kind || strcmp(status, "failed") != 0)
		return kind;
	return image_failed("langsmith", w->cfg->image, rest_text(json, "status_message", ""), e);
}

enum err snapshot_of_image(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	struct waiting w = { r, cfg, id };
	char name[IMAGE_NAME_SIZE];
	enum err kind = image_check("langsmith", cfg->image, e);

	if (kind)
		return kind;
	image_name(cfg->image, name);
	kind = find(r, call, name, id, e);
	if (!kind && !*id)
		kind = make(r, call, name, cfg, id, e);
	return kind ? kind : image_wait(r, call, cfg->image, poll_status, &w, e);
}
