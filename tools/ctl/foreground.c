#include "tools/ctl/foreground.h"

#include "fs/control/exec_response.h"
#include "providers/base/cleanup.h"
#include "providers/user_shell.h"
#include "tools/ctl/alive.h"
#include "tools/ctl/feeding.h"
#include "tools/exits.h"
#include "tools/command_call.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The most that feeding adds to a command. */
#define SCRIPT_MAX ((size_t)64 * 1024)

/* ---- Output ---- */

/*
 * The reader of our output may stop reading, and we must stay interruptible: writing PIPE_BUF bytes
 * after poll(2) never blocks.
 */
static enum err write_out(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	const struct call patient = { .progress_ms = -1,
		.cancel = ((const struct call *)context)->cancel };
	int fd = stream == STREAM_ERR ? STDERR_FILENO : STDOUT_FILENO;
	const char *rest = bytes;

	while (len) {
		enum err kind = call_wait_fd(&patient, fd, POLLOUT, e);
		ssize_t n;

		if (kind)
			return kind;
		n = write(fd, rest, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno == EPIPE)
			return error_set(e, ERR_INTERRUPTED, "nobody reads the output any more");
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return error_errno(
				e, errno, "standard %s", fd == STDERR_FILENO ? "error" : "output");
		rest += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return ERR_OK;
}

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct exec_capture *streams = context;

	(void)e;
	exec_capture_add(&streams[stream == STREAM_ERR], bytes, len);
	return ERR_OK;
}

/* ---- The command ---- */

/* Output is shown as it comes, or is kept for the response. */
struct foreground {
	struct exec_capture streams[2]; /* by enum stream */
	bool as_response;
	int64_t began_ms;
};

static enum err print_response(
	struct foreground *f, const struct execute_result *result, struct error *e)
{
	const struct exec_outcome outcome = { .has_exit_code = result->has_exit_code,
		.exit_code = result->timed_out ? CTL_TIMED_OUT : result->exit_code,
		.timed_out = result->timed_out,
		.duration_ms = monotonic_ms() - f->began_ms };
	struct exec_response *response;

	exec_capture_end(&f->streams[0]);
	exec_capture_end(&f->streams[1]);
	response = exec_response_new(&outcome, &f->streams[0], &f->streams[1]);
	if (!response)
		return error_set(e, ERR_NO_MEMORY, "the command's output");
	const struct buf *text = exec_response_text(response);
	bool is_printed = fwrite(text->bytes, 1, text->len, stdout) == text->len && !fflush(stdout);

	exec_response_put(response);
	return is_printed ? ERR_OK : error_errno(e, errno, "standard output");
}

static enum err run(struct provider *p, const struct call *call, struct foreground *f,
	const struct execute_request *request, int *status, struct error *e)
{
	const struct call silent = command_call(p, call);
	struct execute_result result = { 0 };
	enum err kind = f->as_response
		? provider_execute(p, &silent, request, keep, f->streams, &result, e)
		: provider_execute(p, &silent, request, write_out, (void *)call, &result, e);

	if (!kind && f->as_response)
		kind = print_response(f, &result, e);
	if (kind)
		return kind;
	if (!result.has_exit_code)
		return error_set(e, ERR_PROTOCOL,
			"the command ran, but its exit code could not be determined");
	*status = result.timed_out ? CTL_TIMED_OUT : result.exit_code;
	return ERR_OK;
}

/* Runs a command whose input comes while it runs. */
static enum err run_fed(struct provider *p, const struct call *call, struct foreground *f,
	struct input *input, const struct execute_request *request, int *status, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(4 * INPUT_PIPE_COMMAND_MAX + SCRIPT_MAX);
	AUTO_FEEDING struct feeding feeding = FEEDING_NONE;
	struct execute_request kept = *request;
	enum err kind = feeding_begin(&feeding, p, call, input, e);

	if (kind)
		return kind;
	input_pipe_command(&text, feeding.base, request->command, input->is_terminal);
	kept.command = buf_text(&text);
	kind = buf_check(&text, "the command", e);
	if (!kind)
		kind = run(p, &feeding.call, f, &kept, status, e);
	return feeding_end(&feeding, kind, *status == CTL_TIMED_OUT, e);
}

/*
 * Runs a command with its whole input, which is there by now or waited for; a terminal gives none.
 */
static enum err run_whole(struct provider *p, const struct call *call, struct foreground *f,
	struct input *input, const struct execute_request *request, int *status, struct error *e)
{
	struct execute_request whole = *request;
	enum err kind = input->is_terminal ? ERR_OK : input_await_end(input, call, e);

	whole.input = input->bytes.bytes;
	whole.input_len = input->bytes.len;
	return kind ? kind : run(p, call, f, &whole, status, e);
}

enum err foreground_run(struct provider *p, const struct call *call,
	const struct command_line *line, const char *cwd, int *status, struct error *e)
{
	AUTO_BUF struct buf words = BUF_INIT(COMMAND_LINE_MAX);
	AUTO_BUF struct buf text = BUF_INIT(USER_SHELL_MAX(COMMAND_LINE_MAX));
	AUTO_INPUT struct input input = INPUT_INIT;
	AUTO_ALIVE struct alive alive = { 0 };
	struct execute_request request = {
		.cwd = cwd, .timeout_ms = line->timeout_ms, .env = (const char *const *)line->env
	};
	struct foreground f = { .streams = { EXEC_CAPTURE_INIT(EXEC_CAPTURE_MAX),
					EXEC_CAPTURE_INIT(EXEC_CAPTURE_MAX) },
		.as_response = line->as_response,
		.began_ms = monotonic_ms() };
	enum err kind = command_line_text(line, call, &words, e);

	if (kind)
		return kind;
	user_shell_add(&text, line->shell, p->ops->caps, line->dir || cwd, buf_text(&words));
	request.command = buf_text(&text);
	kind = buf_check(&text, "the command", e);
	if (!kind)
		kind = alive_begin(&alive, p, call, e);
	if (!kind)
		kind = input_look(&input, call, e);
	if (kind)
		return kind;
	kind = (input.has_ended || !feeding_is_possible(p, request.command) ? run_whole : run_fed)(
		p, call, &f, &input, &request, status, e);
	exec_capture_release(&f.streams[0]);
	exec_capture_release(&f.streams[1]);
	return kind;
}

enum err foreground_end(const struct ctl_run *run, enum err kind)
{
	if (kind == ERR_INTERRUPTED && !signals_taken(run->signals))
		signals_die(SIGPIPE);
	return kind;
}
