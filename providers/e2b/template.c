#include "providers/e2b/template.h"

#include "providers/base/cleanup.h"
#include "providers/e2b/control_plane_ask.h"
#include "providers/rest/image.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define BODY_MAX   4096
#define BELOW_SIZE 200

struct template
{
	struct plane *plane;
	const struct provider_config *cfg;
	char id[TEMPLATE_ID_SIZE];
	char build[TEMPLATE_ID_SIZE]; /* the build to wait for; "": none */
	bool is_ready, is_waiting;    /* is_waiting: the build has not been begun */
	size_t logged; /* the number of lines of the build's log that were passed on */
};

/* ---- Requests ---- */

static enum err ask(const struct template *t, const struct call *call, struct rest_ask wanted,
	struct json_object **json, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	enum err kind;

	wanted.flags = wanted.method == HTTP_GET ? HTTP_REPEATABLE : 0;
	kind = plane_ask(t->plane, call, &wanted, &answer, e);
	if (!kind && json && !rest_parse(&answer.body, json))
		return rest_no_json(&t->plane->account.rest, &wanted, e);
	return kind;
}

static bool is_id(const char *text)
{
	const char *c = text;

	while (isalnum((unsigned char)*c) || *c == '-' || *c == '_')
		c++;
	return c > text && !*c;
}

/* The id is checked, since it goes into paths. */
static enum err take_id(
	struct json_object *json, const char *name, char id[TEMPLATE_ID_SIZE], struct error *e)
{
	const char *said = rest_text(json, name, "");

	if (!is_id(said) || strlen(said) >= TEMPLATE_ID_SIZE)
		return error_set(e, ERR_PROTOCOL, "e2b: a template's %s makes no sense", name);
	snprintf(id, TEMPLATE_ID_SIZE, "%s", said);
	return ERR_OK;
}

/* ---- A template that was made before ---- */

/* One build that is ready is enough. Without one, the first unfinished build is the newest. */
static enum err take_build(struct template *t, struct json_object *build, struct error *e)
{
	const char *status = rest_text(build, "status", "");

	if (!strcmp(status, "ready"))
		t->is_ready = true;
	if (*t->build || (strcmp(status, "building") != 0 && strcmp(status, "waiting") != 0))
		return ERR_OK;
	t->is_waiting = !strcmp(status, "waiting");
	return take_id(build, "buildID", t->build, e);
}

static enum err find_builds(struct template *t, const struct call *call, struct error *e)
{
	const struct rest_ask wanted = {
		.path = "/templates/", .about = t->id, .what = "looking at a template"
	};
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ask(t, call, wanted, &json, e);
	struct json_object *list = rest_member(json, "builds"), *one;

	for (size_t i = 0; !kind && (one = rest_item(list, i)); i++)
		kind = take_build(t, one, e);
	return kind;
}

static enum err find(struct template *t, const struct call *call, const char *name, struct error *e)
{
	const struct rest_ask wanted = {
		.path = "/templates/aliases/", .about = name, .what = "looking for a template"
	};
	AUTO_JSON struct json_object *json = NULL;
	struct error why = { 0 };
	enum err kind = ask(t, call, wanted, &json, &why);

	if (kind == ERR_NOT_FOUND)
		return ERR_OK;
	if (kind)
		return error_set(e, kind, "%s", why.text);
	kind = take_id(json, "templateID", t->id, e);
	return kind ? kind : find_builds(t, call, e);
}

/* ---- A new template ---- */

static enum err ask_for_build(
	struct template *t, const struct call *call, const char *name, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	AUTO_JSON struct json_object *json = NULL;
	struct json_writer w = { .out = &body };
	enum err kind;

	json_put_open(&w, NULL);
	json_put_text(&w, "name", name);
	json_put_close(&w);
	kind = ask(t, call,
		(struct rest_ask){ .method = HTTP_POST,
			.path = "/v3/templates",
			.body = buf_text(&body),
			.what = "making a template" },
		&json, e);
	if (!kind)
		kind = take_id(json, "templateID", t->id, e);
	return kind ? kind : take_id(json, "buildID", t->build, e);
}

static enum err begin_build(struct template *t, const struct call *call, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	struct json_writer w = { .out = &body };
	char below[BELOW_SIZE];
	enum err kind;

	snprintf(below, sizeof below, "/builds/%s", t->build);
	json_put_open(&w, NULL);
	json_put_text(&w, "fromImage", t->cfg->image);
	json_put_open_list(&w, "steps");
	json_put_close_list(&w);
	json_put_close(&w);
	kind = buf_check(&body, "an image's name", e);
	return kind ? kind
		    : ask(t, call,
			      (struct rest_ask){ .method = HTTP_POST,
				      .path = "/v2/templates/",
				      .about = t->id,
				      .below = below,
				      .body = buf_text(&body),
				      .what = "building a template" },
			      NULL, e);
}

static enum err make(struct template *t, const struct call *call, const char *name, struct error *e)
{
	enum err kind = ask_for_build(t, call, name, e);

	return kind ? kind : begin_build(t, call, e);
}

/* The maker of a build may have ended before the build was begun. A begun build refuses this. */
static void begin_again(struct template *t, const struct call *call)
{
	struct error why = { 0 };

	if (t->is_waiting && !t->is_ready)
		begin_build(t, call, &why);
}

/* ---- Waiting ---- */

static void tell_log(struct template *t, struct json_object *list)
{
	struct json_object *one;

	for (size_t i = 0; (one = rest_item(list, i)); i++, t->logged++)
		build_log_tell(t->cfg->build_log, rest_text(one, "message", ""));
}

static enum err poll_build(void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct template *t = context;
	AUTO_JSON struct json_object *json = NULL;
	char below[BELOW_SIZE];
	const char *status;
	enum err kind;

	snprintf(below, sizeof below, "/builds/%s/status?logsOffset=%zu", t->build, t->logged);
	kind = ask(t, call,
		(struct rest_ask){ .path = "/templates/",
			.about = t->id,
			.below = below,
			.what = "asking how a build is" },
		&json, e);
	status = rest_text(json, "status", "");
	build_log_tell(t->cfg->build_log, status);
	tell_log(t, rest_member(json, "logEntries"));
	*is_done = !kind && !strcmp(status, "ready");
	if (kind || strcmp(status, "error") != 0)
		return kind;
	return image_failed(
		"e2b", t->cfg->image, rest_text(rest_member(json, "reason"), "message", ""), e);
}

enum err template_of_image(struct plane *c, const struct call *call,
	const struct provider_config *cfg, char id[TEMPLATE_ID_SIZE], struct error *e)
{
	struct template t = { .plane = c, .cfg = cfg };
	char name[IMAGE_NAME_SIZE];
	enum err kind = image_check("e2b", cfg->image, e);

	if (kind)
		return kind;
	image_name(cfg->image, name);
	kind = find(&t, call, name, e);
	if (!kind && !t.is_ready && !*t.build)
		kind = make(&t, call, name, e);
	else if (!kind)
		begin_again(&t, call);
	if (!kind && !t.is_ready)
		kind = image_wait(&c->account.rest, call, cfg->image, poll_build, &t, e);
	memcpy(id, t.id, sizeof t.id);
	return kind;
}
