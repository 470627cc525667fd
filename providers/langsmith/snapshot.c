#include "providers/langsmith/snapshot.h"

#include "providers/base/cleanup.h"
#include "providers/base/wait.h"

#include <string.h>

#define MIB ((int64_t)1024 * 1024)
/* The service has no default size; the vendor's own documents use this one. */
#define DISK_MB 8192

static bool is_id(const char *text)
{
	return *text;
}

static void put(struct json_writer *w, const struct provider_config *cfg)
{
	json_put_text(w, "docker_image", cfg->image);
	json_put_integer(w, "fs_capacity_bytes", (cfg->disk_mb ? cfg->disk_mb : DISK_MB) * MIB);
}

const struct image_base langsmith_image = {
	.noun = "a snapshot",
	.finding = "looking for a snapshot",
	.making = "making a snapshot of an image",
	.asking = "asking how a snapshot is",
	.path = "/snapshots",
	.by_name = "?name_contains=",
	.items = "snapshots",
	.ready = "ready",
	.reason = "status_message",
	.flags = HTTP_REPEATABLE,
	.is_id = is_id,
	.put = put,
};

/* ---- The snapshot of a sandbox ---- */

struct waiting {
	const struct rest *rest;
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
	const char *words = rest_text(json, "status_message", "");

	*is_done = !kind && !strcmp(status, "ready");
	if (kind || strcmp(status, "failed") != 0)
		return kind;
	return error_set(
		e, ERR_IO, "langsmith: the snapshot failed%s%.200s", *words ? ": " : "", words);
}

enum err snapshot_wait(
	const struct rest *r, const struct call *call, const char *id, struct error *e)
{
	struct waiting w = { r, id };

	return wait_for_state(
		call, call_ready_ms(call), "waiting for the snapshot", poll_status, &w, e);
}
