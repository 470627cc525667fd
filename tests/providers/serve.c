#include "providers/helper/serve.h"

#include "providers/base/base64.h"
#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/helper/stream.h"
#include "providers/helper/wire.h"
#include "tests/support/changes.h"
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

#define MIB ((size_t)1024 * 1024)

/* ---- Requests, and the answers of one shot ---- */

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
	struct change c = CHANGE(CREATE, path, .flags = CHANGE_EXCL, .mode = 0644);

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

static struct room {
	struct scratch scratch;
	struct root root;
} room;

/* The requests, and the answers; `at`: how far the answers were read. */
static struct buf requests = BUF_INIT(2 * (size_t)WIRE_REQUEST_MAX),
		  answers = BUF_INIT(WIRE_REQUEST_MAX);
static size_t at;

static void room_open(void)
{
	struct error e = { 0 };

	scratch_make(&room.scratch);
	root_open(&room.root, room.scratch.path, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void room_close(void)
{
	root_close(&room.root);
	scratch_remove(&room.scratch);
	buf_release(&requests);
	buf_release(&answers);
}

TestSuite(serve, .init = room_open, .fini = room_close, .timeout = 300);

/* Serves `requests` in one shot; the output is in `answers`. */
static enum err shoot(bool is_armoured, struct error *e)
{
	AUTO_CLOSE int out = memfd_create("answers", MFD_CLOEXEC);
	struct serve_options options = { .root = &room.root,
		.in_fd = -1,
		.bytes = requests.bytes,
		.len = requests.len,
		.out_fd = out,
		.is_once = true,
		.is_armoured = is_armoured };
	enum err kind = serve(&options, e);
	off_t len = lseek(out, 0, SEEK_END);

	cr_assert(pread(out, buf_reserve(&answers, (size_t)len), (size_t)len, 0) == len);
	buf_filled(&answers, (size_t)len);
	return kind;
}

/* Takes the first frame of `answers`; its payload stays valid until the next. */
static struct frame next_frame(struct buf *payload)
{
	struct frame f = { 0 };

	cr_assert(answers.len >= at + FRAME_HEADER_SIZE);
	cr_assert(eq(int, frame_decode(answers.bytes + at, &f, NULL), ERR_OK));
	at += FRAME_HEADER_SIZE;
	cr_assert(answers.len >= at + f.len);
	buf_reset(payload);
	buf_add(payload, answers.bytes + at, f.len);
	at += f.len;
	return f;
}

/* Skips to the end of request `id`, which must be the next to end, and gives its result. */
static enum err next_end(uint32_t id, struct error *e)
{
	AUTO_BUF struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct frame f;

	do {
		f = next_frame(&payload);
		cr_expect(eq(u32, f.id, id));
	} while (f.type != FRAME_END);
	return wire_get_end(&payload, e);
}

Test(serve, one_shot_answers_every_request_in_order)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct error e = { 0 };

	add_hello(&requests, 1);
	add_create(&requests, 9, "made");
	add_list(&requests, 2);
	cr_expect(eq(int, shoot(false, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, next_end(1, NULL), ERR_OK));
	cr_expect(eq(int, next_end(9, NULL), ERR_OK));
	next_frame(&payload);
	cr_expect(memmem(payload.bytes, payload.len, "made", 5) != NULL);
	cr_expect(eq(int, next_end(2, NULL), ERR_OK));
	cr_expect(eq(sz, at, answers.len));
}

Test(serve, one_shot_refuses_to_watch_and_goes_on)
{
	add_watch(&requests, 1);
	add_hello(&requests, 2);
	cr_expect(eq(int, shoot(false, NULL), ERR_OK));
	cr_expect(eq(int, next_end(1, NULL), ERR_UNSUPPORTED));
	cr_expect(eq(int, next_end(2, NULL), ERR_OK));
}

Test(serve, armoured_answers_are_lines_that_say_the_same)
{
	AUTO_BUF struct buf text = BUF_INIT(WIRE_REQUEST_MAX);

	for (uint32_t id = 1; id < 100; id++)
		add_list(&requests, id);
	cr_expect(eq(int, shoot(true, NULL), ERR_OK));
	buf_add(&text, answers.bytes, answers.len);
	buf_reset(&answers);
	for (const char *line = buf_text(&text), *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		cr_assert(end != NULL && end - line <= 1024);
		cr_assert(
			eq(int, base64_decode(&answers, line, (size_t)(end - line), NULL), ERR_OK));
	}
	for (uint32_t id = 1; id < 100; id++)
		cr_expect(eq(int, next_end(id, NULL), ERR_OK));
}

Test(serve, a_request_in_pieces_is_one_and_a_cancelled_one_none)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct buf half;

	put_create(&payload, "whole");
	half = (struct buf){ .bytes = payload.bytes, .len = payload.len / 2 };
	add_frame(&requests, FRAME_MORE, 1, &half);
	add_frame(&requests, FRAME_CANCEL, 1, NULL);
	add_frame(&requests, FRAME_MORE, 2, &half);
	half.bytes += half.len;
	half.len = payload.len - half.len;
	add_frame(&requests, FRAME_MORE, 2, NULL);
	add_frame(&requests, FRAME_APPLY, 2, &half);
	cr_expect(eq(int, shoot(false, NULL), ERR_OK));
	cr_expect(eq(int, next_end(2, NULL), ERR_OK));
	cr_expect(eq(sz, at, answers.len));
	cr_expect(faccessat(room.scratch.fd, "whole", F_OK, 0) == 0);
}

Test(serve, a_whole_request_may_come_between_the_pieces_of_another)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct buf half;

	put_create(&payload, "whole");
	half = (struct buf){ .bytes = payload.bytes, .len = payload.len / 2 };
	add_frame(&requests, FRAME_MORE, 1, &half);
	add_hello(&requests, 2);
	half.bytes += half.len;
	half.len = payload.len - half.len;
	add_frame(&requests, FRAME_APPLY, 1, &half);
	cr_expect(eq(int, shoot(false, NULL), ERR_OK));
	cr_expect(eq(int, next_end(2, NULL), ERR_OK));
	cr_expect(eq(int, next_end(1, NULL), ERR_OK));
	cr_expect(faccessat(room.scratch.fd, "whole", F_OK, 0) == 0);
}

