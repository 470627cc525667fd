#include "providers/helper/serve.h"

#include "providers/base/base64.h"
#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/helper/wire.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

TestSuite(serve, .timeout = 300);

#define MIB ((size_t)1024 * 1024)

/* ---- Requests, and what one shot answers to them ---- */

static void add_frame(struct buf *out, enum frame_type type, uint32_t id, const struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];
	uint32_t len = payload ? (uint32_t)payload->len : 0;

	frame_encode(header, &(struct frame){ type, id, len });
	buf_add(out, header, sizeof header);
	if (len)
		buf_add(out, payload->bytes, len);
}

static void add_hello(struct buf *out, uint32_t id)
{
	add_frame(out, FRAME_HELLO, id, NULL);
}

static void put_create(struct buf *payload, const char *path)
{
	struct change c = { .op = CHANGE_CREATE,
		.flags = CHANGE_EXCL,
		.path = path,
		.mode = 0644,
		.uid = CHANGE_NO_OWNER,
		.gid = CHANGE_NO_OWNER };

	wire_put_apply(payload, &(struct apply_request){ .changes = &c, .changes_count = 1 });
}

static void add_create(struct buf *out, uint32_t id, const char *path)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);

	put_create(&payload, path);
	add_frame(out, FRAME_APPLY, id, &payload);
}

static void add_list(struct buf *out, uint32_t id)
{
	static const char *const root[] = { "" };
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_list(
		&payload, &(struct list_request){ .starts = root, .starts_count = 1, .depth = 1 });
	add_frame(out, FRAME_LIST, id, &payload);
}

static void add_watch(struct buf *out, uint32_t id)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_watch(&payload, &(struct watch_request){ 0 });
	add_frame(out, FRAME_WATCH, id, &payload);
}

struct room {
	struct scratch scratch;
	struct root root;
};

