#include "providers/remote/command.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/remote/command_inside.h"

#include <signal.h>
#include <stdio.h>

struct remote_commands {
	const struct remote *r;
	struct reaper *reaper;
};

/*
 * Argument of the reaper. ASKED: there is a command, so one request is enough to end it. ANSWERED:
 * also, its start was answered, so no start can come late.
 */
enum start { START_ASKED = 1, START_ANSWERED };

/* ---- Ending commands that no call waits for ---- */

static enum err note_found(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	bool *found = context;

	(void)bytes, (void)e;
	*found |= stream == STREAM_OUT && len;
	return ERR_OK;
}

static enum err signal_by_script(const struct remote *r, const struct call *call,
	const char *marker, int signal, bool *found, struct error *e)
{
	const char *argv[REAPER_ARGC];
	int exit_code;

	*found = false;
	reaper_argv(argv, marker, signal);
	return r->ops.run(
		r->ops.context, call, argv, RUN_REPEATABLE, NULL, note_found, found, &exit_code, e);
}

/* The supervisor in the sandbox sends KILL by itself: after one request the work here is done. */
static enum err send_signal(void *context, const struct call *call, const char *marker,
	unsigned started, int signal, bool *found, struct error *e)
{
	const struct remote *r = context;
	enum err kind;

	if (!r->helper)
		return signal_by_script(r, call, marker, signal, found, e);
	*found = false;
	kind = helper_client_stop(r->helper, call, marker, signal == SIGKILL, e);
	if (kind == ERR_OK && started == START_ANSWERED)
		remote_command_forget(r, marker);
	return kind;
}

/* ---- State of all commands ---- */

enum err remote_commands_new(struct remote_commands **out, const struct remote *r, struct error *e)
{
	AUTO_FREE struct remote_commands *c = calloc(1, sizeof *c);
	enum err kind;

	if (!c)
		return error_set(e, ERR_NO_MEMORY, "commands");
	c->r = r;
	kind = reaper_new(&c->reaper, send_signal, (void *)r, e);
	if (kind == ERR_OK)
		*out = take(c);
	return kind;
}

void remote_commands_free(struct remote_commands *c)
{
	if (!c)
		return;
	reaper_free(c->reaper);
	free(c);
}

void remote_command_forget(const struct remote *r, const char *marker)
{
	char name[REMOTE_NAME_SIZE];

	snprintf(name, sizeof name, REMOTE_RECORD "%.*s", COMMAND_MARKER_LEN, marker);
	remote_names_add(r->leftovers, name);
}

/* ---- A single command ---- */

enum err remote_run_output(
	struct remote_run *run, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	enum err kind = run->sink(run->sink_context, stream, bytes, len, e);

	run->has_refused |= kind != ERR_OK;
	return kind;
}

static bool is_cancelled(const struct call *call)
{
	return call && call->cancel && cancel_thrown(call->cancel);
}

static enum err check_cwd(const char *cwd, struct error *e)
{
	enum err kind = path_check(cwd, e);

	if (kind == ERR_OK && path_is_staged(cwd))
		return error_set(e, ERR_INVALID, "'%s': commands do not run in staging", cwd);
	return kind;
}

/*
 * A command whose answer was lost runs on, until its time limit. Without the helper, processes of a
 * command that timed out are ended from here.
 */
static bool shall_end(const struct remote_run *run, const struct call *call, enum err kind)
{
	if (kind == ERR_OK)
		return run->result->timed_out && !run->r->helper;
	return run->result->may_have_run && (run->has_refused || is_cancelled(call));
}

/* The time limit is kept in the sandbox. */
static enum err run_marked(struct remote_run *run, const struct call *call, struct error *e)
{
	struct reaper *reaper = run->r->commands->reaper;
	char marker[MARKER_SIZE];
	unsigned started = run->r->helper ? START_ASKED : 0;
	enum err kind = reaper_mark(reaper, marker, e);

	if (kind != ERR_OK)
		return kind;
	run->marker = marker;
	kind = run->r->helper ? remote_run_helper(run, call, e) : remote_run_plain(run, call, e);
	if (run->has_started)
		started = START_ANSWERED;
	if (shall_end(run, call, kind))
		reaper_end(reaper, marker, started);
	return kind;
}

static enum err run_command(struct remote_run *run, const struct call *call, struct error *e)
{
	enum err kind;

	run->cwd = run->request->cwd ? run->request->cwd : "";
	*run->result = (struct execute_result){ 0 };
	kind = check_cwd(run->cwd, e);
	if (kind != ERR_OK)
		return kind;
	if (is_cancelled(call))
		return error_set(e, ERR_INTERRUPTED, "the command was interrupted");
	return run_marked(run, call, e);
}

enum err remote_command(const struct remote *r, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	struct remote_run run = {
		.r = r, .request = request, .sink = sink, .sink_context = context, .result = result
	};

	return run_command(&run, call, e);
}

enum err remote_command_listen(const struct remote *r, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	struct remote_run run = { .r = r,
		.request = request,
		.sink = sink,
		.sink_context = context,
		.is_prompt = true,
		.result = result };

	return r->helper ? run_command(&run, call, e)
			 : error_set(e, ERR_UNSUPPORTED, "nobody records a program's output");
}
