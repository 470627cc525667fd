#include "tools/ctl/input.h"

#include "providers/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX ((size_t)64 * 1024)
/* Bytes that come this soon after others are passed on with them: much output comes in portions. */
#define MORE_MS 10
/* Steady output is not delayed longer than this. */
#define PIECE_MS 100
/* The time until our return to the foreground is noticed: no event reports it. */
#define BACKGROUND_MS 200

void input_release(struct input *in)
{
	buf_release(&in->bytes);
	cleanup_close(&in->own);
}

/* Opening a terminal's master again would open a new terminal. */
static bool is_master(void)
{
	char name[64];

	return !ptsname_r(STDIN_FILENO, name, sizeof name);
}

/*
 * A terminal or a pipe may be shared: another process may have taken the bytes that poll() saw, and
 * read() would then wait where no cancel ends it. O_NONBLOCK belongs to the open file, which other
 * processes share; so the open file has to be our own.
 */
static int open_own(void)
{
	struct stat st;

	if (fstat(STDIN_FILENO, &st) || (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY)
		return -1;
	if (!S_ISFIFO(st.st_mode) && !(isatty(STDIN_FILENO) && !is_master()))
		return -1;
	return open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* ---- The foreground of the terminal ---- */

/* Also true for a terminal that controls no process. */
static bool is_ours(const struct input *in)
{
	pid_t group = in->is_terminal ? tcgetpgrp(STDIN_FILENO) : -1;

	return group < 0 || group == getpgrp();
}

/*
 * As poll(2), for any number of milliseconds. Only fd 0 itself reports whether there ever was a
 * writer.
 */
static bool is_ready(int ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

static enum err wait_for_some(const struct input *in, const struct call *call, struct error *e)
{
	const struct call patient = { .progress_ms = -1, .cancel = call->cancel };

	for (;;) {
		enum err kind = is_ours(in) ? call_wait_fd(&patient, STDIN_FILENO, POLLIN, e)
					    : call_sleep(&patient, BACKGROUND_MS, e);

		if (kind || (is_ours(in) && is_ready(0)))
			return kind;
	}
}

/* ---- Reading ---- */

/* Reads the bytes that are ready; none where another process group has the terminal by now. */
static enum err read_some(struct input *in, struct error *e)
{
	unsigned char *room = buf_reserve(&in->bytes, READ_MAX);
	ssize_t n;

	if (!room)
		return error_set(
			e, ERR_TOO_LARGE, "standard input: more than %zu bytes", INPUT_MAX);
	n = read(in->own >= 0 ? in->own : STDIN_FILENO, room, READ_MAX);
	if (n < 0 && errno == EIO && !is_ours(in))
		return ERR_OK;
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return error_errno(e, errno, "standard input");
	in->has_ended = !n;
	buf_filled(&in->bytes, n > 0 ? (size_t)n : 0);
	return ERR_OK;
}

/* Reads the bytes that are ready, and those that come soon. */
static enum err read_piece(struct input *in, const struct call *call, struct error *e)
{
	int64_t end_ms = monotonic_ms() + PIECE_MS, wait_ms = 0;
	enum err kind = ERR_OK;

	while (!kind && !in->has_ended && in->bytes.len < INPUT_PIECE_MAX && wait_ms >= 0 &&
		is_ours(in) && is_ready((int)wait_ms)) {
		if (call->cancel && cancel_thrown(call->cancel))
			return error_set(e, ERR_INTERRUPTED, "interrupted");
		kind = read_some(in, e);
		wait_ms = end_ms - monotonic_ms();
		wait_ms = wait_ms < MORE_MS ? wait_ms : MORE_MS;
	}
	return kind;
}

enum err input_look(struct input *in, const struct call *call, struct error *e)
{
	in->is_terminal = isatty(STDIN_FILENO);
	in->own = open_own();
	return in->is_terminal ? ERR_OK : read_piece(in, call, e);
}

enum err input_await(struct input *in, const struct call *call, struct error *e)
{
	enum err kind = in->has_ended ? ERR_OK : wait_for_some(in, call, e);

	return kind ? kind : read_piece(in, call, e);
}

enum err input_await_end(struct input *in, const struct call *call, struct error *e)
{
	enum err kind = ERR_OK;

	while (!kind && !in->has_ended) {
		kind = wait_for_some(in, call, e);
		if (!kind)
			kind = read_some(in, e);
	}
	return kind;
}
