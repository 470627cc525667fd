#include "providers/e2b/verdict.h"

#include "providers/errno_words.h"
#include "providers/json_bound.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- The forms of E2B's answers ---- */

#define NAMED                                                                                      \
	{                                                                                          \
		"code", MEMBER_TEXT                                                                \
	}
#define NUMBERED                                                                                   \
	{ "code", MEMBER_INTEGER },                                                                \
	{                                                                                          \
		"message", MEMBER_TEXT                                                             \
	}

/* An RPC's code is a name. The check of the token and the proxy have numbers. */
static const struct frame_form rpc_forms[] = {
	{ .members = { NAMED } },
	{ .status = 401, .members = { NUMBERED } },
	{ .status = 403, .members = { NUMBERED } },
	{ .status = 409, .members = { NUMBERED } },
	{ .status = 429, .members = { NUMBERED } },
	{ .status = 500, .members = { NUMBERED } },
	{ .status = 502, .members = { NUMBERED } },
};
static const struct frame_form numbered_forms[] = { { .members = { NUMBERED } } };
static const struct frame_form route_forms[] = {
	{ .members = { NUMBERED } },
	{ .status = 404, .body = BODY_ANY },
	{ .status = 405, .body = BODY_ANY },
};

const struct vendor_frame e2b_unary_frame = VENDOR_FRAME("application/proto", NULL, rpc_forms);
const struct vendor_frame e2b_stream_frame =
	VENDOR_FRAME("application/connect+proto", NULL, rpc_forms);
/* A file's type is that of its name. The answer to an upload is JSON, and its type may be text. */
const struct vendor_frame e2b_files_frame = VENDOR_FRAME(NULL, NULL, numbered_forms);
const struct vendor_frame e2b_plane_frame =
	VENDOR_FRAME("application/json", "is E2B_API_URL right?", numbered_forms);
const struct vendor_frame e2b_route_frame =
	VENDOR_FRAME("application/json", "is E2B_API_URL right?", route_forms);

/* ---- Codes, statuses and words ---- */

/* connectrpc.com, "Error codes". */
static const struct {
	const char *code;
	enum err kind;
	bool is_untouched; /* the daemon refuses before anything is done */
} codes[] = {
	{ "canceled", ERR_UNREACHABLE, false },
	{ "unknown", ERR_IO, false },
	{ "invalid_argument", ERR_INVALID, true },
	{ "deadline_exceeded", ERR_TIMEOUT, false },
	{ "not_found", ERR_NOT_FOUND, true },
	{ "already_exists", ERR_EXISTS, true },
	{ "permission_denied", ERR_DENIED, true },
	{ "resource_exhausted", ERR_BUSY, true },
	{ "failed_precondition", ERR_INVALID, true },
	{ "aborted", ERR_BUSY, false },
	{ "out_of_range", ERR_INVALID, true },
	{ "unimplemented", ERR_UNSUPPORTED, true },
	{ "internal", ERR_IO, false },
	{ "unavailable", ERR_UNREACHABLE, false },
	{ "data_loss", ERR_IO, false },
	{ "unauthenticated", ERR_AUTH, true },
};

static const struct {
	int status;
	enum err kind;
	const char *advice;
} statuses[] = {
	{ 400, ERR_INVALID, "" },
	{ 401, ERR_AUTH, ": the sandbox's access token or its user is wrong" },
	{ 403, ERR_AUTH, ": the sandbox may not be woken so, or takes no requests from here" },
	{ 404, ERR_NOT_FOUND, "" }, /* with JSON; without, the 404 is about the route */
	{ 405, ERR_UNSUPPORTED, ": the sandbox's daemon is too old" },
	{ 409, ERR_BUSY, ": the sandbox is being paused, woken or ended; try again" },
	{ 413, ERR_TOO_LARGE, "" },
	{ 415, ERR_PROTOCOL, "" },
	{ 429, ERR_BUSY, ": too many requests at once; try again later" },
	{ 500, ERR_IO, "" },
	{ 502, ERR_GONE, ": the sandbox has ended or is paused" }, /* only in E2B's own form */
	{ 503, ERR_UNREACHABLE, "" },
	{ 504, ERR_UNREACHABLE, "" },
	{ 507, ERR_NO_SPACE, ": the sandbox's disk is full" },
};

