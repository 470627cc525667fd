#include "providers/base/cleanup.h"
#include "providers/daytona/shell_text.h"
#include "providers/daytona/toolbox_inside.h"
#include "providers/json.h"

#include <string.h>

/* Room for the longest arguments, escaped twice. */
#define BODY_MAX ((size_t)4 * 1024 * 1024)
/*
 * The time limit in seconds, the longest time that the SDK waits for anything. Older daemons take
 * 10 where none is sent, but no program is to end before its caller gives up.
 */
#define TIME_LIMIT 86400

struct rest_ask toolbox_as_asked(struct rest_ask ask, const struct call *call)
{
	static const struct http_header quiet = { .name = "X-Daytona-Skip-Last-Activity-Update",
		.value = "true" };

	if (call && call->is_background) {
		ask.headers = &quiet;
		ask.headers_count = 1;
	}
	return ask;
}

enum err toolbox_ping(const struct rest *r, const struct call *call, struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "/version",
		.what = "asking for the daemon's version" };

	return rest_perform(r, call, &ask, NULL, e);
}

static enum err put_command(
	struct buf *body, const char *const *argv, const char *mark, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(BODY_MAX);
	struct json_writer w = { .out = body };

	if (!shell_text_make(&text, argv, mark))
		return buf_check(&text, "a command", e);
	json_put_open(&w, NULL);
	json_put_text(&w, "command", buf_text(&text));
	json_put_integer(&w, "timeout", TIME_LIMIT);
	json_put_close(&w);
	return buf_check(body, "a command", e);
}

static enum err say_it_did_not_run(int64_t exit_code, const char *result, struct error *e)
{
	return error_set(e, ERR_IO,
		"daytona: the sandbox's shell did not run to its end (exit code %lld): %.200s",
		(long long)exit_code, result);
}

static enum err pass_on(const struct toolbox_run *run, enum stream stream,
	const struct shell_text_piece *piece, struct error *e)
{
	if (!piece->len)
		return ERR_OK;
	return run->sink(run->sink_context, stream, piece->text, piece->len, e);
}

static enum err take_answer(
	struct toolbox_run *run, struct json_object *json, const char *mark, struct error *e)
{
	struct json_object *result = NULL;
	struct shell_text_piece all, out, err;
	enum err kind;

	json_object_object_get_ex(json, "result", &result);
	if (!json_object_is_type(result, json_type_string))
		return error_set(e, ERR_PROTOCOL, "daytona: the answer of a command has no result");
	all.text = json_object_get_string(result);
	all.len = (size_t)json_object_get_string_len(result);
	run->exit_code = (int)rest_integer(json, "exitCode", -1);
	if (!shell_text_split(&all, mark, &out, &err))
		return say_it_did_not_run(rest_integer(json, "exitCode", -1), all.text, e);
	kind = pass_on(run, STREAM_OUT, &out, e);
	return kind ? kind : pass_on(run, STREAM_ERR, &err, e);
}

/* A program with an upload makes a change, and its answer is short. */
static enum err perform(const struct rest *r, const struct call *call,
	const struct rest_ask *command, const struct remote_upload *upload,
	struct json_object **json, struct error *e)
{
	struct rest_ask upload_ask;
	bool has_arrived;
	enum err kind;

	if (!upload)
		return rest_perform_large(r, call, command, json, e);
	kind = toolbox_upload_ask(&upload_ask, upload, call, e);
	if (kind)
		return kind;
	return rest_perform_both(r, call, command, json, &has_arrived, &upload_ask, e);
}

enum err toolbox_run(
	const struct rest *r, const struct call *call, struct toolbox_run *run, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(2 * BODY_MAX);
	AUTO_JSON struct json_object *json = NULL;
	struct rest_ask ask = { .method = HTTP_POST,
		.flags = run->flags & RUN_REPEATABLE ? HTTP_REPEATABLE : 0,
		.path = "/process/execute",
		.what = "running a program" };
	char mark[SHELL_TEXT_MARK_SIZE];
	enum err kind = shell_text_new_mark(mark, e);

	if (!kind)
		kind = put_command(&body, run->argv, mark, e);
	if (kind)
		return kind;
	ask.body = buf_text(&body);
	ask = toolbox_as_asked(ask, call);
	kind = perform(r, call, &ask, run->upload, &json, e);
	return kind ? kind : take_answer(run, json, mark, e);
}
