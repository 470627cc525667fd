#include "providers/command/engine_stream.h"

#include "providers/base/cleanup.h"
#include "providers/base/thread.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* Two frames of a Docker daemon's. */
#define PIECE ((size_t)64 * 1024)
/* The bytes on their way in one direction: a piece, and those behind the headers of the answer. */
#define WAITING_MAX ((size_t)1024 * 1024)

/* ---- Frames ---- */

/* The outputs: 0 and 1 are standard output, 2 standard error, 3 an error of the daemon's own. */
#define OUTPUTS 4
#define ERRORS  2

static enum err read_head(struct engine_frames *f, struct error *e)
{
	const unsigned char *h = f->head;

	if (h[0] >= OUTPUTS || h[1] || h[2] || h[3])
		return error_set(e, ERR_PROTOCOL, "the daemon's stream has no frames");
	f->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | h[7];
	return ERR_OK;
}

enum err engine_frames_next(struct engine_frames *f, const unsigned char **bytes, size_t *len,
	struct engine_piece *out, struct error *e)
{
	*out = (struct engine_piece){ 0 };
	while (*len && !f->left) {
		f->head[f->head_len++] = *(*bytes)++;
		--*len;
		if (f->head_len < sizeof f->head)
			continue;
		f->head_len = 0;
		enum err kind = read_head(f, e);

		if (kind)
			return kind;
	}
	out->is_error = f->head[0] >= ERRORS;
	out->bytes = *bytes;
	out->len = *len < f->left ? *len : f->left;
	f->left -= (uint32_t)out->len;
	*bytes += out->len;
	*len -= out->len;
	return ERR_OK;
}

/* ---- Passing on ---- */

struct stream {
	int daemon, program, errors;
	struct engine_frames frames;
	struct buf to_daemon, to_program;
	bool has_no_input; /* the session has ended its input */
};

static void stream_free(struct stream *s)
{
	cleanup_close(&s->daemon);
	cleanup_close(&s->program);
	cleanup_close(&s->errors);
	buf_release(&s->to_daemon);
	buf_release(&s->to_program);
	free(s);
}

/* A session that is over reads no errors: there is nobody to tell. */
static void write_errors(const struct stream *s, const unsigned char *bytes, size_t len)
{
	while (len) {
		ssize_t written = write(s->errors, bytes, len);

		if (written <= 0 && errno != EINTR)
			return;
		if (written > 0) {
			bytes += written;
			len -= (size_t)written;
		}
	}
}

/* False: the other end takes nothing more. */
static bool flush(int fd, struct buf *waiting)
{
	ssize_t sent = waiting->len ? send(fd, waiting->bytes, waiting->len, MSG_NOSIGNAL) : 0;

	if (sent > 0)
		buf_consume(waiting, (size_t)sent);
	return sent >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool take_frames(struct stream *s, const unsigned char *bytes, size_t len)
{
	struct engine_piece piece;

	do {
		if (engine_frames_next(&s->frames, &bytes, &len, &piece, NULL))
			return false;
		/* Output is there before later errors: a session finds its mark in it. */
		if (piece.is_error)
			flush(s->program, &s->to_program);
		if (piece.is_error)
			write_errors(s, piece.bytes, piece.len);
		else if (piece.len)
			buf_add(&s->to_program, piece.bytes, piece.len);
	} while (len);
	return !s->to_program.failed;
}

/* *len 0: the end. False: nothing is there yet. */
static bool receive(int fd, unsigned char bytes[PIECE], size_t *len)
{
	ssize_t got = recv(fd, bytes, PIECE, 0);

	*len = got > 0 ? (size_t)got : 0;
	return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

static bool from_daemon(struct stream *s)
{
	unsigned char bytes[PIECE];
	size_t len;

	if (!receive(s->daemon, bytes, &len))
		return true;
	return len && take_frames(s, bytes, len);
}

static bool from_program(struct stream *s)
{
	unsigned char bytes[PIECE];
	size_t len;

	if (!receive(s->program, bytes, &len))
		return true;
	if (len)
		return buf_add(&s->to_daemon, bytes, len);
	s->has_no_input = true;
	return !shutdown(s->daemon, SHUT_WR);
}

/*
 * Each direction is read when what it had before is passed on. A descriptor that nothing is wanted
 * of is left out, since its end would be reported for ever.
 */
static void choose_events(const struct stream *s, struct pollfd *daemon, struct pollfd *program)
{
	daemon->events =
		(short)((s->to_program.len ? 0 : POLLIN) | (s->to_daemon.len ? POLLOUT : 0));
	program->events = (short)((s->to_daemon.len || s->has_no_input ? 0 : POLLIN) |
		(s->to_program.len ? POLLOUT : 0));
	daemon->fd = daemon->events ? s->daemon : -1;
	program->fd = program->events || s->has_no_input ? s->program : -1;
}

/* A program that has ended takes no input, and may have left output. */
static void flush_input(struct stream *s)
{
	if (flush(s->daemon, &s->to_daemon))
		return;
	buf_reset(&s->to_daemon);
	s->has_no_input = true;
}

/* False: the stream has ended. */
static bool turn(struct stream *s)
{
	struct pollfd p[2] = { 0 };

	choose_events(s, &p[0], &p[1]);
	if (poll(p, 2, -1) < 0)
		return errno == EINTR;
	flush_input(s);
	if (!flush(s->program, &s->to_program))
		return false;
	if (p[0].revents & ~POLLOUT && !s->to_program.len && !from_daemon(s))
		return false;
	if (s->has_no_input)
		return !(p[1].revents & (POLLHUP | POLLERR));
	return !(p[1].revents & ~POLLOUT) || s->to_daemon.len || from_program(s);
}

static void *run(void *context)
{
	struct stream *s = context;

	while (turn(s))
		;
	stream_free(s);
	return NULL;
}

/* Detached: the thread has nothing but what it was given, and ends with either end. */
static enum err start_thread(struct stream *s, struct error *e)
{
	pthread_t thread;
	int failure = thread_start(&thread, run, s);

	if (failure)
		return error_errno(e, failure, "a thread for a daemon's stream");
	pthread_detach(thread);
	return ERR_OK;
}

enum err engine_stream_start(
	int daemon, int program, int errors, const struct buf *received, struct error *e)
{
	struct stream *s = calloc(1, sizeof *s);
	enum err kind;

	if (!s) {
		cleanup_close(&daemon);
		cleanup_close(&program);
		cleanup_close(&errors);
		return error_set(e, ERR_NO_MEMORY, "a daemon's stream");
	}
	*s = (struct stream){ .daemon = daemon,
		.program = program,
		.errors = errors,
		.to_daemon = BUF_INIT(WAITING_MAX),
		.to_program = BUF_INIT(WAITING_MAX) };
	kind = received->len && !take_frames(s, received->bytes, received->len)
		? error_set(e, ERR_PROTOCOL, "the daemon's stream has no frames")
		: start_thread(s, e);
	if (kind)
		stream_free(s);
	return kind;
}
