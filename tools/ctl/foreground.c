#include "tools/ctl/foreground.h"

#include "providers/base/cleanup.h"
#include "tools/ctl/alive.h"
#include "tools/exits.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

/* What a provider takes as a command's input. */
#define INPUT_MAX ((size_t)60 * 1024 * 1024)
#define PIECE     ((size_t)64 * 1024)

/* ---- Output ---- */

/* Whoever reads our output may stop reading, and we are to be interruptible all the same: PIPE_BUF bytes never block. */
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

/* ---- Input ---- */

static enum err read_input(const struct call *call, struct buf *input, struct error *e)
{
	const struct call patient = { .progress_ms = -1, .cancel = call->cancel };

	for (;;) {
		unsigned char *room = buf_reserve(input, PIECE);
		enum err kind = room ? call_wait_fd(&patient, STDIN_FILENO, POLLIN, e)
				     : error_set(e, ERR_TOO_LARGE,
					       "standard input: more than %zu bytes", INPUT_MAX);
		ssize_t n;

		if (kind)
			return kind;
		n = read(STDIN_FILENO, room, PIECE);
		if (!n)
			return ERR_OK;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return error_errno(e, errno, "standard input");
		input->len += n > 0 ? (size_t)n : 0;
	}
}

/* ---- The command ---- */

struct call foreground_patience(const struct provider *p, const struct call *call)
{
	struct call out = *call;

	if (!(p->ops->caps & PROVIDER_COMMANDS_PULSE))
		out.progress_ms = -1;
	return out;
}

static enum err run(struct provider *p, const struct call *call,
	const struct execute_request *request, int *status, struct error *e)
{
	const struct call silent = foreground_patience(p, call);
	struct execute_result result = { 0 };
	enum err kind = provider_execute(p, &silent, request, write_out, (void *)call, &result, e);

	if (kind)
		return kind;
	if (!result.has_exit_code)
		return error_set(e, ERR_PROTOCOL,
			"the command ran, but its exit code could not be determined");
	*status = result.timed_out ? CTL_TIMED_OUT : result.exit_code;
	return ERR_OK;
}

enum err foreground_run(struct provider *p, const struct call *call,
	const struct command_line *line, const char *cwd, int *status, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(COMMAND_LINE_MAX), input = BUF_INIT(INPUT_MAX);
	AUTO_ALIVE struct alive alive = { 0 };
	enum err kind;

	command_line_text(line, &text);
	kind = buf_check(&text, "the command", e);
	if (!kind && !isatty(STDIN_FILENO))
		kind = read_input(call, &input, e);
	if (!kind)
		kind = alive_begin(&alive, p, call, e);
	if (kind)
		return kind;
	return run(p, call,
		&(struct execute_request){ .command = buf_text(&text),
			.cwd = cwd,
			.timeout_ms = line->timeout_ms,
			.input = input.bytes,
			.input_len = input.len,
			.env = (const char *const *)line->env },
		status, e);
}

enum err foreground_end(const struct ctl_run *run, enum err kind)
{
	if (kind == ERR_INTERRUPTED && !signals_taken(run->signals))
		signals_die(SIGPIPE);
	return kind;
}
