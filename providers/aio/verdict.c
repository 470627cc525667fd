#include "providers/aio/verdict.h"

#include <stdio.h>
#include <string.h>

/* Where a 400 and a 404 are about sessions. */
static bool is_about_session(const char *path)
{
	static const char *const roots[] = { "/v1/bash/", "/v1/shell/" };

	for (size_t i = 0; i < 2; i++)
		if (!strncmp(path, roots[i], strlen(roots[i])))
			return true;
	return false;
}

/* ---- The origin of an answer ---- */

/* The container's own proxy asks for the key with a page of its own. */
static const struct frame_form forms[] = {
	{ .members = { { "detail", MEMBER_ANY } } },
	{ .members = { { "success", MEMBER_BOOLEAN }, { "message", MEMBER_ANY } } },
	{ .status = 401, .body = BODY_ANY },
};

const struct vendor_frame aio_frame = VENDOR_FRAME("application/json", NULL, forms);
const struct vendor_frame aio_file_frame = VENDOR_FRAME("application/octet-stream", NULL, forms);

/* ---- A file's failure, inside a 200 ---- */

static enum err kind_of_type(const char *type)
{
	static const struct {
		const char *type;
		enum err kind;
	} rows[] = {
		{ "not_found", ERR_NOT_FOUND },
		{ "permission_denied", ERR_DENIED },
		{ "already_exists", ERR_EXISTS },
		{ "invalid_path", ERR_INVALID },
		{ "invalid_target", ERR_INVALID },
		{ "read_only_filesystem", ERR_READ_ONLY },
		{ "no_space_left", ERR_NO_SPACE },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].type, type))
			return rows[i].kind;
	return ERR_IO;
}

static enum err say_failed(const struct rest_ask *ask, struct json_object *json, struct error *e)
{
	struct json_object *data = rest_member(json, "data");
	int64_t number = rest_integer(data, "errno", 0);
	enum err kind = number > 0 && number < 4096
		? error_from_errno((int)number)
		: kind_of_type(rest_text(data, "error_type", ""));

	return error_set(e, kind, "aio:%s: %s: %s", ask->id, ask->what,
		rest_text(json, "message", error_words(kind)));
}

/* ---- A status ---- */

/* `detail` is a sentence, or a list of the faults of a body: the first is taken. */
static void find_words(struct json_object *json, char *out, size_t size)
{
	struct json_object *list = rest_member(json, "detail");
	struct json_object *first = json_object_is_type(list, json_type_array)
		? json_object_array_get_idx(list, 0)
		: NULL;

	snprintf(out, size, "%s",
		first ? rest_text(first, "msg", "") : rest_text(json, "detail", ""));
}

static bool has_key(const struct rest *r)
{
	return r->headers_count > 0;
}

static enum err say_unauthorised(const struct rest *r, const struct rest_ask *ask, struct error *e)
{
	return error_set(e, ERR_AUTH,
		has_key(r) ? "aio:%s: the sandbox refuses the key; is SANDBOX_API_KEY, or "
			     "key_file=, the one it was started with, and has a token not "
			     "run out?"
			   : "aio:%s: the sandbox wants a key: SANDBOX_API_KEY, or a file in "
			     "key_file=",
		ask->id);
}

enum err aio_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e)
{
	char words[200];

	(void)answer;
	if (status >= 200 && status < 300)
		return rest_flag(json, "success", true) ? ERR_OK : say_failed(ask, json, e);
	find_words(json, words, sizeof words);
	if (is_about_session(ask->path) && (status == 400 || status == 404))
		return error_set(e, status == 400 ? ERR_BUSY : ERR_STALE, "aio:%s: %s: %s", ask->id,
			ask->what, words);
	switch (status) {
	case 401:
	case 403: return say_unauthorised(r, ask, e);
	case 409:
		return error_set(e, ERR_CONFLICT, "aio:%s: %s: the file changed meanwhile", ask->id,
			ask->what);
	case 429:
		return error_set(e, ERR_BUSY,
			"aio:%s: %s: too many requests at once; try again later", ask->id,
			ask->what);
	case 502:
	case 503:
	case 504:
		return error_set(e, ERR_UNREACHABLE,
			"aio:%s: %s: %d: the container is there, its service does not answer; it "
			"may be starting",
			ask->id, ask->what, status);
	default: return rest_refuse(r, ask, status, words, e);
	}
}