Test(serve, a_request_that_makes_no_sense_fails_alone)
{
	AUTO_BUF struct buf nonsense = BUF_INIT(100);

	buf_add_string(&nonsense, "nonsense");
	for (enum frame_type type = FRAME_HELLO; type <= FRAME_APPLY; type++)
		add_frame(&requests, type, type, &nonsense);
	add_hello(&requests, 100);
	cr_expect(eq(int, shoot(false, NULL), ERR_OK));
	for (enum frame_type type = FRAME_HELLO; type <= FRAME_APPLY; type++)
		cr_expect(eq(int, next_end(type, NULL), ERR_PROTOCOL));
	cr_expect(eq(int, next_end(100, NULL), ERR_OK));
}

Test(serve, a_limit_on_file_sizes_is_an_error_and_no_signal)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct change c = CHANGE(WRITE, "f", .offset = MIB, TEXT("x"));
	struct change_result result;
	size_t in_frame = 0;

	scratch_write_text(&room.scratch, "f", "");
	wire_put_apply(&payload, &(struct apply_request){ .changes = &c, .changes_count = 1 });
	add_frame(&requests, FRAME_APPLY, 1, &payload);
	signal(SIGXFSZ, SIG_DFL);
	cr_assert(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ MIB, RLIM_INFINITY }) == 0);
	cr_expect(eq(int, shoot(false, NULL), ERR_OK));
	next_frame(&payload);
	cr_expect(eq(int, wire_get_change_result(&payload, &in_frame, &result, NULL), ERR_OK));
	cr_expect(eq(int, result.err, ERR_TOO_LARGE));
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
	add_frame(out, FRAME_MORE, 2, NULL);
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
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
		struct error e = { 0 };

		buf_reset(&requests);
		buf_reset(&answers);
		at = 0;
		streams[i].put(&requests);
		cr_expect(eq(int, shoot(false, &e), streams[i].kind));
		cr_expect(e.text[0] != 0);
		cr_expect(eq(int, next_end(0, NULL), streams[i].kind), "%zu", i);
	}
}

