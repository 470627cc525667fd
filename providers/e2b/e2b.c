/* The slots that remote.h needs from a vendor. */
#include "providers/e2b/e2b.h"

/* Linux's longest argument. */
#define ARGUMENT_MAX 131071
/* A file inside a request is text, a third longer; an upload costs a second request. */
#define INLINE_MAX ((size_t)64 * 1024)
/*
 * Packing makes paths ten times shorter. All arguments together may have 2 MB, a quarter of a
 * process's default stack.
 */
#define INLINE_PACKED_MAX ((size_t)512 * 1024)

/* The helper sends a message every 5 s, so the daemon need not. */
#define KEEPALIVE_S 60
/* The end of a mount does not wait long for a sandbox that may be gone. The helper ends itself. */
#define KILL_MS 5000

/*
 * The daemon refuses programs in a home that does not exist. The programs that run here name their
 * own directories.
 */
#define WORKING_DIR "/"

struct remote_run {
	const char *const *argv;
	unsigned flags; /* enum run_flags */
	const struct remote_upload *upload;
	execute_sink sink;
	void *sink_context;
	bool has_output;
	int exit_code;
};

static enum err pass_on(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct remote_run *run = context;

	run->has_output = true;
	return run->sink(run->sink_context, stream, bytes, len, e);
}

static enum err run_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	struct remote_run *run = context;
	const struct envd_command command = {
		.argv = run->argv, .cwd = WORKING_DIR, .flags = run->flags, .upload = run->upload
	};
	struct envd_outcome outcome = { 0 };
	enum err kind = envd_run(d, call, &command, NULL, pass_on, run, &outcome, e);
	bool may_repeat = run->flags & RUN_REPEATABLE && !run->has_output;

	*is_done = outcome.may_have_run && !may_repeat;
	run->exit_code = outcome.exit_code;
	if (!kind && !outcome.has_exit_code)
		return error_set(
			e, ERR_PROTOCOL, "e2b: the daemon does not say how a program ended");
	return kind;
}

static enum err run_remote(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	struct remote_run run = { .argv = argv,
		.flags = flags,
		.upload = upload,
		.sink = sink,
		.sink_context = sink_context };
	enum err kind = e2b_reach(context, call, run_step, &run, e);

	*exit_code = run.exit_code;
	return kind;
}

static enum err upload_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	*is_done = false;
	return envd_store(d, call, context, e);
}

static enum err upload_remote(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	return e2b_reach(context, call, upload_step, (void *)upload, e);
}

/* ---- A program that goes on ---- */

/* The end of a stream is not the end of its program. */
static void end_program(struct envd *d, const struct envd_outcome *outcome)
{
	const struct call call = { .progress_ms = KILL_MS, .is_background = true };

	if (outcome->pid && !outcome->has_exit_code)
		envd_kill(d, &call, outcome->pid, NULL);
}

static enum err listen_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	struct remote_run *run = context;
	const struct envd_command command = { .argv = run->argv,
		.cwd = WORKING_DIR,
		.flags = RUN_REPEATABLE | RUN_COMPRESSES,
		.keepalive_s = KEEPALIVE_S,
		.is_lasting = true };
	struct envd_outcome outcome;
	enum err kind = envd_run(d, call, &command, NULL, pass_on, run, &outcome, e);

	/* The signal would wake a sandbox that was paused, which is what ends a stream so. */
	if (kind != ERR_UNREACHABLE || !envd_must_not_wake(d, call))
		end_program(d, &outcome);
	/* A stream that had output is not begun anew: the caller must list first. */
	*is_done = run->has_output;
	run->exit_code = outcome.exit_code;
	return kind;
}

static enum err listen_remote(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e)
{
	struct remote_run run = { .argv = argv, .sink = sink, .sink_context = sink_context };
	enum err kind = e2b_reach(context, call, listen_step, &run, e);

	*exit_code = run.exit_code;
	return kind;
}

const struct remote_ops e2b_remote = {
	.run = run_remote,
	.upload = upload_remote,
	.listen = listen_remote,
	.argument_max = ARGUMENT_MAX,
	.inline_max = INLINE_MAX,
	.inline_packed_max = INLINE_PACKED_MAX,
	.is_live = true,
};
