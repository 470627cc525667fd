#include "providers/runloop/blueprint.h"

#include "providers/base/cleanup.h"
#include "providers/rest/image.h"
#include "providers/runloop/devbox_api.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX 4096

struct building {
	const struct rest *rest;
	const struct provider_config *cfg;
	const char *id;
};

static enum err take_id(struct json_object *blueprint, char id[128], struct error *e)
{
	const char *said = rest_text(blueprint, "id", "");

	if (!devbox_is_id(said))
		return error_set(e, ERR_PROTOCOL, "runloop: a blueprint without an ID");
	snprintf(id, 128, "%s", said);
	return ERR_OK;
}

static bool is_usable(struct json_object *blueprint, const char *name)
{
	return !strcmp(rest_text(blueprint, "name", ""), name) &&
		strcmp(rest_text(blueprint, "status", "failed"), "failed") != 0;
}

/* Looks for a blueprint that was made before; id "": there is none. */
static enum err find(const struct rest *r, const struct call *call, const char *name, char id[128],
	struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = DEVBOX_FLAGS,
		.path = "/v1/blueprints?name=",
		.about = name,
		.what = "looking for a blueprint",
		.id = "" };
	AUTO_JSON struct json_object *json = NULL;
	struct json_object *list, *one;
	enum err kind = rest_perform(r, call, &ask, &json, e);

	*id = 0;
	list = kind ? NULL : rest_member(json, "blueprints");
	for (size_t i = 0; (one = rest_item(list, i)); i++)
		if (is_usable(one, name))
			return take_id(one, id, e);
	return kind;
}

static enum err make(const struct rest *r, const struct call *call, const char *name,
	const char *image, char id[128], struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX), lines = BUF_INIT(BODY_MAX);
	AUTO_JSON struct json_object *json = NULL;
	struct json_writer w = { .out = &body };
	struct rest_ask ask = { .method = HTTP_POST,
		.path = "/v1/blueprints",
		.what = "making a blueprint",
		.id = "" };
	enum err kind;

	buf_printf(&lines, "FROM %s\n", image);
	json_put_open(&w, NULL);
	json_put_text(&w, "name", name);
	json_put_text(&w, "dockerfile", buf_text(&lines));
	json_put_close(&w);
	kind = buf_check(lines.failed ? &lines : &body, "an image's name", e);
	ask.body = buf_text(&body);
	if (!kind)
		kind = rest_perform(r, call, &ask, &json, e);
	return kind ? kind : take_id(json, id, e);
}

static enum err ask_about(const struct building *b, const struct call *call, const char *below,
	struct json_object **json, struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = DEVBOX_FLAGS,
		.path = "/v1/blueprints/",
		.about = b->id,
		.below = below,
		.what = "asking how a blueprint is",
		.id = "" };

	return rest_perform(b->rest, call, &ask, json, e);
}

/* The service has the whole log when the build has failed. A missing log is no second failure. */
static void tell_log(const struct building *b, const struct call *call)
{
	AUTO_JSON struct json_object *json = NULL;
	struct json_object *list, *one;

	ask_about(b, call, "/logs", &json, NULL);
	list = rest_member(json, "logs");
	for (size_t i = 0; (one = rest_item(list, i)); i++)
		build_log_tell(b->cfg->build_log, rest_text(one, "message", ""));
}

static enum err poll_status(void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct building *b = context;
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ask_about(b, call, "", &json, e);
	const char *status = rest_text(json, "status", "");

	build_log_tell(b->cfg->build_log, status);
	*is_done = !kind && !strcmp(status, "build_complete");
	if (kind || strcmp(status, "failed") != 0)
		return kind;
	tell_log(b, call);
	return image_failed("runloop", b->cfg->image, rest_text(json, "failure_reason", ""), e);
}

enum err blueprint_of_image(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, char id[128], struct error *e)
{
	struct building b = { r, cfg, id };
	char name[IMAGE_NAME_SIZE];
	enum err kind = image_check("runloop", cfg->image, e);

	if (kind)
		return kind;
	image_name(cfg->image, name);
	kind = find(r, call, name, id, e);
	if (!kind && !*id)
		kind = make(r, call, name, cfg->image, id, e);
	return kind ? kind : image_wait(r, call, cfg->image, poll_status, &b, e);
}
