/*
 * Running a program: one request, or a few where the program lasts. The service answers with the
 * output so far after some seconds and lets the program go on. Later output is asked for from the
 * offset at which the answer before ended.
 */
#include "providers/aio/aio.h"
#include "providers/aio/run.h"
#include "providers/aio/verdict.h"
#include "providers/base/cleanup.h"
#include "providers/json.h"
#include "providers/remote/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BODY_MAX ((size_t)2 * AIO_TEXT_MAX + 1024)
/* The proxy before the service gives up after 60 s of silence (nginx's proxy_read_timeout). */
#define ANSWER_MS 20000

/*
 * An answer comes with the first new bytes. After HASTY_MAX such answers in a row the next request
 * waits until more output has been gathered; else a program that prints little and often would take
 * a request each time.
 */
#define HASTY_MAX 2
#define GATHER_MS 100

struct bash_run {
	struct aio_run_request asked;
	unsigned flags; /* enum run_flags */
	bool is_stream; /* output is wanted while the program runs */

	char session[SESSION_ID_SIZE], command[SESSION_ID_SIZE];
	/* the session was used before, so it may be gone without notice */
	bool is_reused;
	int64_t out_at, err_at;    /* bytes passed on */
	bool is_running, has_more; /* as the last answer said: goes on, had something new */
	unsigned hasty;            /* answers in a row that had something new */
	int exit_code;
};

/* ---- The requests ---- */

int64_t aio_answer_ms(const struct call *call)
{
	int64_t limit_ms = call_progress_ms(call);
	bool is_short = limit_ms >= 0 && limit_ms < ANSWER_MS * 3 / 2;

	return is_short ? limit_ms * 2 / 3 : ANSWER_MS;
}

/* Seconds, in any locale. */
static void put_timeout(const struct bash_run *run, struct json_writer *w, const char *name)
{
	int64_t answer_ms = aio_answer_ms(run->asked.call);
	char seconds[32];

	snprintf(seconds, sizeof seconds, "%" PRId64 ".%03d", answer_ms / 1000,
		(int)(answer_ms % 1000));
	json_put_raw(w, name, seconds);
}

static enum err put_exec(const struct bash_run *run, struct buf *body, struct error *e)
{
	struct json_writer w = { .out = body };

	json_put_open(&w, NULL);
	json_put_bytes(&w, "command", run->asked.text.bytes, run->asked.text.len);
	if (*run->session)
		json_put_text(&w, "session_id", run->session);
	if (run->is_stream)
		json_put_boolean(&w, "async_mode", true);
	else
		put_timeout(run, &w, "timeout");
	/*
	 * Without this the service cuts the middle out of long output, and the answer does not say
	 * so.
	 */
	json_put_integer(&w, "max_output_length", 0);
	json_put_close(&w);
	return buf_check(body, "a command", e);
}

static enum err put_output(const struct bash_run *run, struct buf *body, struct error *e)
{
	struct json_writer w = { .out = body };

	json_put_open(&w, NULL);
	json_put_text(&w, "session_id", run->session);
	json_put_text(&w, "command_id", run->command);
	json_put_integer(&w, "offset", run->out_at);
	json_put_integer(&w, "stderr_offset", run->err_at);
	json_put_boolean(&w, "wait", run->is_running);
	put_timeout(run, &w, "wait_timeout");
	json_put_close(&w);
	return buf_check(body, "a question", e);
}

struct rest_ask aio_run_ask(
	const struct aio_run_request *asked, const char *path, const struct buf *body)
{
	return (struct rest_ask){ .method = HTTP_POST,
		.path = path,
		.body = buf_text(body),
		.what = "running a program",
		.id = asked->a->address.id };
}

/* ---- The answers ---- */

static enum err pass_text(struct bash_run *run, struct json_object *data, const char *name,
	enum stream stream, struct error *e)
{
	const char *text = rest_text(data, name, "");

	if (!*text)
		return ERR_OK;
	run->has_more = true;
	return run->asked.sink(run->asked.sink_context, stream, text, strlen(text), e);
}

static enum err take_output(struct bash_run *run, struct json_object *data, struct error *e)
{
	enum err kind;

	run->has_more = false;
	kind = pass_text(run, data, "stdout", STREAM_OUT, e);
	if (!kind)
		kind = pass_text(run, data, "stderr", STREAM_ERR, e);
	run->out_at = rest_integer(data, "offset", run->out_at);
	run->err_at = rest_integer(data, "stderr_offset", run->err_at);
	return kind;
}

/* `command`: the object with status and exit_code. */
static enum err take_status(struct bash_run *run, struct json_object *command, struct error *e)
{
	const char *status = rest_text(command, "status", "");
	int64_t code = rest_integer(command, "exit_code", INT64_MAX);

	run->is_running = !strcmp(status, "running") || !strcmp(status, "pending");
	if (run->is_running)
		return ERR_OK;
	if (!strcmp(status, "killed") || !strcmp(status, "timed_out"))
		return error_set(e, ERR_IO,
			"aio:%s: the service ended a program, or could not start it: '%s'",
			run->asked.a->address.id, status);
	if (strcmp(status, "completed") || code < -64 || code > 255)
		return error_set(e, ERR_PROTOCOL, "aio:%s: a program's end is '%.40s'",
			run->asked.a->address.id, status);
	/* -9: by signal 9. */
	run->exit_code = (int)(code < 0 ? 128 - code : code);
	return ERR_OK;
}

static enum err take_result(struct bash_run *run, struct json_object *answer, struct error *e)
{
	struct json_object *data = rest_member(answer, "data");
	enum err kind;

