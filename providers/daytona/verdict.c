#include "providers/daytona/toolbox.h"
#include "providers/errno_words.h"

#include <string.h>

/* ---- The forms of the vendor's answers ---- */

/* The answers of the daemon and of the proxy; two of the daemon's routes have another form. */
#define OF_THE_DAEMON                                                                              \
	{ .members = { { "statusCode", MEMBER_INTEGER }, { "message", MEMBER_ANY } } },            \
		{ .status = 400, .members = { { "error", MEMBER_TEXT } } },                        \
	{                                                                                          \
		.status = 400, .members = { { "errors", MEMBER_LIST } }                            \
	}

static const struct frame_form forms[] = { OF_THE_DAEMON };
/* Many daemons refuse a download with a status alone. */
static const struct frame_form file_forms[] = {
	OF_THE_DAEMON,
	{ .status = 400, .body = BODY_EMPTY },
	{ .status = 403, .body = BODY_EMPTY },
	{ .status = 404, .body = BODY_EMPTY },
};

const struct vendor_frame toolbox_frame = VENDOR_FRAME("application/json", NULL, forms);
const struct vendor_frame toolbox_file_frame =
	VENDOR_FRAME("application/octet-stream", NULL, file_forms);

/* ---- The errors ---- */

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* The words are the runner's, the proxy's, and the code of newer versions, in this order. */
static bool is_not_running(struct json_object *json)
{
	const char *message = rest_text(json, "message", "");

	return has(message, "Is the Sandbox started") ||
		has(message, "failed to get runner info") ||
		!strcmp(rest_text(json, "code", ""), "SANDBOX_NOT_RUNNING");
}

/*
 * An empty body, or the code FILE_NOT_FOUND, is about a file. Text, or an API's "Cannot GET", is
 * about a route. Any other message is about the sandbox if it names one, else about a file.
 */
static enum err kind_of_404(struct json_object *json, const struct http_answer *answer)
{
	const char *message = rest_text(json, "message", "");

	if (!answer->body.len || !strcmp(rest_text(json, "code", ""), "FILE_NOT_FOUND"))
		return ERR_NOT_FOUND;
	if (!json || !strncmp(message, "Cannot ", 7))
		return ERR_UNSUPPORTED;
	return has(message, "container") || has(message, "andbox") ? ERR_GONE : ERR_NOT_FOUND;
}

static enum err kind_of(
	int status, struct json_object *json, const struct http_answer *answer, const char *message)
{
	switch (status) {
	case 400: return is_not_running(json) ? ERR_GONE : errno_words_kind(message, ERR_INVALID);
	case 404: return kind_of_404(json, answer);
	case 408: return ERR_TIMEOUT;
	case 410: return ERR_GONE;
	case 429: return ERR_BUSY; /* a rate limit, which passes; a quota does not */
	default: return ERR_OK;
	}
}

/* {message}, {error} or {errors}; many of the daemon's routes give no message at all. */
static const char *message_of(struct json_object *json)
{
	struct json_object *errors = rest_member(json, "errors");
	struct json_object *first = json_object_is_type(errors, json_type_array)
		? json_object_array_get_idx(errors, 0)
		: NULL;

	if (json_object_is_type(first, json_type_string))
		return json_object_get_string(first);
	return rest_text(json, "message", rest_text(json, "error", ""));
}

enum err toolbox_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e)
{
	const char *message = message_of(json);
	struct error said = { 0 };
	enum err general, kind;

	if (status >= 200 && status < 300)
		return ERR_OK;
	general = rest_refuse(r, ask, status, message, &said);
	kind = kind_of(status, json, answer, message);
	return error_set(e, kind ? kind : general, "%s", said.text);
}
