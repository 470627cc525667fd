/*
 * A command without the helper program: what the script is given (remote_command_script_text.c), and one run of it. A
 * command that is too long for an argument, and input, are uploaded before.
 */
#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/remote_command_told.h"
#include "providers/shell_script.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* What a file has beside the command, and what names it: paths in quotes. */
#define TEXT_EXTRA ((size_t)8 * PATH_LENGTH_MAX)
/* From TERM to KILL. */
#define GRACE_MS 5000
/* Of ulimit(1). */
#define BLOCK_SIZE 512

/* ---- What it is given ---- */

struct script_run {
	const struct remote *r;
	char *dir, *input, *file; /* owned */
	struct buf text;          /* of the command */
	const char **argv;
	char limit[32], kept[32], ending[32];
};

static void script_run_release(struct script_run *s)
{
	free(s->dir);
	free(s->input);
	free(s->file);
	free(s->argv);
	buf_release(&s->text);
}
#define AUTO_SCRIPT_RUN __attribute__((cleanup(script_run_release)))

static enum err no_memory(struct error *e)
{
	return error_set(e, ERR_NO_MEMORY, "a command");
}

static enum err find_dir(struct script_run *s, const struct remote_run *run, struct error *e)
{
	/* "/" has its slash already. */
	const char *slash = *run->cwd && s->r->root[1] ? "/" : "";

	if (asprintf(&s->dir, "%s%s%s", s->r->root, slash, run->cwd) >= 0)
		return ERR_OK;
	s->dir = NULL;
	return no_memory(e);
}

/* A file of staging, "command-MARKER-WHAT". */
static enum err find_path(struct script_run *s, const struct remote_run *run, const char *what,
	char **path, struct error *e)
{
	if (asprintf(path, "%s/command-%s-%s", s->r->staging, run->marker, what) >= 0)
		return ERR_OK;
	*path = NULL;
	return no_memory(e);
}

static enum err upload(struct script_run *s, const struct call *call, const char *path,
	const void *bytes, size_t len, struct error *e)
{
	const struct remote_upload file = { path, bytes, len };

	return s->r->ops.upload(s->r->ops.context, call, &file, e);
}

static enum err upload_input(struct script_run *s, const struct remote_run *run,
	const struct call *call, struct error *e)
{
	enum err kind = find_path(s, run, "in", &s->input, e);

	if (kind != ERR_OK)
		return kind;
	return upload(s, call, s->input, run->request->input, run->request->input_len, e);
}

/* The file loses its name first: the shell has it open. */
static enum err upload_text(struct script_run *s, const struct remote_run *run,
	const struct call *call, struct error *e)
{
	AUTO_BUF struct buf file = BUF_INIT(strlen(run->request->command) + TEXT_EXTRA);
	enum err kind = find_path(s, run, "text", &s->file, e);

	if (kind != ERR_OK)
		return kind;
	buf_add_string(&file, "rm -f --");
	script_quote(&file, s->file);
	buf_add_byte(&file, '\n');
	buf_add_string(&file, run->request->command);
	kind = buf_check(&file, "a command", e);
	if (kind == ERR_OK)
		kind = upload(s, call, s->file, file.bytes, file.len, e);
	buf_add_byte(&s->text, '.');
	script_quote(&s->text, s->file);
	return kind == ERR_OK ? buf_check(&s->text, "a command", e) : kind;
}

static enum err make_argv(struct script_run *s, const struct remote_run *run, struct error *e)
{
	const char *signals[REAPER_ARGC];
	const int64_t limit_ms = run->request->timeout_ms;
	const char *const *env = run->request->env;
	size_t count = 0, at = 0;

