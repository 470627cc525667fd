#include "tools/shown_run.h"

#include "tools/masked.h"
#include "tools/command_call.h"

#include <stdio.h>

/* Pieces of output are far smaller. */
#define SHOWN_MAX ((size_t)64 * 1024 * 1024)

struct showing {
	struct masked of[2]; /* by enum stream */
};

/* A failure to print does not stop the command. */
static void show(const struct buf *text)
{
	if (text->len && fwrite(text->bytes, 1, text->len, stderr) < text->len)
		clearerr(stderr);
}

static enum err show_piece(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct showing *showing = context;
	AUTO_BUF struct buf text = BUF_INIT(SHOWN_MAX);

	if (!masked_add(&showing->of[stream == STREAM_ERR], bytes, len, &text))
		return error_set(e, ERR_NO_MEMORY, "output of a command");
	show(&text);
	return ERR_OK;
}

static void show_rest(struct showing *showing)
{
	AUTO_BUF struct buf text = BUF_INIT(SHOWN_MAX);

	masked_end(&showing->of[0], &text);
	masked_end(&showing->of[1], &text);
	show(&text);
}

static enum err check_result(
	const struct shown_command *c, const struct execute_result *result, struct error *e)
{
	if (result->timed_out)
		return error_set(e, ERR_TIMEOUT, "%s: not done after %g s; %s", c->what,
			(double)c->timeout_ms / 1000, c->way_out);
	if (!result->has_exit_code)
		return error_set(e, ERR_IO, "%s: how it ended could not be determined", c->what);
	if (result->exit_code)
		return error_set(e, ERR_IO, "%s: exit status %d", c->what, result->exit_code);
	return ERR_OK;
}

enum err shown_run(
	struct provider *p, const struct call *call, const struct shown_command *c, struct error *e)
{
	const struct call patient = command_call(p, call);
	const struct execute_request request = { .command = c->command,
		.timeout_ms = c->timeout_ms,
		.input = c->input->len ? c->input->bytes : NULL,
		.input_len = c->input->len };
	struct showing showing = { { MASKED_INIT(c->secrets, SHOWN_MAX),
		MASKED_INIT(c->secrets, SHOWN_MAX) } };
	struct execute_result result = { 0 };
	enum err kind = provider_execute(p, &patient, &request, show_piece, &showing, &result, e);

	show_rest(&showing);
	return kind ? kind : check_result(c, &result, e);
}
