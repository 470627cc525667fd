/*
 * A command where the helper program cannot run: one request of the vendor's own, which lasts as
 * long as the command.
 */
#include "providers/base/cleanup.h"
#include "providers/remote/command_inside.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/*
 * $1 is the directory to run in, $2 the marker, $3 a file with its input or nothing, $4 its time
 * limit in whole seconds or nothing, $5 the command, the rest its environment. The shell opens the
 * input before the file is removed.
 */
static const char script[] =
	"dir=$1 marker=$2 input=$3 limit=$4 text=$5\n"
	"shift 5\n"
	"exec <\"${input:-/dev/null}\" || exit 126\n"
	"[ -z \"$input\" ] || rm -f -- \"$input\"\n"
	"cd -- \"$dir\" || exit 126\n"
	"unset OLDPWD\n"
	"exec env " MARKER_NAME "=\"$marker\" \"$@\" ${limit:+timeout -k 5 \"$limit\"} "
	"/bin/sh -c \"$text\"\n";
/* Exit codes of timeout(1), when it sent TERM or KILL; BusyBox's ends as a shell does. */
static const int timed_out_codes[] = { 124, 128 + SIGTERM, 128 + SIGKILL };

static enum err no_memory(struct error *e)
{
	return error_set(e, ERR_NO_MEMORY, "a command");
}

/* A file of staging: an attach removes the file that a lost request leaves. */
static enum err upload_input(
	const struct remote_run *run, const struct call *call, char **path, struct error *e)
{
	const struct remote *r = run->r;
	struct remote_upload upload = { .bytes = run->request->input,
		.len = run->request->input_len };

	if (!run->request->input || !upload.len)
		return ERR_OK;
	if (asprintf(path, "%s/input-%s", r->staging, run->marker) < 0) {
		*path = NULL;
		return no_memory(e);
	}
	upload.path = *path;
	return r->ops.upload(r->ops.context, call, &upload, e);
}

static const char **make_argv(
	const struct remote_run *run, const char *dir, const char *input, const char *limit)
{
	const char *const first[] = { "/bin/sh", "-c", script, "sandboxfs", dir, run->marker, input,
		limit, run->request->command };
	const size_t first_count = sizeof first / sizeof *first;
	size_t count = 0;
	const char **argv;

	while (run->request->env && run->request->env[count])
		count++;
	argv = calloc(first_count + count + 1, sizeof *argv);
	for (size_t i = 0; argv && i < first_count; i++)
		argv[i] = first[i];
	for (size_t i = 0; argv && i < count; i++)
		argv[first_count + i] = run->request->env[i];
	return argv;
}

static enum err pass_on(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	return remote_run_output(context, stream, bytes, len, e);
}

/* Where output comes only at the end, a running command makes no progress. */
static struct call patient_call(const struct remote *r, const struct call *call)
{
	struct call out = call ? *call : (struct call){ 0 };

	if (!r->ops.is_live)
		out.progress_ms = -1;
	return out;
}

static void note_timeout(struct execute_result *result)
{
	for (size_t i = 0; i < sizeof timed_out_codes / sizeof *timed_out_codes; i++)
		result->timed_out |= result->exit_code == timed_out_codes[i];
	if (result->timed_out)
		result->exit_code = 124;
}

enum err remote_run_plain(struct remote_run *run, const struct call *call, struct error *e)
{
	const struct remote *r = run->r;
	const struct call patient = patient_call(r, call);
	const int64_t began_ms = monotonic_ms(), timeout_ms = run->request->timeout_ms;
	char limit[24] = "";
	AUTO_FREE char *dir = NULL;
	AUTO_FREE char *input = NULL;
	AUTO_FREE const char **argv = NULL;
	enum err kind;

	if (strlen(run->request->command) >= r->ops.argument_max)
		return error_set(e, ERR_TOO_LARGE, "the command has more than %zu bytes",
			r->ops.argument_max);
	/* "/" already ends in a slash. */
	if (asprintf(&dir, "%s%s%s", r->root, *run->cwd && r->root[1] ? "/" : "", run->cwd) < 0) {
		dir = NULL;
		return no_memory(e);
	}
	kind = upload_input(run, call, &input, e);
	if (kind != ERR_OK)
		return kind;
	if (timeout_ms > 0)
		snprintf(limit, sizeof limit, "%" PRId64, (timeout_ms + 999) / 1000);
	argv = make_argv(run, dir, input ? input : "", limit);
	if (!argv)
		return no_memory(e);
	run->result->may_have_run = true;
	kind = r->ops.run(
		r->ops.context, &patient, argv, 0, NULL, pass_on, run, &run->result->exit_code, e);
	run->result->has_exit_code = kind == ERR_OK;
	if (kind == ERR_OK && timeout_ms > 0 && monotonic_ms() - began_ms >= timeout_ms)
		note_timeout(run->result);
	return kind;
}
