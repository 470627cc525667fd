#include "providers/runloop/devbox_execution.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/json.h"
#include "providers/runloop/devbox_api.h"
#include "providers/runloop/files.h"
#include "providers/runloop/devbox_output.h"

#include <stdio.h>
#include <string.h>

/* All lines: a number that every implementation can hold. */
#define LINES "1000000"
/*
 * The time before output that is wanted soon is read as it comes: a command that ends earlier is
 * one request.
 */
#define SOON_S 2
/* The time for ending a command whose output is not wanted any more. */
#define END_MS 10000
/* A command in which every character is escaped, and the JSON around it. */
#define BODY_MAX ((size_t)2 * EXECUTION_COMMAND_MAX + 1024)

/* ---- The start ---- */

static enum err put_body(
	struct buf *out, const struct execution *x, const struct call *call, struct error *e)
{
	struct json_writer w = { .out = out };
	char command_id[UUID7_SIZE];
	enum err kind = uuid7_make(command_id, e);

	if (kind)
		return kind;
	json_put_open(&w, NULL);
	json_put_text(&w, "command", x->command);
	json_put_text(&w, "command_id", command_id);
	json_put_integer(&w, "optimistic_timeout", x->is_followed ? SOON_S : devbox_hold_s(call));
	json_put_close(&w);
	return buf_check(out, "a command", e);
}

static enum err start_with_upload(struct execution *x, const struct rest *r,
	const struct call *call, const struct rest_ask *first, struct json_object **json,
	struct error *e)
{
	struct devbox_request q;
	enum err kind = devbox_upload_make(&q, x->id, x->upload, e);

	return kind ? kind : rest_perform_both(r, call, first, json, &x->has_started, &q.ask, e);
}

static enum err start(struct execution *x, const struct rest *r, const struct call *call,
	struct json_object **json, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	struct devbox_request q;
	enum err kind = put_body(&body, x, call, e);

	if (!kind)
		kind = devbox_request_make(
			&q, HTTP_POST, x->id, "running a command", e, "/execute?last_n=" LINES);
	if (kind)
		return kind;
	q.ask.body = buf_text(&body);
	q.ask.flags |= HTTP_REPEATABLE;
	kind = x->upload ? start_with_upload(x, r, call, &q.ask, json, e)
			 : devbox_ask_held(r, call, &q.ask, -1, json, &x->has_started, e);
	/*
	 * A request refused for its content was not done. A command that waits for a file that was
	 * refused does nothing.
	 */
	if (kind == ERR_INVALID || kind == ERR_NOT_FOUND || kind == ERR_BUSY)
		x->has_started = false;
	return kind;
}

/* ---- Waiting for the end ---- */

static enum err wait_for_end(struct execution *x, const struct rest *r, const struct call *call,
	const char *execution_id, struct json_object **json, struct error *e)
{
	struct devbox_request q;
	AUTO_BUF struct buf body = BUF_INIT(200);
	enum err kind = devbox_request_make(&q, HTTP_POST, x->id, "waiting for a command", e,
		"/executions/%s/wait_for_status?last_n=" LINES, execution_id);

	buf_printf(&body, "{\"statuses\":[\"completed\"],\"timeout_seconds\":%d}",
		devbox_hold_s(call));
	q.ask.body = buf_text(&body);
	q.ask.flags |= HTTP_REPEATABLE;
	return kind ? kind : devbox_ask_held(r, call, &q.ask, -1, json, NULL, e);
}

/* ---- The output ---- */

static enum err pass_text(struct execution *x, struct json_object *view, const char *name,
	enum stream stream, struct error *e)
{
	struct json_object *text;

	if (!json_object_object_get_ex(view, name, &text) ||
		!json_object_is_type(text, json_type_string))
		return ERR_OK;
	return x->sink(x->sink_context, stream, json_object_get_string(text),
		(size_t)json_object_get_string_len(text), e);
}

static enum err read_stream(struct execution *x, const struct rest *r, const struct call *call,
	struct json_object *view, enum stream stream, struct error *e)
{
	struct devbox_output output = { .id = x->id,
		.execution_id = rest_text(view, "execution_id", ""),
		.name = stream == STREAM_OUT ? "stdout" : "stderr",
		.stream = stream,
		.sink = x->sink,
		.sink_context = x->sink_context };

	if (!devbox_is_id(output.execution_id))
		return error_set(
			e, ERR_PROTOCOL, "runloop:%s: a command without an execution id", x->id);
	return devbox_output_read(&output, r, call, e);
}

