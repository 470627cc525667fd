/*
 * A command is `/bin/sh -c COMMAND`. What the daemon's messages cannot carry goes through files of staging, which remove
 * themselves: input, and the whole command where it is long or, with its environment and directory, not UTF-8 (they are
 * strings of protobuf).
 */
#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/base/utf8.h"
#include "providers/cancel_join.h"
#include "providers/e2b/e2b.h"
#include "providers/reaper.h"
#include "providers/shell_script.h"

#include <stdio.h>
#include <string.h>

/* Linux takes arguments of up to 131071 bytes. */
#define COMMAND_MAX ((size_t)120 * 1024)
/* What a script has beside the command: paths, and an environment as large as Linux takes. */
#define SCRIPT_EXTRA ((size_t)4 * 1024 * 1024)

struct command {
	struct e2b *b;
	const struct execute_request *request;
	execute_sink sink;
	void *sink_context;
	char *cwd;             /* absolute */
	char *script, *input;  /* files of staging; NULL: none */
	struct buf dot_script; /* ". 'SCRIPT'" */
	const char **env;      /* that of the request which can be sent, the marker, NULL */
	char marker[sizeof MARKER_NAME + MARKER_SIZE];
	struct quarry *quarry;
	struct envd_outcome outcome;
	bool has_refused; /* the sink */
};

static void command_release(struct command *c)
{
	free(c->cwd);
	free(c->script);
	free(c->input);
	free(c->env);
	buf_release(&c->dot_script);
}
#define AUTO_COMMAND __attribute__((cleanup(command_release)))

static enum err no_memory(struct error *e)
{
	return error_set(e, ERR_NO_MEMORY, "a command");
}

static bool is_text(const char *string)
{
	return utf8_valid(string, strlen(string));
}

/* ---- What is sent ---- */

static enum err find_cwd(struct command *c, struct error *e)
{
	const char *cwd = c->request->cwd ? c->request->cwd : "";
	const char *root = c->b->base.root;
	enum err kind = path_check(cwd, e);

	if (kind)
		return kind;
	if (path_is_staged(cwd))
		return error_set(e, ERR_INVALID, "e2b: '%s': commands do not run in staging", cwd);
	/* "/" has its slash already. */
	return asprintf(&c->cwd, "%s%s%s", root, *cwd && root[1] ? "/" : "", cwd) < 0 ? no_memory(e)
										      : ERR_OK;
}

static bool is_env_text(const struct execute_request *request)
{
	for (const char *const *entry = request->env; entry && *entry; entry++)
		if (!is_text(*entry))
			return false;
	return true;
}

static bool needs_script(const struct command *c)
{
	return strlen(c->request->command) > COMMAND_MAX || !is_text(c->request->command) ||
		!is_text(c->cwd) || !is_env_text(c->request);
}

static enum err set_env(struct command *c, struct error *e)
{
	size_t count = 0;

	while (c->request->env && c->request->env[count])
		count++;
	c->env = calloc(count + 2, sizeof *c->env);
	if (!c->env)
		return no_memory(e);
	count = 0;
	for (const char *const *entry = c->request->env; entry && *entry; entry++)
		if (is_text(*entry))
			c->env[count++] = *entry;
	snprintf(c->marker, sizeof c->marker, MARKER_NAME "=%s", quarry_marker(c->quarry));
	c->env[count] = c->marker;
	return ERR_OK;
}

static enum err stage(struct command *c, const struct call *call, const char *kind_of_file,
	const void *bytes, size_t len, char **path, struct error *e)
{
	struct envd_upload upload = { .bytes = bytes, .len = len };

	if (asprintf(path, "%s/%s-%s", c->b->base.staging, kind_of_file, quarry_marker(c->quarry)) <
		0)
		return no_memory(e);
	upload.path = *path;
	return e2b_upload(c->b, call, &upload, e);
}

/* Removes itself first: the shell has it open. */
static void write_script(const struct command *c, const char *path, struct buf *out)
{
	buf_add_string(out, "rm -f --");
	script_quote(out, path);
	if (!is_text(c->cwd)) {
		buf_add_string(out, "; cd --");
		script_quote(out, c->cwd);
		buf_add_string(out, " || exit");
	}
	for (const char *const *entry = c->request->env; entry && *entry; entry++)
		if (!is_text(*entry)) {
			buf_add_string(out, "; export");
			script_quote(out, *entry);
		}
	buf_add_byte(out, '\n');
	buf_add_string(out, c->request->command);
}

