/*
 * The stream of changes: the helper's, as the output of a program that goes on.
 */
#include "providers/e2b/e2b.h"

/* The helper says something every 5 s; the daemon need not. */
#define KEEPALIVE_S 60
/* Whoever is let go should not wait long for a sandbox that may be gone; its helper ends by itself, too. */
#define KILL_MS 5000

struct listening {
	const char *const *argv;
	execute_sink sink;
	void *context;
	bool has_output; /* from then on the caller must list anew */
	int exit_code;
};

static enum err pass_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct listening *l = context;

	l->has_output = true;
	return l->sink(l->context, stream, bytes, len, e);
}

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
	struct listening *l = context;
	const struct envd_command command = { .argv = l->argv,
		.flags = RUN_REPEATABLE | RUN_COMPRESSES,
		.keepalive_s = KEEPALIVE_S,
		.is_lasting = true };
	struct envd_outcome outcome;
	enum err kind = envd_run(d, call, &command, NULL, pass_output, l, &outcome, e);

	end_program(d, &outcome);
	*is_done = l->has_output;
	l->exit_code = outcome.exit_code;
	return kind;
}

enum err e2b_listen(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e)
{
	struct listening l = { .argv = argv, .sink = sink, .context = sink_context };
	enum err kind = e2b_reach(context, call, listen_step, &l, e);

	*exit_code = l.exit_code;
	return kind;
}
