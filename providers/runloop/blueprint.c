#include "providers/runloop/blueprint.h"

#include "providers/base/cleanup.h"
#include "providers/runloop/devbox_api.h"

#define LINES_MAX 4096

static void put(struct json_writer *w, const struct provider_config *cfg)
{
	AUTO_BUF struct buf lines = BUF_INIT(LINES_MAX);

	buf_printf(&lines, "FROM %s\n", cfg->image);
	json_put_text(w, "dockerfile", buf_text(&lines));
	w->out->failed = w->out->failed || lines.failed;
}

/* The service has the whole log when the build has failed. A missing log is no second failure. */
static void tell_log(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, const char *id)
{
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = DEVBOX_FLAGS,
		.path = "/v1/blueprints/",
		.about = id,
		.below = "/logs",
		.what = "asking how a blueprint is",
		.id = "" };
	AUTO_JSON struct json_object *json = NULL;
	struct json_object *list, *one;

	rest_perform(r, call, &ask, &json, NULL);
	list = rest_member(json, "logs");
	for (size_t i = 0; (one = rest_item(list, i)); i++)
		build_log_tell(cfg->build_log, rest_text(one, "message", ""));
}

const struct image_base runloop_blueprint = {
	.noun = "a blueprint",
	.finding = "looking for a blueprint",
	.making = "making a blueprint",
	.asking = "asking how a blueprint is",
	.path = "/v1/blueprints",
	.by_name = "?name=",
	.items = "blueprints",
	.ready = "build_complete",
	.reason = "failure_reason",
	.flags = DEVBOX_FLAGS,
	.is_id = devbox_is_id,
	.put = put,
	.tell_log = tell_log,
};
