/* The stream of a program that a daemon runs: its frames, and the thread that passes them on. */
#include "providers/command/engine_stream.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

TestSuite(engine_stream, .timeout = 300);

static const struct call patient = { .progress_ms = 60000 };

#define OUT_AB  "\1\0\0\0\0\0\0\2ab"
#define ERR_C   "\2\0\0\0\0\0\0\1c"
#define EMPTY   "\1\0\0\0\0\0\0\0"
#define OUT_DE  "\1\0\0\0\0\0\0\2de"
#define ALL     OUT_AB ERR_C EMPTY OUT_DE
#define ALL_LEN (sizeof ALL - 1)

/* ---- Frames ---- */

static enum err take_all(struct engine_frames *f, const char *bytes, size_t len, char out[2][64])
{
	const unsigned char *at = (const unsigned char *)bytes;
	struct engine_piece piece;
	enum err kind;

	do {
		kind = engine_frames_next(f, &at, &len, &piece, NULL);
		if (!kind)
			strncat(out[piece.is_error], (const char *)piece.bytes, piece.len);
	} while (!kind && len);
	return kind;
}

Test(engine_stream, frames_are_the_same_wherever_they_are_cut)
{
	for (size_t cut = 0; cut <= ALL_LEN; cut++) {
		struct engine_frames f = { 0 };
		char out[2][64] = { "", "" };

		cr_assert(zero(int, take_all(&f, ALL, cut, out)));
		cr_assert(zero(int, take_all(&f, ALL + cut, ALL_LEN - cut, out)));
		cr_expect(eq(str, out[0], "abde"), "cut at %zu", cut);
		cr_expect(eq(str, out[1], "c"), "cut at %zu", cut);
	}
}

Test(engine_stream, what_is_no_frame_is_an_error)
{
	static const char *const texts[] = { "HTTP/1.1", "\4\0\0\0\0\0\0\1", "\1\0\1\0\0\0\0\1" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct engine_frames f = { 0 };
		char out[2][64] = { "", "" };

		cr_expect(eq(int, take_all(&f, texts[i], 8, out), ERR_PROTOCOL), "text %zu", i);
	}
}

/* ---- Passing on ---- */

struct ends {
	int daemon, session, errors; /* the test's own ends */
};

static void open_ends(struct ends *t, const char *received, size_t len)
{
	const struct buf first = { .bytes = (unsigned char *)received, .len = len };
	int daemon[2], session[2], errors[2];
	struct error e = { 0 };

	cr_assert(zero(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, daemon)));
	cr_assert(zero(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, session)));
	cr_assert(zero(int, pipe(errors)));
	*t = (struct ends){ daemon[0], session[0], errors[0] };
	cr_assert(zero(int, engine_stream_start(daemon[1], session[1], errors[1], &first, &e)),
		"%s", e.text);
}

static void close_ends(struct ends *t)
{
	cleanup_close(&t->daemon);
	cleanup_close(&t->session);
	cleanup_close(&t->errors);
}

/* Reads until there is as much, or the end, which is an error where input was left. */
static size_t read_from(int fd, char *bytes, size_t len)
{
	size_t had = 0;

	while (had < len) {
		struct error e = { 0 };
		ssize_t got;

		cr_assert(zero(int, call_wait_fd(&patient, fd, POLLIN, &e)), "%s", e.text);
		got = read(fd, bytes + had, len - had);
		if (got == 0 || (got < 0 && errno == ECONNRESET))
			break;
		cr_assert(got > 0);
		had += (size_t)got;
	}
	return had;
}

static void expect(int fd, const char *wanted)
{
	char bytes[64] = "";

	read_from(fd, bytes, strlen(wanted));
	cr_expect(eq(str, bytes, (char *)wanted));
}

static bool has_ended(int fd)
{
	char byte;

	return read_from(fd, &byte, 1) == 0;
}

Test(engine_stream, outputs_are_kept_apart_and_input_goes_as_it_is)
{
	struct ends t;

	open_ends(&t, OUT_AB, sizeof OUT_AB - 1);
	cr_assert(eq(int, (int)write(t.daemon, ERR_C EMPTY OUT_DE, sizeof(ERR_C EMPTY OUT_DE) - 1),
		(int)sizeof(ERR_C EMPTY OUT_DE) - 1));
	expect(t.session, "abde");
	expect(t.errors, "c");
	cr_assert(eq(int, (int)write(t.session, "input", 5), 5));
	expect(t.daemon, "input");
	close_ends(&t);
}

Test(engine_stream, a_program_goes_on_when_its_input_ends)
{
	struct ends t;

	open_ends(&t, "", 0);
	cr_assert(eq(int, (int)write(t.session, "last", 4), 4));
	shutdown(t.session, SHUT_WR);
	expect(t.daemon, "last");
	cr_expect(has_ended(t.daemon));
	cr_assert(eq(int, (int)write(t.daemon, OUT_AB, sizeof OUT_AB - 1), (int)sizeof OUT_AB - 1));
	expect(t.session, "ab");
	close(take_fd(&t.daemon));
	cr_expect(has_ended(t.session));
	cr_expect(has_ended(t.errors));
	close_ends(&t);
}

Test(engine_stream, a_session_that_is_closed_ends_the_connection)
{
	struct ends t;

	open_ends(&t, "", 0);
	cr_assert(eq(int, (int)write(t.session, "bye", 3), 3));
	close(take_fd(&t.session));
	expect(t.daemon, "bye");
	cr_expect(has_ended(t.daemon));
	cr_expect(has_ended(t.errors));
	close_ends(&t);
}

Test(engine_stream, a_stream_without_frames_ends)
{
	struct ends t;

	open_ends(&t, "", 0);
	cr_assert(eq(int, (int)write(t.daemon, "HTTP/1.1 500", 12), 12));
	cr_expect(has_ended(t.session));
	close_ends(&t);
}

Test(engine_stream, a_program_that_ends_with_input_left_has_all_its_output)
{
	static char bytes[65536];
	struct ends t;

	open_ends(&t, "", 0);
	while (write(t.session, bytes, sizeof bytes) > 0)
		;
	cr_assert(eq(int, (int)write(t.daemon, OUT_AB, sizeof OUT_AB - 1), (int)sizeof OUT_AB - 1));
	close(take_fd(&t.daemon));
	expect(t.session, "ab");
	cr_expect(has_ended(t.session));
	close_ends(&t);
}

/* More than both sockets hold waits here until it is read. */
#define MUCH ((size_t)8 * 1024 * 1024)

Test(engine_stream, much_output_comes_whole_though_input_is_stuck)
{
	static char frame[8 + 32760];
	static char bytes[32760];
	size_t frames = MUCH / sizeof bytes, written = 0, had = 0;
	struct ends t;

	memcpy(frame, "\1\0\0\0\0\0\x7f\xf8", 8);
	memset(frame + 8, 'x', sizeof bytes);
	open_ends(&t, "", 0);
	/* Nobody reads this at the daemon. */
	while (write(t.session, bytes, sizeof bytes) > 0)
		;
	while (had < frames * sizeof bytes) {
		size_t at = written % sizeof frame;
		ssize_t moved = written < frames * sizeof frame
			? write(t.daemon, frame + at, sizeof frame - at)
			: 0;

		written += moved > 0 ? (size_t)moved : 0;
		moved = read(t.session, bytes, sizeof bytes);
		cr_assert(moved != 0);
		had += moved > 0 ? (size_t)moved : 0;
	}
	cr_expect(eq(chr, bytes[0], 'x'));
	close_ends(&t);
}