static void room_open(struct room *r)
{
	struct error e = { 0 };

	scratch_make(&r->scratch);
	root_open(&r->root, r->scratch.path, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void room_close(struct room *r)
{
	root_close(&r->root);
	scratch_remove(&r->scratch);
}

/* Serves `requests` in one shot; what was written is in `answers`. */
static enum err shoot(struct room *r, const struct buf *requests, bool is_armoured,
	struct buf *answers, struct error *e)
{
	AUTO_CLOSE int out = memfd_create("answers", MFD_CLOEXEC);
	struct serve_options options = { .root = &r->root,
		.in_fd = -1,
		.bytes = requests->bytes,
		.len = requests->len,
		.out_fd = out,
		.is_once = true,
		.is_armoured = is_armoured };
	enum err kind = serve(&options, e);
	off_t len = lseek(out, 0, SEEK_END);

	cr_assert(pread(out, buf_reserve(answers, (size_t)len), (size_t)len, 0) == len);
	buf_filled(answers, (size_t)len);
	return kind;
}

/* Takes the first frame of `answers`; its payload stays valid until the next. */
static struct frame next_frame(const struct buf *answers, size_t *at, struct buf *payload)
{
	struct frame f = { 0 };

	cr_assert(answers->len >= *at + FRAME_HEADER_SIZE);
	cr_assert(eq(int, frame_decode(answers->bytes + *at, &f, NULL), ERR_OK));
	*at += FRAME_HEADER_SIZE;
	cr_assert(answers->len >= *at + f.len);
	buf_reset(payload);
	buf_add(payload, answers->bytes + *at, f.len);
	*at += f.len;
	return f;
}

/* Skips to the end of request `id`, which must be the next to end, and gives its result. */
static enum err next_end(const struct buf *answers, size_t *at, uint32_t id, struct error *e)
{
	AUTO_BUF struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct frame f;

	do {
		f = next_frame(answers, at, &payload);
		cr_expect(eq(u32, f.id, id));
	} while (f.type != FRAME_END);
	return wire_get_end(&payload, e);
}

Test(serve, one_shot_answers_every_request_in_order)
{
	struct room r;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf answers = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	size_t at = 0;
	struct error e = { 0 };

	room_open(&r);
	add_hello(&requests, 1);
	add_create(&requests, 9, "made");
	add_list(&requests, 2);
	cr_expect(eq(int, shoot(&r, &requests, false, &answers, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, next_end(&answers, &at, 1, NULL), ERR_OK));
	cr_expect(eq(int, next_end(&answers, &at, 9, NULL), ERR_OK));
	next_frame(&answers, &at, &payload);
	cr_expect(memmem(payload.bytes, payload.len, "made", 5) != NULL);
	cr_expect(eq(int, next_end(&answers, &at, 2, NULL), ERR_OK));
	cr_expect(eq(sz, at, answers.len));
	room_close(&r);
}

Test(serve, one_shot_refuses_to_watch_and_goes_on)
{
	struct room r;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf answers = BUF_INIT(WIRE_REQUEST_MAX);
	size_t at = 0;

	room_open(&r);
	add_watch(&requests, 1);
	add_hello(&requests, 2);
	cr_expect(eq(int, shoot(&r, &requests, false, &answers, NULL), ERR_OK));
	cr_expect(eq(int, next_end(&answers, &at, 1, NULL), ERR_UNSUPPORTED));
	cr_expect(eq(int, next_end(&answers, &at, 2, NULL), ERR_OK));
	room_close(&r);
}

Test(serve, armoured_answers_are_lines_that_say_the_same)
{
	struct room r;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf text = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf answers = BUF_INIT(WIRE_REQUEST_MAX);
	size_t at = 0;

	room_open(&r);
	for (uint32_t id = 1; id < 100; id++)
		add_list(&requests, id);
	cr_expect(eq(int, shoot(&r, &requests, true, &text, NULL), ERR_OK));
	for (char *line = (char *)text.bytes, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		cr_assert(end != NULL && end - line <= 1024);
		cr_assert(
			eq(int, base64_decode(&answers, line, (size_t)(end - line), NULL), ERR_OK));
	}
	for (uint32_t id = 1; id < 100; id++)
		cr_expect(eq(int, next_end(&answers, &at, id, NULL), ERR_OK));
	room_close(&r);
}

Test(serve, a_request_in_pieces_is_one_and_a_cancelled_one_none)
{
	struct room r;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf answers = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct buf half;
	size_t at = 0;

	room_open(&r);
	put_create(&payload, "whole");
	half = (struct buf){ .bytes = payload.bytes, .len = payload.len / 2 };
	add_frame(&requests, FRAME_MORE, 1, &half);
	add_frame(&requests, FRAME_CANCEL, 1, NULL);
	add_frame(&requests, FRAME_MORE, 2, &half);
	half.bytes += half.len;
	half.len = payload.len - half.len;
	add_frame(&requests, FRAME_MORE, 2, NULL);
	add_frame(&requests, FRAME_APPLY, 2, &half);
	cr_expect(eq(int, shoot(&r, &requests, false, &answers, NULL), ERR_OK));
	cr_expect(eq(int, next_end(&answers, &at, 2, NULL), ERR_OK));
	cr_expect(eq(sz, at, answers.len));
	cr_expect(faccessat(r.scratch.fd, "whole", F_OK, 0) == 0);
	room_close(&r);
}

Test(serve, a_request_that_makes_no_sense_fails_alone)
{
	struct room r;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf answers = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf nonsense = BUF_INIT(100);
	size_t at = 0;

	room_open(&r);
	buf_add_string(&nonsense, "nonsense");
	for (enum frame_type type = FRAME_HELLO; type <= FRAME_APPLY; type++)
		add_frame(&requests, type, type, &nonsense);
	add_hello(&requests, 100);
	cr_expect(eq(int, shoot(&r, &requests, false, &answers, NULL), ERR_OK));
	for (enum frame_type type = FRAME_HELLO; type <= FRAME_APPLY; type++)
		cr_expect(eq(int, next_end(&answers, &at, type, NULL), ERR_PROTOCOL));
	cr_expect(eq(int, next_end(&answers, &at, 100, NULL), ERR_OK));
	room_close(&r);
}

Test(serve, a_limit_on_file_sizes_is_an_error_and_no_signal)
{
	struct room r;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf answers = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct change c = {
		.op = CHANGE_WRITE, .path = "f", .offset = MIB, .data = "x", .data_len = 1
	};
	struct change_result result;
	size_t at = 0, in_frame = 0;

	room_open(&r);
	scratch_write_text(&r.scratch, "f", "");
	wire_put_apply(&payload, &(struct apply_request){ .changes = &c, .changes_count = 1 });
	add_frame(&requests, FRAME_APPLY, 1, &payload);
	signal(SIGXFSZ, SIG_DFL);
	cr_assert(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ MIB, RLIM_INFINITY }) == 0);
	cr_expect(eq(int, shoot(&r, &requests, false, &answers, NULL), ERR_OK));
	next_frame(&answers, &at, &payload);
	cr_expect(eq(int, wire_get_change_result(&payload, &in_frame, &result, NULL), ERR_OK));
	cr_expect(eq(int, result.err, ERR_TOO_LARGE));
	room_close(&r);
}

/* ---- Streams that are none ---- */

static void put_garbage(struct buf *out)
{
	buf_add_string(out, "GET / HTTP/1.1\r\nHost: here\r\n\r\n");
}

static void put_cut_header(struct buf *out)
{
	buf_add_string(out, "SbX");
}

static void put_cut_payload(struct buf *out)
{
	add_list(out, 1);
	out->len--;
}

static void put_unfinished(struct buf *out)
{
	add_frame(out, FRAME_MORE, 1, NULL);
}

static void put_id_zero(struct buf *out)
{
	add_list(out, 0);
}

static void put_answer(struct buf *out)
{
	add_frame(out, FRAME_ITEMS, 1, NULL);
}

static void put_interleaved(struct buf *out)
{
	add_frame(out, FRAME_MORE, 1, NULL);
	add_list(out, 2);
}

static void put_endless(struct buf *out)
{
	AUTO_BUF struct buf piece = BUF_INIT(MIB);

	buf_reserve(&piece, MIB);
	memset(piece.bytes, 0, MIB);
	piece.len = MIB;
	for (int i = 0; i <= WIRE_REQUEST_MAX / (int)MIB; i++)
		add_frame(out, FRAME_MORE, 1, &piece);
}

static const struct {
	void (*put)(struct buf *);
	enum err kind;
} streams[] = {
	{ put_garbage, ERR_PROTOCOL },
	{ put_cut_header, ERR_PROTOCOL },
	{ put_cut_payload, ERR_PROTOCOL },
	{ put_unfinished, ERR_PROTOCOL },
	{ put_id_zero, ERR_PROTOCOL },
	{ put_answer, ERR_PROTOCOL },
	{ put_interleaved, ERR_PROTOCOL },
	{ put_endless, ERR_TOO_LARGE },
};

Test(serve, what_is_no_stream_of_requests_ends_it_with_last_words)
{
	struct room r;

	room_open(&r);
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
		AUTO_BUF struct buf requests = BUF_INIT(2 * (size_t)WIRE_REQUEST_MAX);
		AUTO_BUF struct buf answers = BUF_INIT(WIRE_REQUEST_MAX);
		size_t at = 0;
		struct error e = { 0 };

		streams[i].put(&requests);
		cr_expect(eq(int, shoot(&r, &requests, false, &answers, &e), streams[i].kind));
		cr_expect(e.text[0] != 0);
		cr_expect(eq(int, next_end(&answers, &at, 0, NULL), streams[i].kind), "%zu", i);
	}
	room_close(&r);
}