	snprintf(run->session, sizeof run->session, "%s",
		rest_text(data, "session_id", run->session));
	snprintf(run->command, sizeof run->command, "%s", rest_text(data, "command_id", ""));
	kind = take_output(run, data, e);
	return kind ? kind : take_status(run, data, e);
}

/* An answer with output may be larger than others. */
static enum err perform(const struct bash_run *run, const struct rest_ask *ask,
	struct json_object **answer, struct error *e)
{
	const struct rest *r = &run->asked.a->account.rest;
	enum err kind = rest_perform_large(r, run->asked.call, ask, answer, e);

	return kind ? kind : aio_verdict(r, ask, 200, *answer, NULL, e);
}

static enum err ask_for_more(struct bash_run *run, struct error *e)
{
	AUTO_JSON struct json_object *answer = NULL;
	AUTO_BUF struct buf body = BUF_INIT(1024);
	enum err kind = put_output(run, &body, e);
	struct rest_ask ask = aio_run_ask(&run->asked, "/v1/bash/output", &body);

	ask.flags = HTTP_REPEATABLE;
	if (!kind)
		kind = perform(run, &ask, &answer, e);
	if (!kind)
		kind = take_output(run, rest_member(answer, "data"), e);
	if (!kind)
		kind = take_status(run, rest_member(rest_member(answer, "data"), "command"), e);
	return kind;
}

static enum err let_gather(struct bash_run *run, struct error *e)
{
	run->hasty = run->has_more ? run->hasty + 1 : 0;
	return run->is_running && run->hasty > HASTY_MAX ? call_sleep(run->asked.call, GATHER_MS, e)
							 : ERR_OK;
}

/*
 * The status may be newer than the output in the same answer. So the run is over when the program
 * has ended and an answer had nothing new.
 */
static enum err follow(struct bash_run *run, struct error *e)
{
	enum err kind = ERR_OK;

	while (!kind && (run->is_running || run->has_more)) {
		kind = let_gather(run, e);
		if (!kind)
			kind = ask_for_more(run, e);
	}
	return kind;
}

/* ---- A run ---- */

static enum err send_both(struct bash_run *run, const struct rest_ask *ask,
	struct json_object **answer, struct error *e)
{
	const struct rest_ask upload = aio_upload_ask(run->asked.a, run->asked.upload);
	bool has_arrived;

	return rest_perform_both(&run->asked.a->account.rest, run->asked.call, ask, answer,
		&has_arrived, &upload, e);
}

static enum err exec(struct bash_run *run, struct error *e)
{
	AUTO_JSON struct json_object *answer = NULL;
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	enum err kind = put_exec(run, &body, e);
	struct rest_ask ask = aio_run_ask(&run->asked, "/v1/bash/exec", &body);

	if (kind)
		return kind;
	ask.flags = run->flags & RUN_REPEATABLE ? HTTP_REPEATABLE : 0;
	kind = run->asked.upload ? send_both(run, &ask, &answer, e)
				 : perform(run, &ask, &answer, e);
	if (!kind)
		kind = take_result(run, answer, e);
	if (!kind && run->is_running)
		kind = follow(run, e);
	return kind;
}

/* A run has a session of its own: after a failure the session is ended with all that runs in it. */
static enum err run_once(struct bash_run *run, struct error *e)
{
	struct sessions *sessions = &run->asked.a->sessions;
	enum err kind = sessions_take(sessions, run->asked.call, run->session, e);

	if (kind)
		return kind;
	run->is_reused = *run->session;
	if ((run->asked.upload || run->is_stream) && !run->is_reused)
		kind = sessions_make(sessions, run->asked.call, run->session, e);
	if (!kind)
		kind = exec(run, e);
	if (kind)
		sessions_drop(sessions, run->session);
	else
		sessions_put(sessions, run->session);
	return kind;
}

/* ERR_STALE and ERR_BUSY are the service's refusals of a session (verdict.h): nothing was run. */
static enum err run_somewhere(struct bash_run *run, struct error *e)
{
	struct sessions *sessions = &run->asked.a->sessions;
	struct error why = { 0 };

	if (sessions->is_shell)
		return aio_shell_run(&run->asked, &run->exit_code, e);

	enum err kind = run_once(run, &why);

	while (run->is_reused && (kind == ERR_STALE || kind == ERR_BUSY))
		kind = run_once(run, &why);
	if (kind == ERR_STALE) {
		sessions->is_shell = true;
		return aio_shell_run(&run->asked, &run->exit_code, e);
	}
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err run_text(struct bash_run *run, struct error *e)
{
	enum err kind = buf_check(&run->asked.text, "a program's arguments", e);

	if (!kind)
		kind = run_somewhere(run, e);
	buf_release(&run->asked.text);
	return kind;
}

static enum err run_program(
	struct bash_run *run, const char *const *argv, int *exit_code, struct error *e)
{
	enum err kind;

	run->asked.text = (struct buf)BUF_INIT(AIO_TEXT_MAX);
	remote_text_add(&run->asked.text, argv);
	buf_add_string(&run->asked.text, " </dev/null");
	kind = run_text(run, e);
	*exit_code = run->exit_code;
	return kind;
}

enum err aio_run(void *context, const struct call *call, const char *const *argv, unsigned flags,
	const struct remote_upload *upload, execute_sink sink, void *sink_context, int *exit_code,
	struct error *e)
{
	struct bash_run run = { .asked = { .a = context,
					.call = call,
					.sink = sink,
					.sink_context = sink_context,
					.upload = upload },
		.flags = flags };

	return run_program(&run, argv, exit_code, e);
}

enum err aio_stream(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e)
{
	struct bash_run run = {
		.asked = { .a = context, .call = call, .sink = sink, .sink_context = sink_context },
		.flags = RUN_REPEATABLE,
		.is_stream = true
	};

	return run_program(&run, argv, exit_code, e);
}
