#include "providers/rest/image.h"

#include "providers/base/cleanup.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define BODY_MAX ((size_t)8192)

enum err image_check(const char *vendor, const char *image, struct error *e)
{
	if (*image && !image[strcspn(image, " \t\r\n")])
		return ERR_OK;
	return error_set(e, ERR_INVALID, "%s: '%.100s' is no image", vendor, image);
}

/* The name ends in a hash, because two images may share the letters that a name can have. */
void image_name(const char *image, char name[IMAGE_NAME_SIZE])
{
	int len = snprintf(name, IMAGE_NAME_SIZE, "sandboxfs-%.100s-%08x", image,
		(unsigned)XXH3_64bits(image, strlen(image)));

	for (int i = 0; i < len; i++)
		name[i] = isalnum((unsigned char)name[i]) ? (char)tolower((unsigned char)name[i])
							  : '-';
}

enum err image_wait(const struct rest *r, const struct call *call, const char *image,
	wait_look poll, void *context, struct error *e)
{
	char what[200];

	snprintf(what, sizeof what, "%s: building the image %.100s", r->vendor, image);
	return wait_for_state(call, IMAGE_READY_MS, what, poll, context, e);
}

enum err image_failed(const char *vendor, const char *image, const char *words, struct error *e)
{
	return error_set(e, ERR_IO, "%s: the image %.100s cannot be built: %.200s", vendor, image,
		*words ? words : "the service does not say why");
}

/* ---- A base that the vendor lists ---- */

struct basing {
	const struct image_base *base;
	const struct rest *rest;
	const struct provider_config *cfg;
	char *id; /* IMAGE_ID_SIZE bytes; "": not known */
};

static enum err take_id(const struct basing *b, struct json_object *json, struct error *e)
{
	const char *said = rest_text(json, "id", "");

	if (strlen(said) >= IMAGE_ID_SIZE || !b->base->is_id(said))
		return error_set(
			e, ERR_PROTOCOL, "%s: %s without an ID", b->rest->vendor, b->base->noun);
	strcpy(b->id, said);
	return ERR_OK;
}

static bool is_usable(struct json_object *json, const char *name)
{
	return !strcmp(rest_text(json, "name", ""), name) &&
		strcmp(rest_text(json, "status", "failed"), "failed") != 0;
}

static enum err find(
	const struct basing *b, const struct call *call, const char *name, struct error *e)
{
	char path[200];
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = b->base->flags,
		.path = path,
		.about = name,
		.what = b->base->finding,
		.id = "" };
	AUTO_JSON struct json_object *json = NULL;
	struct json_object *list, *one;
	enum err kind;

	snprintf(path, sizeof path, "%s%s", b->base->path, b->base->by_name);
	kind = rest_perform(b->rest, call, &ask, &json, e);
	list = kind ? NULL : rest_member(json, b->base->items);
	for (size_t i = 0; (one = rest_item(list, i)); i++)
		if (is_usable(one, name))
			return take_id(b, one, e);
	return kind;
}

static enum err make(
	const struct basing *b, const struct call *call, const char *name, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	AUTO_JSON struct json_object *json = NULL;
	struct json_writer w = { .out = &body };
	struct rest_ask ask = {
		.method = HTTP_POST, .path = b->base->path, .what = b->base->making, .id = ""
	};
	enum err kind;

	json_put_open(&w, NULL);
	json_put_text(&w, "name", name);
	b->base->put(&w, b->cfg);
	json_put_close(&w);
	kind = buf_check(&body, "an image's name", e);
	ask.body = buf_text(&body);
	if (!kind)
		kind = rest_perform(b->rest, call, &ask, &json, e);
	return kind ? kind : take_id(b, json, e);
}

static enum err poll_status(void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct basing *b = context;
	char path[200];
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = b->base->flags,
		.path = path,
		.about = b->id,
		.what = b->base->asking,
		.id = "" };
	AUTO_JSON struct json_object *json = NULL;
	const char *status;
	enum err kind;

	snprintf(path, sizeof path, "%s/", b->base->path);
	kind = rest_perform(b->rest, call, &ask, &json, e);
	status = rest_text(json, "status", "");
	build_log_tell(b->cfg->build_log, status);
	*is_done = !kind && !strcmp(status, b->base->ready);
	if (kind || strcmp(status, "failed") != 0)
		return kind;
	if (b->base->tell_log)
		b->base->tell_log(b->rest, call, b->cfg, b->id);
	return image_failed(
		b->rest->vendor, b->cfg->image, rest_text(json, b->base->reason, ""), e);
}

enum err image_base_of(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, const struct image_base *base, char id[IMAGE_ID_SIZE],
	struct error *e)
{
	struct basing b = { base, r, cfg, id };
	char name[IMAGE_NAME_SIZE];
	enum err kind = image_check(r->vendor, cfg->image, e);

	*id = 0;
	if (kind)
		return kind;
	image_name(cfg->image, name);
	kind = find(&b, call, name, e);
	if (!kind && !*id)
		kind = make(&b, call, name, e);
	return kind ? kind : image_wait(r, call, cfg->image, poll_status, &b, e);
}