/* ---- Serving on ---- */

struct server {
	struct room room;
	int in, out;        /* the client's ends */
	int from_fd, to_fd; /* the server's */
	pthread_t thread;
	enum err kind;
};

static void *run(void *context)
{
	struct server *s = context;

	s->kind = serve(
		&(struct serve_options){
			.root = &s->room.root, .in_fd = s->from_fd, .out_fd = s->to_fd },
		NULL);
	close(s->from_fd);
	close(s->to_fd);
	return NULL;
}

static void server_start(struct server *s)
{
	int there[2], back[2];

	room_open(&s->room);
	cr_assert(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
	s->from_fd = there[0];
	s->out = there[1];
	s->in = back[0];
	s->to_fd = back[1];
	cr_assert(pthread_create(&s->thread, NULL, run, s) == 0);
}

static void server_join(struct server *s)
{
	pthread_join(s->thread, NULL);
	room_close(&s->room);
}

static void send_all(struct server *s, const struct buf *requests)
{
	for (size_t at = 0; at < requests->len;) {
		ssize_t n = write(s->out, requests->bytes + at, requests->len - at);

		cr_assert(n > 0);
		at += (size_t)n;
	}
}

/* Reads frames until the end of `id`. */
static enum err hear_end(struct server *s, uint32_t id)
{
	for (;;) {
		AUTO_BUF struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
		unsigned char header[FRAME_HEADER_SIZE];
		struct frame f;

		cr_assert(read(s->in, header, sizeof header) == sizeof header);
		cr_assert(eq(int, frame_decode(header, &f, NULL), ERR_OK));
		while (payload.len < f.len) {
			ssize_t n = read(s->in, buf_reserve(&payload, f.len - payload.len),
				f.len - payload.len);

			cr_assert(n > 0);
			buf_filled(&payload, (size_t)n);
		}
		if (f.type == FRAME_END && f.id == id)
			return wire_get_end(&payload, NULL);
	}
}

Test(serve, a_watch_ends_when_it_is_cancelled)
{
	struct server s;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);

	server_start(&s);
	add_watch(&requests, 5);
	add_list(&requests, 6);
	add_frame(&requests, FRAME_CANCEL, 5, NULL);
	send_all(&s, &requests);
	cr_expect(eq(int, hear_end(&s, 5), ERR_INTERRUPTED));
	close(s.out);
	close(s.in);
	server_join(&s);
	cr_expect(eq(int, s.kind, ERR_OK));
}