/* ---- Serving on ---- */

static struct server {
	int in, out;        /* the client's ends */
	int from_fd, to_fd; /* the server's */
	pthread_t thread;
	enum err kind;
} server;

static void *run(void *context)
{
	(void)context;
	server.kind = serve(
		&(struct serve_options){
			.root = &room.root, .in_fd = server.from_fd, .out_fd = server.to_fd },
		NULL);
	close(server.from_fd);
	close(server.to_fd);
	return NULL;
}

static void server_start(void)
{
	int there[2], back[2];

	cr_assert(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
	server.from_fd = there[0];
	server.out = there[1];
	server.in = back[0];
	server.to_fd = back[1];
	cr_assert(pthread_create(&server.thread, NULL, run, NULL) == 0);
}

static void server_end(void)
{
	close(server.out);
	close(server.in);
	pthread_join(server.thread, NULL);
}

static void send_all(void)
{
	for (size_t sent = 0; sent < requests.len;) {
		ssize_t n = write(server.out, requests.bytes + sent, requests.len - sent);

		cr_assert(n > 0);
		sent += (size_t)n;
	}
}

static void read_whole(struct buf *out, size_t len)
{
	buf_reset(out);
	while (out->len < len) {
		ssize_t n = read(server.in, buf_reserve(out, len - out->len), len - out->len);

		cr_assert(n > 0);
		buf_filled(out, (size_t)n);
	}
}

static struct frame receive_frame(struct buf *payload)
{
	AUTO_BUF struct buf header = BUF_INIT(FRAME_HEADER_SIZE);
	struct frame f;

	read_whole(&header, FRAME_HEADER_SIZE);
	cr_assert(eq(int, frame_decode(header.bytes, &f, NULL), ERR_OK));
	read_whole(payload, f.len);
	return f;
}

/* Reads frames until the end of `id`. */
static enum err receive_end(uint32_t id)
{
	AUTO_BUF struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct frame f;

	do
		f = receive_frame(&payload);
	while (f.type != FRAME_END || f.id != id);
	return wire_get_end(&payload, NULL);
}

static void report(size_t bytes)
{
	AUTO_BUF struct buf payload = BUF_INIT(sizeof(uint32_t));

	buf_reset(&requests);
	wire_put_received(&payload, (uint32_t)bytes);
	add_frame(&requests, FRAME_RECEIVED, 0, &payload);
	send_all();
}

static void add_fetch(struct buf *out, uint32_t id, const char *path)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_fetch(&payload,
		&(struct fetch_item){ .kind = FETCH_BYTES, .path = path, .length = UINT64_MAX }, 1);
	add_frame(out, FRAME_FETCH, id, &payload);
}

static void *send_large(void *outlet)
{
	AUTO_BUF struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);

	memset(buf_reserve(&payload, 100000), 0, 100000);
	buf_filled(&payload, 100000);
	outlet_send(outlet, FRAME_ITEMS, 1, &payload, NULL);
	return NULL;
}