static enum err pass_out(struct execution *x, const struct rest *r, const struct call *call,
	struct json_object *view, struct error *e)
{
	return rest_flag(view, "stdout_truncated", false)
		? read_stream(x, r, call, view, STREAM_OUT, e)
		: pass_text(x, view, "stdout", STREAM_OUT, e);
}

static enum err pass_err(struct execution *x, const struct rest *r, const struct call *call,
	struct json_object *view, struct error *e)
{
	return rest_flag(view, "stderr_truncated", false)
		? read_stream(x, r, call, view, STREAM_ERR, e)
		: pass_text(x, view, "stderr", STREAM_ERR, e);
}

/* ---- The whole run ---- */

static bool is_over(struct json_object *view)
{
	return !strcmp(rest_text(view, "status", ""), "completed");
}

static enum err take_status(struct execution *x, struct json_object *view, struct error *e)
{
	int64_t status = rest_integer(view, "exit_status", -1);

	if (!is_over(view) || status < 0 || status > 255)
		return error_set(
			e, ERR_PROTOCOL, "runloop:%s: it does not say how a command ended", x->id);
	x->exit_code = (int)status;
	return ERR_OK;
}

/*
 * Follows standard output until the command's end, and then asks how it ended. *view: the last
 * answer, replaced by a newer one.
 */
static enum err follow(struct execution *x, const struct rest *r, const struct call *call,
	struct json_object **view, struct error *e)
{
	struct json_object *end = NULL;
	enum err kind = read_stream(x, r, call, *view, STREAM_OUT, e);

	if (!kind)
		kind = wait_for_end(x, r, call, rest_text(*view, "execution_id", ""), &end, e);
	rest_put(view);
	*view = end;
	return kind;
}

enum err execution_run(
	struct execution *x, const struct rest *r, const struct call *call, struct error *e)
{
	AUTO_JSON struct json_object *view = NULL;
	enum err kind;

	x->has_started = false;
	if (strlen(x->command) > EXECUTION_COMMAND_MAX)
		return error_set(e, ERR_TOO_LARGE,
			"runloop:%s: a command of more than %d characters cannot be sent", x->id,
			EXECUTION_COMMAND_MAX);
	kind = start(x, r, call, &view, e);
	if (!kind)
		kind = is_over(view) ? pass_out(x, r, call, view, e) : follow(x, r, call, &view, e);
	if (!kind)
		kind = pass_err(x, r, call, view, e);
	return kind ? kind : take_status(x, view, e);
}

/* ---- A command that goes on ---- */

static enum err start_behind(struct execution *x, const struct rest *r, const struct call *call,
	struct json_object **json, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	struct json_writer w = { .out = &body };
	struct devbox_request q;
	enum err kind = devbox_request_make(
		&q, HTTP_POST, x->id, "starting a command", e, "%s", "/execute_async");

	json_put_open(&w, NULL);
	json_put_text(&w, "command", x->command);
	json_put_close(&w);
	if (!kind)
		kind = buf_check(&body, "a command", e);
	if (kind)
		return kind;
	q.ask.body = buf_text(&body);
	return rest_perform(r, call, &q.ask, json, e);
}

/*
 * The call has ended, so the kill has a time of its own. A command that cannot be killed ends by
 * itself.
 */
static void kill_execution(
	const struct execution *x, const struct rest *r, const char *execution_id)
{
	const struct call call = { .progress_ms = END_MS, .is_background = true };
	struct devbox_request q;
	struct error e = { 0 };

	if (devbox_request_make(&q, HTTP_POST, x->id, "ending a command", &e, "/executions/%s/kill",
		    execution_id))
		return;
	q.ask.body = "{\"kill_process_group\":true}";
	if (rest_perform(r, &call, &q.ask, NULL, &e))
		log_info(LOG_PROVIDER, "%s", e.text);
}

enum err execution_listen(
	struct execution *x, const struct rest *r, const struct call *call, struct error *e)
{
	AUTO_JSON struct json_object *view = NULL;
	char execution_id[128];
	enum err kind = start_behind(x, r, call, &view, e);

	x->has_started = !kind;
	if (kind)
		return kind;
	snprintf(execution_id, sizeof execution_id, "%s", rest_text(view, "execution_id", ""));
	kind = follow(x, r, call, &view, e);
	if (!kind)
		return take_status(x, view, e);
	if (devbox_is_id(execution_id))
		kill_execution(x, r, execution_id);
	return kind;
}