static enum err stage_script(struct command *c, const struct call *call, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(strlen(c->request->command) + SCRIPT_EXTRA);
	AUTO_FREE char *path = NULL;
	enum err kind;

	if (asprintf(&path, "%s/command-%s", c->b->base.staging, quarry_marker(c->quarry)) < 0)
		return no_memory(e);
	write_script(c, path, &text);
	kind = buf_check(&text, "a command", e);
	if (!kind)
		kind = stage(c, call, "command", text.bytes, text.len, &c->script, e);
	c->dot_script = (struct buf)BUF_INIT(4 * PATH_LENGTH_MAX);
	buf_add_byte(&c->dot_script, '.');
	script_quote(&c->dot_script, path);
	return kind ? kind : buf_check(&c->dot_script, "a command", e);
}

static enum err prepare(struct command *c, const struct call *call, struct error *e)
{
	enum err kind = set_env(c, e);

	if (!kind && needs_script(c))
		kind = stage_script(c, call, e);
	if (!kind && c->request->input_len)
		kind = stage(
			c, call, "input", c->request->input, c->request->input_len, &c->input, e);
	return kind;
}

/* ---- Running it ---- */

static void note_start(void *context, uint32_t pid)
{
	struct command *c = context;

	quarry_set_pid(c->b->reaper, c->quarry, pid);
}

static enum err pass_on(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct command *c = context;
	enum err kind = c->sink(c->sink_context, stream, bytes, len, e);

	c->has_refused |= kind != ERR_OK;
	return kind;
}

/* The directory is looked for before anything runs: "cwd '/x' does not exist". */
static enum err explain(const struct command *c, enum err kind, struct error *e)
{
	if (kind != ERR_OK && !c->outcome.may_have_run && strstr(e->text, "cwd '"))
		return error_set(e, ERR_NOT_FOUND, "%s: no such directory to run in", c->cwd);
	return kind;
}

static enum err run_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	static const char read_input[] = "exec <\"$1\" && rm -f -- \"$1\" && shift && exec \"$@\"";
	struct command *c = context;
	const char *const argv[] = { "/bin/sh", "-c", read_input, "sh", c->input, "/bin/sh", "-c",
		c->script ? buf_text(&c->dot_script) : c->request->command, NULL };
	const struct envd_command command = { .argv = c->input ? argv : argv + 5,
		.cwd = is_text(c->cwd) ? c->cwd : NULL,
		.env = c->env };
	enum err kind;

	c->outcome = (struct envd_outcome){ 0 };
	kind = envd_run(d, call, &command, note_start, pass_on, c, &c->outcome, e);
	*is_done = c->outcome.may_have_run;
	return explain(c, kind, e);
}

/* ---- How it ended ---- */

static bool is_cancelled(const struct call *call)
{
	return call && call->cancel && cancel_thrown(call->cancel);
}

static enum quarry_end end_of(const struct command *c, const struct call *call, enum err kind)
{
	if (!kind || !c->outcome.may_have_run)
		return QUARRY_ENDED;
	return c->has_refused || is_cancelled(call) ? QUARRY_DOOMED : QUARRY_UNHEARD;
}

static void set_result(const struct command *c, bool timed_out, struct execute_result *result)
{
	*result = (struct execute_result){ .has_exit_code = c->outcome.has_exit_code || timed_out,
		.exit_code = timed_out ? 124 : c->outcome.exit_code,
		.timed_out = timed_out,
		.may_have_run = c->outcome.may_have_run };
}

static enum err run(struct command *c, const struct call *call, const struct call *inner,
	struct execute_result *result, struct error *e)
{
	struct error why = { 0 };
	enum err kind = prepare(c, inner, &why);
	bool came_to_its_time;

	if (!kind)
		kind = e2b_reach(c->b, inner, run_step, c, &why);
	came_to_its_time = quarry_leave(c->b->reaper, c->quarry, end_of(c, call, kind));
	/* Its stream did not end though all was killed. */
	if (kind == ERR_INTERRUPTED && came_to_its_time && !is_cancelled(call))
		kind = ERR_OK;
	set_result(c, came_to_its_time && !kind, result);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err watch_and_run(
	struct command *c, const struct call *call, struct execute_result *result, struct error *e)
{
	AUTO_CANCEL struct cancel abandon = CANCEL_NONE, either = CANCEL_NONE;
	struct call inner = call ? *call : (struct call){ 0 };
	enum err kind = cancel_init(&abandon, e);

	if (!kind)
		kind = cancel_join(&either, &abandon, inner.cancel, e);
	if (!kind)
		kind = reaper_watch(c->b->reaper, c->request->timeout_ms, &abandon, &c->quarry, e);
	if (kind)
		return kind;
	inner.cancel = &either;
	return run(c, call, &inner, result, e);
}

enum err e2b_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	AUTO_COMMAND struct command c = {
		.b = e2b_of(p), .request = request, .sink = sink, .sink_context = context
	};
	enum err kind = find_cwd(&c, e);

	*result = (struct execute_result){ 0 };
	if (kind)
		return kind;
	if (is_cancelled(call))
		return error_set(e, ERR_INTERRUPTED, "the command was interrupted");
	return watch_and_run(&c, call, result, e);
}
