#include "providers/e2b/control_plane_json.h"

#include "providers/e2b/settings.h"
#include "providers/json.h"
#include "providers/rest/list.h"

#include <stdio.h>
#include <string.h>

/* The lifetime that v2 gives by default, and that the SDK sends in all other requests. */
#define DEFAULT_LIFETIME_S 300

/* ---- Fields ---- */

static const char *text_of(struct json_object *object, const char *name)
{
	return rest_text(object, name, "");
}

/* Visible ASCII alone, which can stand in a header. */
static bool is_token(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

static bool is_id(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789")];
}

static bool is_domain_or_absent(const char *text)
{
	return !*text || e2b_is_domain(text);
}

/* Copies a field that passes `is_good` and fits. */
static enum err take_text(struct json_object *object, const char *name,
	bool (*is_good)(const char *), char *out, size_t room, struct error *e)
{
	const char *text = text_of(object, name);
	size_t len = strlen(text);

	if (len >= room || !is_good(text))
		return error_set(e, ERR_PROTOCOL, "e2b: the answer's %s makes no sense", name);
	memcpy(out, text, len + 1);
	return ERR_OK;
}

static enum sandbox_state state_of(struct json_object *object)
{
	return strcmp(text_of(object, "state"), "paused") ? SANDBOX_RUNNING : SANDBOX_PAUSED;
}

/* ---- One sandbox ---- */

static enum err take_sandbox(
	struct json_object *object, int64_t now_s, struct plane_sandbox *out, struct error *e)
{
	enum err kind = take_text(object, "sandboxID", is_id, out->id, sizeof out->id, e);

	if (!kind)
		kind = take_text(
			object, "domain", is_domain_or_absent, out->domain, sizeof out->domain, e);
	if (!kind)
		kind = take_text(
			object, "envdAccessToken", is_token, out->token, sizeof out->token, e);
	if (!kind)
		kind = take_text(object, "envdVersion", is_token, out->envd_version,
			sizeof out->envd_version, e);
	if (!kind)
		kind = take_text(object, "trafficAccessToken", is_token, out->traffic_token,
			sizeof out->traffic_token, e);
	out->is_private = !rest_flag(rest_member(object, "network"), "allowPublicTraffic", true);
	rest_volumes(rest_member(object, "volumeMounts"), "name", "path", out->volumes,
		sizeof out->volumes);
	out->state = state_of(object);
	out->auto_resumes = rest_flag(rest_member(object, "lifecycle"), "autoResume", false);
	out->ends_s = rest_seconds_until(text_of(object, "endAt"), now_s);
	return kind;
}

enum err plane_json_sandbox(
	const struct buf *body, int64_t now_s, struct plane_sandbox *out, struct error *e)
{
	AUTO_JSON struct json_object *object = NULL;

	*out = (struct plane_sandbox){ .ends_s = -1 };
	rest_parse(body, &object);
	if (!json_object_is_type(object, json_type_object))
		return error_set(e, ERR_PROTOCOL, "e2b: the answer is no sandbox in JSON");
	return take_sandbox(object, now_s, out, e);
}

/* ---- Many ---- */

static enum err read_listed(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e)
{
	struct plane_sandbox s = { .ends_s = -1 };
	enum err kind = take_sandbox(item, now_s, &s, e);

	memcpy(out->id, s.id, sizeof s.id);
	out->state = s.state;
	out->expires_s = s.ends_s;
	return kind;
}

enum err plane_json_list(
	const struct buf *body, int64_t now_s, sandbox_sink sink, void *context, struct error *e)
{
	static const struct rest_list list = { .labels = "metadata", .made = "startedAt" };
	struct rest_listing listing = { sink, context };
	AUTO_JSON struct json_object *array = NULL;

	rest_parse(body, &array);
	if (!json_object_is_type(array, json_type_array))
		return error_set(
			e, ERR_PROTOCOL, "e2b: the answer is no list of sandboxes in JSON");
	return rest_list_page(array, &list, now_s, read_listed, rest_list_pass, &listing, NULL, e);
}

/* ---- Errors ---- */

void plane_json_message(const struct buf *body, char *out, size_t room)
{
	AUTO_JSON struct json_object *object = NULL;

	rest_parse(body, &object);
	snprintf(out, room, "%s", rest_text(object, "message", ""));
}

/* ---- Requests ---- */

int64_t plane_timeout_s(int64_t seconds)
{
	return seconds < 0 ? 0 : seconds > INT32_MAX ? INT32_MAX : seconds;
}

/* All hosts are denied; an allowed host has precedence. */
static void put_rules(struct json_writer *w, const char *const *allowed)
{
	json_put_open_list(w, "allowOut");
	for (; *allowed; allowed++)
		json_put_text(w, NULL, *allowed);
	json_put_close_list(w);
	json_put_open_list(w, "denyOut");
	json_put_text(w, NULL, "0.0.0.0/0");
	json_put_close_list(w);
}

static void put_network(struct json_writer *w, const char *const *allowed)
{
	json_put_open(w, "network");
	put_rules(w, allowed);
	json_put_close(w);
}

void plane_json_network(struct buf *out, bool blocked, const char *const *allowed)
{
	struct json_writer w = { .out = out };

	json_put_open(&w, NULL);
	if (allowed)
		put_rules(&w, allowed);
	else if (blocked)
		json_put_boolean(&w, "allow_internet_access", false);
	json_put_close(&w);
}

void plane_json_create(struct buf *out, const struct plane_new_sandbox *wanted, bool is_v1)
{
	struct json_writer w = { .out = out };
	int64_t lifetime_s = plane_timeout_s(wanted->lifetime_s);

	json_put_open(&w, NULL);
	json_put_text(&w, "templateID", wanted->template ? wanted->template : "base");
	if (is_v1) {
		/* Without a token the sandbox lets in anybody who guesses the host. */
		json_put_boolean(&w, "secure", true);
		/* v1's own default is 15 seconds. */
		lifetime_s = lifetime_s ? lifetime_s : DEFAULT_LIFETIME_S;
	}
	if (lifetime_s)
		json_put_integer(&w, "timeout", lifetime_s);
	if (wanted->env)
		json_put_pairs(&w, "envVars", wanted->env);
	if (wanted->labels)
		json_put_pairs(&w, "metadata", wanted->labels);
	if (wanted->pause_at_end)
		json_put_boolean(&w, "autoPause", true);
	if (wanted->allowed)
		put_network(&w, wanted->allowed);
	else if (wanted->block_network)
		json_put_boolean(&w, "allow_internet_access", false);
	json_put_close(&w);
}

void plane_json_timeout(struct buf *out, const char *field, int64_t seconds)
{
	struct json_writer w = { .out = out };

	json_put_open(&w, NULL);
	if (seconds)
		json_put_integer(&w, field, plane_timeout_s(seconds));
	json_put_close(&w);
}
