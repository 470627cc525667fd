#include "providers/langsmith/verdict.h"

#include "providers/errno_words.h"

#include <stdio.h>
#include <string.h>

/*
 * The beginning of the control plane's paths, the end of the path that starts a sandbox, and the
 * beginning of the path of a download.
 */
#define CONTROL   "/boxes"
#define SNAPSHOTS "/snapshots"
#define START     "/start"
#define DOWNLOAD  "/download"

/* ---- The forms of the service's answers ---- */

static const struct frame_form forms[] = {
	{ .members = { { "detail", MEMBER_ANY } } },
	{ .members = { { "error", MEMBER_TEXT }, { "message", MEMBER_TEXT } } },
};
static const struct frame_form file_forms[] = {
	{ .members = { { "detail", MEMBER_ANY } } },
	{ .members = { { "error", MEMBER_TEXT }, { "message", MEMBER_TEXT } } },
	{ .status = 416, .body = BODY_ANY }, /* the headers have the range */
};

const struct vendor_frame langsmith_frame =
	VENDOR_FRAME("application/json", "is LANGSMITH_ENDPOINT right?", forms);
const struct vendor_frame langsmith_file_frame = VENDOR_FRAME(NULL, NULL, file_forms);

/* The type and text of a failure. */
struct words {
	const char *type; /* "": none */
	char text[300];
};

/* ---- The four forms ---- */

/* The first complaint's field and message: "idle_ttl_seconds: must be a multiple of 60". */
static void read_complaint(struct words *out, struct json_object *list)
{
	struct json_object *first = json_object_array_get_idx(list, 0);
	struct json_object *place = rest_member(first, "loc");
	size_t depth =
		json_object_is_type(place, json_type_array) ? json_object_array_length(place) : 0;
	struct json_object *name = depth ? json_object_array_get_idx(place, depth - 1) : NULL;

	snprintf(out->text, sizeof out->text, "%s%s%s", name ? json_object_get_string(name) : "",
		name ? ": " : "", rest_text(first, "msg", ""));
}

static void read_typed(struct words *out, struct json_object *failure)
{
	const char *id = rest_text(failure, "error_id", "");

	out->type = rest_text(failure, "error", "");
	snprintf(out->text, sizeof out->text, "%s%s%s%s", rest_text(failure, "message", out->type),
		*id ? " (error_id " : "", id, *id ? ")" : "");
}

/* An answer of a proxy or router on the way: its text, unless it is a page for a browser. */
static void read_body(struct words *out, const struct http_answer *answer)
{
	const char *text = buf_text(&answer->body);

	if (*text != '<' && *text != '{')
		snprintf(out->text, sizeof out->text, "%.*s", (int)strcspn(text, "\r\n"), text);
}

static void read_words(
	struct words *out, struct json_object *json, const struct http_answer *answer)
{
	struct json_object *detail = rest_member(json, "detail");

	*out = (struct words){ .type = "" };
	if (json_object_is_type(detail, json_type_array))
		read_complaint(out, detail);
	else if (detail)
		read_typed(out, detail);
	else if (*rest_text(json, "detail", ""))
		snprintf(out->text, sizeof out->text, "%s", rest_text(json, "detail", ""));
	else if (json)
		read_typed(out, json);
	else
		read_body(out, answer);
}

/* ---- The errors ---- */

static bool is_type(const struct words *w, const char *type)
{
	return !strcmp(w->type, type);
}

/* Reads an errno in a typed failure's message, without the error's id behind the message. */
static enum err kind_of_failed_work(const struct words *w)
{
	char text[sizeof w->text];
	char *id;

	snprintf(text, sizeof text, "%s", w->text);
	id = strstr(text, " (error_id ");
	if (id)
		*id = 0;
	return errno_words_kind(text, ERR_IO);
}

/* ERR_OK: the type does not show the kind. */
static enum err kind_of_type(const struct words *w)
{
	static const struct {
		const char *type;
		enum err kind;
	} rows[] = {
		{ "FileNotFound", ERR_NOT_FOUND },
		{ "PermissionDenied", ERR_DENIED },
		{ "CommandTimeout", ERR_TIMEOUT },
		{ "ConnectionError", ERR_UNREACHABLE },
		{ "NotReady", ERR_GONE },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (is_type(w, rows[i].type))
			return rows[i].kind;
	if (is_type(w, "WriteError") || is_type(w, "ReadError") || is_type(w, "CommandError"))
		return kind_of_failed_work(w);
	return ERR_OK;
}

static bool is_below(const struct rest_ask *ask, const char *path)
{
	return !strncmp(ask->path, path, strlen(path));
}

static bool is_of_plane(const struct rest_ask *ask)
{
	return is_below(ask, CONTROL) || is_below(ask, SNAPSHOTS);
}

/*
 * A 404 without a type is about a sandbox or a snapshot that the control plane does not know, a
 * file, or a sandbox that the router does not know.
 */
static enum err kind_of_missing(const struct rest_ask *ask)
{
	return is_of_plane(ask) || is_below(ask, DOWNLOAD) ? ERR_NOT_FOUND : ERR_GONE;
}

/*
 * A 429 for a new or starting sandbox: too many sandboxes, or too much of what sandboxes use. A 429
 * for any other request: too many requests at once.
 */
static enum err kind_of_excess(const struct rest_ask *ask)
{
	bool wants_machine = ask->method == HTTP_POST &&
		(!strcmp(ask->path, CONTROL) || (ask->below && !strcmp(ask->below, START)));

	return wants_machine ? ERR_QUOTA : ERR_BUSY;
}

/* 401 and 403. kind_of_type() has handled a typed 403, which is about a file in the sandbox. */
static enum err say_unauthorised(const struct rest_ask *ask, const struct words *w, struct error *e)
{
	return error_set(e, ERR_AUTH,
		"langsmith:%s: %s: the key is not accepted%s%s; is LANGSMITH_API_KEY, or "
		"key_file=, one of this endpoint (LANGSMITH_ENDPOINT) and workspace "
		"(LANGSMITH_TENANT_ID)?",
		ask->id ? ask->id : "", ask->what, *w->text ? ": " : "", w->text);
}

static enum err say(const struct rest_ask *ask, enum err kind, int status, const struct words *w,
	struct error *e)
{
	return error_set(e, kind, "langsmith:%s: %s: %d: %s", ask->id ? ask->id : "", ask->what,
		status, *w->text ? w->text : error_words(kind));
}

enum err langsmith_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e)
{
	struct words w;
	enum err kind;

	if (status >= 200 && status < 300)
		return ERR_OK;
	read_words(&w, json, answer);
	kind = kind_of_type(&w);
	if (kind)
		return say(ask, kind, status, &w, e);
	switch (status) {
	case 401:
	case 403: return say_unauthorised(ask, &w, e);
	case 404: return say(ask, kind_of_missing(ask), status, &w, e);
	case 408: return say(ask, ERR_TIMEOUT, status, &w, e);
	case 429: return say(ask, kind_of_excess(ask), status, &w, e);
	default: return rest_refuse(r, ask, status, w.text, e);
	}
}