/* The beginnings and ends of envd's messages, where neither code nor status has the reason. */
static const struct {
	const char *begin, *end;
	enum err kind;
} phrases[] = {
	{ "path is a directory: ", NULL, ERR_IS_DIR },
	{ NULL, "' is a directory", ERR_IS_DIR },
	{ "error ensuring directories: path is a file", NULL, ERR_NOT_DIR },
	/* A daemon older than its version takes forms alone, so raw uploads never succeed. */
	{ "error parsing multipart form", NULL, ERR_UNSUPPORTED },
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool fits(const char *message, const char *begin, const char *end)
{
	size_t len = strlen(message), end_len = end ? strlen(end) : 0;

	if (begin)
		return !strncmp(message, begin, strlen(begin));
	return len >= end_len && !strcmp(message + len - end_len, end);
}

/* A general kind gives way to the kind that the message shows. */
static enum err sharpen(enum err kind, const char *message)
{
	if (kind != ERR_IO && kind != ERR_INVALID)
		return kind;
	for (size_t i = 0; i < COUNT(phrases); i++)
		if (fits(message, phrases[i].begin, phrases[i].end))
			return phrases[i].kind;
	return errno_words_kind(message, kind);
}

/* ---- JSON ---- */

static struct json_object *parse(const void *json, size_t len)
{
	struct json_tokener *tokener = json_is_bounded(json, len) ? json_tokener_new_ex(16) : NULL;
	struct json_object *value;

	if (!tokener)
		return NULL;
	value = len <= INT_MAX ? json_tokener_parse_ex(tokener, json, (int)len) : NULL;
	/* JSON that is cut off gives no value. Text behind a value, as a line's end, is ignored. */
	if (value && !json_object_is_type(value, json_type_object)) {
		json_object_put(value);
		value = NULL;
	}
	json_tokener_free(tokener);
	return value;
}

/* "": the object has no such text. */
static const char *text_of(const struct json_object *object, const char *key)
{
	struct json_object *member;

	if (!json_object_object_get_ex(object, key, &member) ||
		!json_object_is_type(member, json_type_string))
		return "";
	return json_object_get_string(member);
}

/* ---- Errors ---- */

/* False: the code is unknown. */
static bool refuse_by_code(
	const char *code, const char *message, const char *what, bool *untouched, struct error *e)
{
	for (size_t i = 0; i < COUNT(codes); i++) {
		if (strcmp(code, codes[i].code))
			continue;
		*untouched = codes[i].is_untouched;
		error_set(e, sharpen(codes[i].kind, message), "E2B: %s: %s", what,
			*message ? message : code);
		return true;
	}
	return false;
}

static void refuse_by_status(
	int status, const char *message, const char *what, bool *untouched, struct error *e)
{
	enum err kind = ERR_PROTOCOL;
	const char *advice = "";

	for (size_t i = 0; i < COUNT(statuses); i++)
		if (status == statuses[i].status) {
			kind = sharpen(statuses[i].kind, message);
			advice = statuses[i].advice;
		}
	/* The proxy answers 502 also when a connection breaks after the request has passed it. */
	*untouched = (status >= 400 && status < 500) ||
		(status == 502 && strstr(message, "sandbox was not found"));
	error_set(e, kind, "E2B: %s: %.200s%s(status %d)%s", what, message, *message ? " " : "",
		status, advice);
}

enum err refusal_of_status(int status, const void *body, size_t len, const char *what,
	bool *untouched, struct error *e)
{
	struct error said = { 0 };
	struct json_object *object = parse(body, len);

	if (object) {
		const char *message = text_of(object, "message");

		if (!refuse_by_code(text_of(object, "code"), message, what, untouched, &said))
			refuse_by_status(status, message, what, untouched, &said);
		json_object_put(object);
	} else {
		*untouched = false;
		error_set(&said, ERR_UNREACHABLE, "E2B: %s: status %d without E2B's words", what,
			status);
	}
	return error_set(e, said.kind, "%s", said.text);
}

enum err refusal_of_end(
	const void *json, size_t len, const char *what, bool *untouched, struct error *e)
{
	struct error said = { 0 };
	struct json_object *end = parse(json, len), *error = NULL;

	*untouched = false;
	if (!end)
		error_set(&said, ERR_PROTOCOL, "E2B: %s: the end of the stream is no JSON", what);
	else if (json_object_object_get_ex(end, "error", &error) &&
		!refuse_by_code(
			text_of(error, "code"), text_of(error, "message"), what, untouched, &said))
		error_set(&said, ERR_PROTOCOL, "E2B: %s: an error without a known code: %s", what,
			text_of(error, "message"));
	json_object_put(end);
	return said.kind == ERR_OK ? ERR_OK : error_set(e, said.kind, "%s", said.text);
}