/* The window is full, and stays so. */
Test(serve, small_answers_leave_a_large_one_its_turn)
{
	AUTO_CLOSE int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	AUTO_BUF struct buf payload = BUF_INIT(10000);
	struct outlet out;
	pthread_t thread;

	outlet_init(&out, fd, false, true);
	outlet_note_received(&out, 0);
	send_large(&out);
	memset(buf_reserve(&payload, 10000), 0, 10000);
	buf_filled(&payload, 10000);
	cr_assert(pthread_create(&thread, NULL, send_large, &out) == 0);
	for (int i = 0; i < 7; i++)
		cr_expect(eq(int, outlet_send(&out, FRAME_ITEMS, 2, &payload, NULL), ERR_OK));
	pthread_join(thread, NULL);
	outlet_release(&out);
}

/* More requests than jobs: the reports stand behind a request that waits for a job to end. */
Test(serve, many_large_answers_leave_though_requests_wait_before_the_reports)
{
	AUTO_BUF struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
	static char bytes[256 * 1024];
	uint32_t left = 100;

	scratch_write(&room.scratch, "f", bytes, sizeof bytes);
	server_start();
	report(0);
	buf_reset(&requests);
	for (uint32_t id = 1; id <= left; id++)
		add_fetch(&requests, id, "f");
	send_all();
	while (left) {
		struct frame f = receive_frame(&payload);

		report(FRAME_HEADER_SIZE + f.len);
		left -= f.type == FRAME_END;
	}
	server_end();
	cr_expect(eq(int, server.kind, ERR_OK));
}

Test(serve, a_watch_ends_when_it_is_cancelled)
{
	server_start();
	add_watch(&requests, 5);
	add_list(&requests, 6);
	add_frame(&requests, FRAME_CANCEL, 5, NULL);
	send_all();
	cr_expect(eq(int, receive_end(5), ERR_INTERRUPTED));
	server_end();
	cr_expect(eq(int, server.kind, ERR_OK));
}

Test(serve, the_end_of_the_requests_ends_a_watch)
{
	server_start();
	add_watch(&requests, 5);
	send_all();
	close(server.out);
	server.out = -1;
	cr_expect(eq(int, receive_end(5), ERR_INTERRUPTED));
	server_end();
}

Test(serve, too_many_watches_are_refused)
{
	server_start();
	for (uint32_t id = 1; id <= 5; id++)
		add_watch(&requests, id);
	send_all();
	cr_expect(eq(int, receive_end(5), ERR_BUSY));
	server_end();
}

/* Each of the later creations finds what the earlier ones made. */
Test(serve, changes_are_done_in_the_order_in_which_they_came)
{
	char path[2000] = "";

	server_start();
	for (uint32_t id = 1; id <= 300; id++) {
		AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
		struct change c = CHANGE(MKDIR, path, .mode = 0755);

		strcat(path, id == 1 ? "d" : "/d");
		wire_put_apply(
			&payload, &(struct apply_request){ .changes = &c, .changes_count = 1 });
		add_frame(&requests, FRAME_APPLY, id, &payload);
	}
	send_all();
	cr_expect(eq(int, receive_end(300), ERR_OK));
	cr_expect(faccessat(room.scratch.fd, path, F_OK, 0) == 0);
	server_end();
}

Test(serve, changes_asked_for_are_done_though_nobody_listens_any_more)
{
	char name[20];

	signal(SIGPIPE, SIG_DFL);
	server_start();
	close(server.in);
	for (uint32_t id = 1; id <= 50; id++) {
		snprintf(name, sizeof name, "f%u", id);
		add_create(&requests, id, name);
	}
	send_all();
	close(server.out);
	pthread_join(server.thread, NULL);
	cr_expect(eq(int, server.kind, ERR_OK));
	cr_expect(faccessat(room.scratch.fd, "f50", F_OK, 0) == 0);
}

Test(serve, an_id_that_is_in_work_ends_the_stream)
{
	server_start();
	add_watch(&requests, 5);
	add_list(&requests, 5);
	send_all();
	cr_expect(eq(int, receive_end(0), ERR_PROTOCOL));
	server_end();
	cr_expect(eq(int, server.kind, ERR_PROTOCOL));
}