	while (env && env[count])
		count++;
	s->argv = calloc(count + 14, sizeof *s->argv);
	if (!s->argv)
		return no_memory(e);
	if (limit_ms > 0)
		snprintf(s->limit, sizeof s->limit, "%" PRId64 ".%03d", limit_ms / 1000,
			(int)(limit_ms % 1000));
	snprintf(s->kept, sizeof s->kept, "%zu", REMOTE_TOLD_BEGIN_MAX / BLOCK_SIZE);
	/* Twice: the first may be lost. */
	snprintf(s->ending, sizeof s->ending, "%zu",
		REMOTE_TOLD_END_MAX + 2 * (strlen(run->marker) + strlen(REMOTE_TOLD_LAST)));
	reaper_argv(signals, run->marker, SIGTERM);
	const char *const first[] = { "/bin/sh", "-c", remote_command_script_text, "sandboxfs",
		s->dir, run->marker, s->file ? buf_text(&s->text) : run->request->command, s->limit,
		s->input ? s->input : "", signals[REAPER_SCRIPT], s->r->staging, s->kept,
		s->ending };

	for (; at < sizeof first / sizeof *first; at++)
		s->argv[at] = first[at];
	for (size_t i = 0; i < count; i++)
		s->argv[at++] = env[i];
	return ERR_OK;
}

static enum err prepare(struct script_run *s, const struct remote_run *run, const struct call *call,
	struct error *e)
{
	enum err kind = find_dir(s, run, e);

	if (kind == ERR_OK && run->request->input && run->request->input_len)
		kind = upload_input(s, run, call, e);
	if (kind == ERR_OK && strlen(run->request->command) >= s->r->ops.argument_max)
		kind = upload_text(s, run, call, e);
	return kind == ERR_OK ? make_argv(s, run, e) : kind;
}

/* Where all comes at the end, nothing comes as long as the command runs, and that has its own limit. */
static struct call patience(const struct remote_run *run, const struct call *call)
{
	struct call out = call ? *call : (struct call){ 0 };
	int64_t timeout_ms = run->request->timeout_ms, limit_ms = call_progress_ms(call);

	if (!run->r->ops.is_live)
		out.progress_ms =
			timeout_ms > 0 && limit_ms > 0 ? timeout_ms + GRACE_MS + limit_ms : -1;
	return out;
}

/* What it printed since it told last: the request that was given up would have brought it at its end, or a second later. */
static void look_once_more(struct remote_told *t)
{
	const struct call brief = { .progress_ms = REMOTE_LAST_LOOK_MS, .is_background = true };
	const struct remote *r = t->run->r;
	char out_from[32], err_from[32];
	const char *const argv[] = { "/bin/sh", "-c", remote_command_look_text, "sandboxfs",
		t->run->marker, r->staging, out_from, err_from, NULL };
	struct error e = { 0 };
	int exit_code;

	snprintf(out_from, sizeof out_from, "%" PRIu64, t->passed[STREAM_OUT] + 1);
	snprintf(err_from, sizeof err_from, "%" PRIu64, t->passed[STREAM_ERR] + 1);
	remote_told_restart(t);
	r->ops.run(r->ops.context, &brief, argv, RUN_REPEATABLE, NULL, remote_told_take, t,
		&exit_code, &e);
	remote_told_end(t, NULL);
	t->run->result->is_cut = t->is_cut;
}

enum err remote_run_script(struct remote_run *run, const struct call *call, struct error *e)
{
	AUTO_SCRIPT_RUN struct script_run s = { .r = run->r, .text = BUF_INIT(TEXT_EXTRA) };
	AUTO_REMOTE_TOLD struct remote_told t;
	const struct call inner = patience(run, call);
	enum err kind = prepare(&s, run, call, e);
	int exit_code;

	remote_told_init(&t, run);
	if (kind != ERR_OK)
		return kind;
	run->result->may_have_run = true;
	kind = run->r->ops.run(
		run->r->ops.context, &inner, s.argv, 0, NULL, remote_told_take, &t, &exit_code, e);
	if (kind == ERR_INTERRUPTED && !run->has_refused)
		look_once_more(&t);
	return kind == ERR_OK ? remote_told_judge(&t, e) : kind;
}