Test(serve, the_end_of_the_requests_ends_a_watch)
{
	struct server s;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);

	server_start(&s);
	add_watch(&requests, 5);
	send_all(&s, &requests);
	close(s.out);
	cr_expect(eq(int, hear_end(&s, 5), ERR_INTERRUPTED));
	close(s.in);
	server_join(&s);
}

Test(serve, too_many_watches_are_refused)
{
	struct server s;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);

	server_start(&s);
	for (uint32_t id = 1; id <= 5; id++)
		add_watch(&requests, id);
	send_all(&s, &requests);
	cr_expect(eq(int, hear_end(&s, 5), ERR_BUSY));
	close(s.out);
	close(s.in);
	server_join(&s);
}

/* Each of the later creations finds what the earlier ones made. */
Test(serve, changes_are_done_in_the_order_in_which_they_came)
{
	struct server s;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);
	char path[2000] = "";

	server_start(&s);
	for (uint32_t id = 1; id <= 300; id++) {
		AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
		struct change c = { .op = CHANGE_MKDIR,
			.path = path,
			.mode = 0755,
			.uid = CHANGE_NO_OWNER,
			.gid = CHANGE_NO_OWNER };

		strcat(path, id == 1 ? "d" : "/d");
		wire_put_apply(
			&payload, &(struct apply_request){ .changes = &c, .changes_count = 1 });
		add_frame(&requests, FRAME_APPLY, id, &payload);
	}
	send_all(&s, &requests);
	cr_expect(eq(int, hear_end(&s, 300), ERR_OK));
	cr_expect(faccessat(s.room.scratch.fd, path, F_OK, 0) == 0);
	close(s.out);
	close(s.in);
	server_join(&s);
}

Test(serve, changes_asked_for_are_done_though_nobody_listens_any_more)
{
	struct server s;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);
	char name[20];

	signal(SIGPIPE, SIG_DFL);
	server_start(&s);
	close(s.in);
	for (uint32_t id = 1; id <= 50; id++) {
		snprintf(name, sizeof name, "f%u", id);
		add_create(&requests, id, name);
	}
	send_all(&s, &requests);
	close(s.out);
	pthread_join(s.thread, NULL);
	cr_expect(eq(int, s.kind, ERR_OK));
	cr_expect(faccessat(s.room.scratch.fd, "f50", F_OK, 0) == 0);
	room_close(&s.room);
}

Test(serve, an_id_that_is_in_work_ends_the_stream)
{
	struct server s;
	AUTO_BUF struct buf requests = BUF_INIT(WIRE_REQUEST_MAX);

	server_start(&s);
	add_watch(&requests, 5);
	add_list(&requests, 5);
	send_all(&s, &requests);
	cr_expect(eq(int, hear_end(&s, 0), ERR_PROTOCOL));
	close(s.out);
	close(s.in);
	server_join(&s);
	cr_expect(eq(int, s.kind, ERR_PROTOCOL));
}
