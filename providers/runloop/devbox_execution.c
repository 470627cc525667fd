#include "providers/runloop/devbox_execution.h"

#include "providers/base/cleanup.h"
#include "providers/json.h"
#include "providers/runloop/devbox_api.h"
#include "providers/runloop/devbox_files.h"
#include "providers/runloop/devbox_output.h"

#include <string.h>

/* "All": a number that every implementation can hold. */
#define LINES "1000000"
/* A command in which every character is escaped, and what stands around it. */
#define BODY_MAX ((size_t)2 * EXECUTION_COMMAND_MAX + 1024)

/* ---- Starting it ---- */

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
	json_put_integer(&w, "optimistic_timeout", devbox_hold_s(call));
	json_put_close(&w);
	return buf_check(out, "a command", e);
}

static enum err start_with_upload(struct execution *x, const struct rest *r,
	const struct call *call, const struct rest_ask *first, struct json_object **json,
	struct error *e)
{
	struct devbox_upload upload;
	enum err kind = devbox_upload_make(&upload, x->id, x->upload, e);

	if (!kind)
		kind = rest_perform_both(
			r, call, first, json, &x->has_started, &upload.request.ask, e);
	devbox_upload_release(&upload);
	return kind;
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
	q.ask.flags = HTTP_REPEATABLE;
	return x->upload ? start_with_upload(x, r, call, &q.ask, json, e)
			 : devbox_ask_held(r, call, &q.ask, -1, json, &x->has_started, e);
}

/* ---- Waiting for its end ---- */

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
	q.ask.flags = HTTP_REPEATABLE;
	return kind ? kind : devbox_ask_held(r, call, &q.ask, -1, json, NULL, e);
}

/* ---- What it said ---- */

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

static enum err pass_stream(struct execution *x, const struct rest *r, const struct call *call,
	struct json_object *view, const char *name, enum stream stream, struct error *e)
{
	struct devbox_output output = { .id = x->id,
		.execution_id = rest_text(view, "execution_id", ""),
		.name = name,
		.stream = stream,
		.sink = x->sink,
		.sink_context = x->sink_context };
	bool is_truncated = rest_flag(
		view, stream == STREAM_OUT ? "stdout_truncated" : "stderr_truncated", false);

	return is_truncated ? devbox_output_read(&output, r, call, e)
			    : pass_text(x, view, name, stream, e);
}

static enum err finish(struct execution *x, const struct rest *r, const struct call *call,
	struct json_object *view, struct error *e)
{
	enum err kind = pass_stream(x, r, call, view, "stdout", STREAM_OUT, e);
	int64_t status = rest_integer(view, "exit_status", -1);

	if (!kind)
		kind = pass_stream(x, r, call, view, "stderr", STREAM_ERR, e);
	if (kind)
		return kind;
	if (status < 0 || status > 255)
		return error_set(
			e, ERR_PROTOCOL, "runloop:%s: it does not say how a command ended", x->id);
	x->exit_code = (int)status;
	return ERR_OK;
}

static bool is_over(struct json_object *view)
{
	return !strcmp(rest_text(view, "status", ""), "completed");
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
	while (!kind && !is_over(view)) {
		struct json_object *later = NULL;
		const char *execution_id = rest_text(view, "execution_id", "");

		if (!devbox_is_id(execution_id))
			return error_set(e, ERR_PROTOCOL,
				"runloop:%s: a command without an execution id", x->id);
		kind = wait_for_end(x, r, call, execution_id, &later, e);
		rest_put(&view);
		view = later;
	}
	return kind ? kind : finish(x, r, call, view, e);
}
