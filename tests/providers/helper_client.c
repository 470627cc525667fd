#include "providers/client/client.h"

#include "providers/base/cleanup.h"
#include "providers/helper/serve.h"
#include "tests/support/changes.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MIB          ((size_t)1024 * 1024)

/* ---- A client and, in a thread at the other end of two pipes, a player of the helper ---- */

static struct scene {
	struct helper_client *client;
	int in, out; /* the helper's ends */
	pthread_t thread;
	bool has_left; /* the thread has ended, and been joined */
	void (*play)(void);
	struct root root;
	struct scratch scratch;
	struct cancel cancel; /* for tests that need one */
	atomic_int seen;      /* a player's result */
	uint64_t told;        /* the bytes that a caller was told of */
	int sign_ms;          /* the pause between two signs of life */
} scene;

static void *run_player(void *context)
{
	sigset_t gone;

	(void)context;
	sigemptyset(&gone);
	sigaddset(&gone, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &gone, NULL);
	scene.play();
	close(scene.in);
	close(scene.out);
	return NULL;
}

/*
 * On a busy machine the player may have its turn late. A suite's time-out ends a test that lasts
 * for ever.
 */
static const struct call patient = { .progress_ms = -1 };

/* Starts the player and exchanges the hello. */
static enum err scene_open(void (*play)(void), struct error *e)
{
	int there[2], back[2];

	cr_assert(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
	scene.play = play;
	scene.has_left = false;
	scene.in = there[0];
	scene.out = back[1];
	cr_assert(cancel_init(&scene.cancel, NULL) == ERR_OK);
	cr_assert(pthread_create(&scene.thread, NULL, run_player, NULL) == 0);
	return helper_client_new(&scene.client, there[1], back[0], &patient, e);
}

/* ---- The real helper on a directory of its own ---- */

static void play_helper(void)
{
	serve(
		&(struct serve_options){
			.root = &scene.root, .in_fd = scene.in, .out_fd = scene.out },
		NULL);
}

static void served_open(void)
{
	struct error e = { 0 };

	scratch_make(&scene.scratch);
	root_open(&scene.root, scene.scratch.path, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	scene_open(play_helper, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void await_leaving(void)
{
	if (!scene.has_left)
		pthread_join(scene.thread, NULL);
	scene.has_left = true;
}

static void scene_close(void)
{
	helper_client_free(scene.client);
	await_leaving();
	cancel_release(&scene.cancel);
	if (scene.scratch.path[0]) {
		root_close(&scene.root);
		scratch_remove(&scene.scratch);
	}
}

TestSuite(helper_client, .fini = scene_close, .timeout = 300);

/* ---- Short words for the verbs ---- */

static enum err apply(
	const struct call *call, const struct change *changes, size_t count, struct error *e)
{
	/* The last one is behind those of the request. */
	AUTO_FREE struct change_result *results = calloc(count + 1, sizeof *results);
	struct apply_request request = { .changes = changes, .changes_count = count };
	enum err kind = helper_client_apply(scene.client, call, &request, results, e);

	cr_expect(not(results[count].has_attr), "a result behind those of the request");
	for (size_t i = 0; i < count && kind == ERR_OK; i++)
		if (results[i].err != ERR_OK)
			kind = error_set(e, results[i].err, "%s", results[i].why);
	return kind;
}

static enum err make_file(const char *path, const void *bytes, size_t len)
{
	struct change changes[64] = {
		CHANGE_ROW(CREATE, path, .mode = 0644),
	};
	size_t count = 1;
	struct error e = { 0 };

	for (size_t at = 0; at < len; at += MIB)
		changes[count++] =
			CHANGE(WRITE, path, .offset = at, .data = (const char *)bytes + at,
				.data_len = len - at < MIB ? len - at : MIB);
	apply(&patient, changes, count, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	return e.kind;
}

static enum err add_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	if (piece->kind == FETCH_DATA)
		buf_add(context, piece->bytes, piece->len);
	else if (piece->err != ERR_OK)
		return error_set(e, piece->err, "%s", piece->why);
	return ERR_OK;
}

static enum err fetch(const struct call *call, const char *path, struct buf *out, struct error *e)
{
	struct fetch_item item = { .kind = FETCH_BYTES, .path = path, .length = UINT64_MAX };

	return helper_client_fetch(scene.client, call, &item, 1, add_piece, out, e);
}

static enum err count_item(void *context, const struct list_item *item, struct error *e)
{
	(void)e;
	*(size_t *)context += item->kind == LIST_ENTRY;
	return ERR_OK;
}

static enum err list(const struct call *call, size_t *entries, struct error *e)
{
	const char *const root[] = { "" };
	struct list_request request = { .starts = root, .starts_count = 1, .depth = 1 };

	*entries = 0;
	return helper_client_list(scene.client, call, &request, count_item, entries, e);
}

/* ---- With the real helper ---- */

Test(helper_client, says_hello)
{
	const struct hello *hello;

	served_open();
	hello = helper_client_hello(scene.client);
	cr_expect(eq(u32, hello->version, WIRE_VERSION));
	cr_expect(eq(u32, hello->identity.uid, geteuid()));
	cr_expect(not(hello->has_staging));
	cr_expect(hello->root.now.tv_sec > 1700000000);
	cr_expect(hello->root.attr.mode >> 12 == S_IFDIR >> 12 && hello->root.space.blocks);
}

struct worker {
	pthread_t thread;
	int number;
	bool is_good;
};

#define WORKERS 16
#define ROUNDS  8

/* Some of these requests span frames, and some answers. */
static void *work(void *context)
{
	struct worker *w = context;
	size_t len = w->number % 4 ? 1000 * (size_t)(w->number + 1) : 5 * MIB;
	AUTO_FREE unsigned char *bytes = malloc(len);
	AUTO_BUF struct buf got = BUF_INIT(5 * MIB);
	char path[32];

	w->is_good = true;
	snprintf(path, sizeof path, "w%d", w->number);
	for (int round = 0; round < ROUNDS && w->is_good; round++) {
		memset(bytes, w->number * 16 + round, len);
		buf_reset(&got);
		w->is_good = make_file(path, bytes, len) == ERR_OK &&
			fetch(&patient, path, &got, NULL) == ERR_OK && got.len == len &&
			memcmp(got.bytes, bytes, len) == 0;
	}
	return NULL;
}

Test(helper_client, many_threads_at_once_each_get_their_own_answer)
{
	struct worker workers[WORKERS];
	size_t entries;

	served_open();
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .number = i };
		cr_assert(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
	}
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		cr_expect(workers[i].is_good, "thread %d", i);
	}
	cr_expect(eq(int, list(&patient, &entries, NULL), ERR_OK));
	cr_expect(eq(sz, entries, WORKERS));
}

/* A batch larger than the limit is the caller's mistake, and costs the stream nothing. */
Test(helper_client, a_batch_over_the_limit_is_refused_before_it_is_sent)
{
	AUTO_FREE unsigned char *bytes = calloc(1, MIB);
	struct change changes[65];
	size_t entries;

	for (size_t i = 0; i < COUNT(changes); i++)
		changes[i] = CHANGE(WRITE, "f", .data = bytes, .data_len = MIB);
	served_open();
	cr_expect(eq(int, apply(&patient, changes, COUNT(changes), NULL), ERR_TOO_LARGE));
	cr_expect(eq(int, list(&patient, &entries, NULL), ERR_OK));
}

/* ---- With helpers that misbehave ---- */

static bool read_full(int fd, void *dst, size_t len)
{
	for (size_t got = 0; got < len;) {
		ssize_t n = read(fd, (char *)dst + got, len - got);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static bool receive_any(struct frame *f, struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];

	buf_reset(payload);
	if (!read_full(scene.in, header, sizeof header) || frame_decode(header, f, NULL) != ERR_OK)
		return false;
	if (!read_full(scene.in, buf_reserve(payload, f->len), f->len))
		return false;
	buf_filled(payload, f->len);
	return true;
}

/* The next request's frame and its payload; false at the end of the stream. */
static bool receive(struct frame *f, struct buf *payload)
{
	do
		if (!receive_any(f, payload))
			return false;
	while (f->type == FRAME_RECEIVED);
	return true;
}

/* A client that refused an earlier answer may have gone already. */
static void put(const void *bytes, size_t len)
{
	cr_expect(write(scene.out, bytes, len) == (ssize_t)len || errno == EPIPE);
}

static void say(enum frame_type type, uint32_t id, const struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];
	uint32_t len = payload ? (uint32_t)payload->len : 0;

	frame_encode(header, &(struct frame){ type, id, len });
	put(header, sizeof header);
	if (len)
		put(payload->bytes, len);
}

static void say_end(uint32_t id, enum err kind, const char *text)
{
	AUTO_BUF struct buf end = BUF_INIT(1000);

	wire_put_end(&end, kind, text);
	say(FRAME_END, id, &end);
}

static void answer_hello(uint32_t version)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	cr_assert(receive(&f, &payload));
	buf_reset(&payload);
	wire_put_hello(&payload,
		&(struct hello){ .version = version,
			.root = { { .ino = 2, .mode = S_IFDIR | 0755 }, { .block_size = 4096 },
				{ 0 } } });
	say(FRAME_ITEMS, f.id, &payload);
	say_end(f.id, ERR_OK, "");
}

/* The first request behind the hello. */
static struct frame receive_request(void)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(WIRE_VERSION);
	cr_assert(receive(&f, &payload));
	return f;
}

static void wait_for_end(void)
{
	char dropped[4096];

	while (read(scene.in, dropped, sizeof dropped) > 0)
		;
}

static void play_silence(void)
{
	answer_hello(WIRE_VERSION);
	wait_for_end();
}

static const struct call hasty = { .progress_ms = 200 };

Test(helper_client, a_helper_that_stalls_is_a_timeout_at_the_deadline)
{
	size_t entries;
	int64_t before_ms;

	cr_assert(eq(int, scene_open(play_silence, NULL), ERR_OK));
	for (int i = 0; i < 2; i++) {
		before_ms = monotonic_ms();
		cr_expect(eq(int, list(&hasty, &entries, NULL), ERR_TIMEOUT));
		cr_expect(ge(i64, monotonic_ms() - before_ms, 200));
	}
}

/* Reads nothing more, so that the pipe fills up. */
static void play_deafness(void)
{
	struct pollfd p = { .fd = scene.cancel.fd, .events = POLLIN };

	answer_hello(WIRE_VERSION);
	poll(&p, 1, 60000);
}

Test(helper_client, a_helper_that_reads_nothing_is_a_timeout_too)
{
	AUTO_FREE unsigned char *bytes = calloc(1, MIB);
	struct change change = CHANGE(WRITE, "f", .data = bytes, .data_len = MIB);

	cr_assert(eq(int, scene_open(play_deafness, NULL), ERR_OK));
	for (int i = 0; i < 3; i++)
		cr_expect(eq(int, apply(&hasty, &change, 1, NULL), ERR_TIMEOUT));
	cancel_throw(&scene.cancel);
}

/* The number of signs. The deadline is less than all pauses, and far more than each. */
#define SIGNS          32
#define DEADLINE_SIGNS 30
#define SIGN_MAX_MS    1600

static void play_signs_of_life(void)
{
	struct frame f = receive_request();

	for (int i = 0; i < SIGNS; i++) {
		poll(NULL, 0, scene.sign_ms);
		say(FRAME_ITEMS, f.id, NULL);
	}
	say_end(f.id, ERR_BUSY, "at last");
	wait_for_end();
}

/*
 * A machine that stands still for a whole deadline proves nothing: the test runs again with a
 * longer one.
 */
Test(helper_client, signs_of_life_put_the_deadline_off)
{
	size_t entries;
	enum err kind = ERR_TIMEOUT;

	for (int ms = 100; kind == ERR_TIMEOUT && ms <= SIGN_MAX_MS; ms *= 2) {
		const struct call call = { .progress_ms = (int64_t)DEADLINE_SIGNS * ms };

		if (scene.sign_ms)
			scene_close();
		scene.sign_ms = ms;
		cr_assert(eq(int, scene_open(play_signs_of_life, NULL), ERR_OK));
		kind = list(&call, &entries, NULL);
	}
	cr_expect(eq(int, kind, ERR_BUSY));
}

/* Cancels the first request when it has come; answers it late, and the second rightly. */
static void play_cancelled(void)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame first = receive_request(), f;

	cancel_throw(&scene.cancel);
	cr_assert(receive(&f, &payload));
	scene.seen = f.type == FRAME_CANCEL && f.id == first.id;
	cr_assert(receive(&f, &payload));
	say_end(first.id, ERR_IO, "too late");
	say_end(f.id, ERR_BUSY, "in time");
	wait_for_end();
}

Test(helper_client, a_cancelled_call_returns_and_its_late_answer_is_nobodys)
{
	size_t entries;
	struct error e;

	cr_assert(eq(int, scene_open(play_cancelled, NULL), ERR_OK));
	list(&(struct call){ .cancel = &scene.cancel }, &entries, &e);
	cr_expect(eq(int, e.kind, ERR_INTERRUPTED));
	list(&patient, &entries, &e);
	cr_expect(e.kind == ERR_BUSY && strcmp(e.text, "in time") == 0, "%s", e.text);
	cr_expect(eq(int, scene.seen, 1));
}

/* Lets the first piece of a request through, then waits for the cancel, then reads on. */
static void play_cancelled_halfway(void)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame first = receive_request(), f;

	cancel_throw(&scene.cancel);
	do
		cr_assert(receive(&f, &payload));
	while (f.type == FRAME_MORE);
	scene.seen = first.type == FRAME_MORE && f.type == FRAME_CANCEL && f.id == first.id;
	cr_assert(receive(&f, &payload));
	say_end(f.id, ERR_BUSY, "next");
	wait_for_end();
}

Test(helper_client, a_call_cancelled_while_it_is_sent_ends_at_a_frame)
{
	AUTO_FREE unsigned char *bytes = calloc(1, MIB);
	struct change changes[40];
	size_t entries;
	enum err kind;

	for (size_t i = 0; i < COUNT(changes); i++)
		changes[i] = CHANGE(WRITE, "f", .data = bytes, .data_len = MIB);
	cr_assert(eq(int, scene_open(play_cancelled_halfway, NULL), ERR_OK));
	kind = apply(&(struct call){ .cancel = &scene.cancel }, changes, COUNT(changes), NULL);
	cr_expect(eq(int, kind, ERR_INTERRUPTED));
	cr_expect(eq(int, list(&patient, &entries, NULL), ERR_BUSY));
	cr_expect(eq(int, scene.seen, 1));
}

/* Receives a request in pieces; answers another between them, and only then reports what came. */
static void play_overtaken(void)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX), report = BUF_INIT(100);
	struct frame large = receive_request(), f = large;
	uint32_t received = FRAME_HEADER_SIZE + large.len;

	cancel_throw(&scene.cancel);
	for (;;) {
		cr_assert(receive(&f, &payload));
		received += FRAME_HEADER_SIZE + f.len;
		if (f.id != large.id)
			break;
	}
	scene.seen = large.type == FRAME_MORE && received < MIB;
	say_end(f.id, ERR_BUSY, "overtook");
	do {
		buf_reset(&report);
		wire_put_received(&report, received);
		say(FRAME_RECEIVED, 0, &report);
		cr_assert(receive(&f, &payload));
		received = FRAME_HEADER_SIZE + f.len;
	} while (f.type == FRAME_MORE);
	say_end(f.id, ERR_IO, "whole");
	wait_for_end();
}

static void *apply_much(void *context)
{
	AUTO_FREE unsigned char *bytes = calloc(1, MIB);
	struct change changes[3];
	enum err *kind = context;
	struct progress progress = progress_now();
	const struct call call = { .progress_ms = -1, .progress = &progress };

	for (size_t i = 0; i < COUNT(changes); i++)
		changes[i] = CHANGE(WRITE, "f", .data = bytes, .data_len = MIB);
	*kind = apply(&call, changes, COUNT(changes), NULL);
	scene.told = progress.sent;
	return NULL;
}

Test(helper_client, a_small_request_does_not_wait_for_a_large_one)
{
	struct pollfd begun = { .events = POLLIN };
	enum err kind = ERR_OK;
	pthread_t thread;
	size_t entries;

	cr_assert(eq(int, scene_open(play_overtaken, NULL), ERR_OK));
	cr_assert(pthread_create(&thread, NULL, apply_much, &kind) == 0);
	begun.fd = scene.cancel.fd;
	cr_assert(eq(int, poll(&begun, 1, -1), 1));
	cr_expect(eq(int, list(&patient, &entries, NULL), ERR_BUSY));
	pthread_join(thread, NULL);
	cr_expect(eq(int, kind, ERR_IO));
	cr_expect(eq(int, scene.seen, 1));
	cr_expect(scene.told >= 3 * MIB, "the caller is told of all bytes that left");
}

/* Frames of a request that nobody waits for. */
static void say_much(size_t bytes)
{
	AUTO_BUF struct buf payload = BUF_INIT(MIB);

	memset(buf_reserve(&payload, bytes), 0, bytes);
	buf_filled(&payload, bytes);
	say(FRAME_ITEMS, 1000, &payload);
}

static void wait_until_read(void)
{
	for (int unread = 1; unread; poll(NULL, 0, 1))
		cr_assert(ioctl(scene.out, FIONREAD, &unread) == 0);
}

/* Reads nothing, so that a report stays in the queue while more comes; then wants all reports. */
static void play_late_reader(void)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct pollfd begun = { .fd = scene.in, .events = POLLIN };
	const size_t pieces = 3, len = 40000;
	struct frame f = { 0 };
	uint32_t reported = 0, bytes;

	answer_hello(WIRE_VERSION);
	cr_assert(eq(int, poll(&begun, 1, -1), 1));
	for (size_t i = 0; i < pieces; i++) {
		say_much(len);
		wait_until_read();
	}
	while (reported < pieces * len - RECEIVED_BYTES) {
		cr_assert(receive_any(&f, &payload));
		if (f.type != FRAME_RECEIVED)
			continue;
		cr_assert(eq(int, wire_get_received(&payload, &bytes, NULL), ERR_OK));
		reported += bytes;
	}
	close(scene.out);
	scene.out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	wait_for_end();
}

Test(helper_client, what_comes_while_a_report_waits_is_reported_too)
{
	enum err kind = ERR_OK;

	cr_assert(eq(int, scene_open(play_late_reader, NULL), ERR_OK));
	apply_much(&kind);
	cr_expect(eq(int, kind, ERR_UNREACHABLE));
}

static void play_false_report(void)
{
	AUTO_BUF struct buf report = BUF_INIT(100);

	receive_request();
	wire_put_received(&report, 1000000);
	say(FRAME_RECEIVED, 0, &report);
	wait_for_end();
}

Test(helper_client, a_report_of_more_than_was_sent_breaks_the_stream)
{
	size_t entries;

	cr_assert(eq(int, scene_open(play_false_report, NULL), ERR_OK));
	cr_expect(eq(int, list(&patient, &entries, NULL), ERR_PROTOCOL));
}

static void play_cut_frame(void)
{
	struct frame f = receive_request();
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, &(struct frame){ FRAME_ITEMS, f.id, 1000 });
	cr_expect(write(scene.out, header, sizeof header) == sizeof header);
	cr_expect(write(scene.out, header, 10) == 10);
}

static void play_cut_header(void)
{
	receive_request();
	cr_expect(write(scene.out, "SbX", 3) == 3);
}

static void play_garbage(void)
{
	receive_request();
	cr_expect(write(scene.out, "bash: sandboxfs-helper: not found\n", 34) == 34);
	wait_for_end();
}

static void play_requests(void)
{
	struct frame f = receive_request();

	say(FRAME_LIST, f.id, NULL);
	wait_for_end();
}

static void play_departure(void)
{
	answer_hello(WIRE_VERSION);
}

static void play_last_words(void)
{
	answer_hello(WIRE_VERSION);
	say_end(0, ERR_NO_MEMORY, "no room here");
	wait_for_end();
}

static const struct {
	void (*play)(void);
	enum err kind;
	const char *says;
} breaks[] = {
	{ play_cut_frame, ERR_UNREACHABLE, "cut off" },
	{ play_cut_header, ERR_UNREACHABLE, "cut off" },
	{ play_garbage, ERR_PROTOCOL, "not a frame" },
	{ play_requests, ERR_PROTOCOL, "sent a request" },
	{ play_departure, ERR_UNREACHABLE, "" },
	{ play_last_words, ERR_NO_MEMORY, "no room here" },
};

Test(helper_client, a_stream_that_breaks_fails_this_call_and_all_that_follow)
{
	for (size_t i = 0; i < COUNT(breaks); i++) {
		size_t entries;
		struct error e = { 0 };

		if (i)
			scene_close();
		cr_assert(eq(int, scene_open(breaks[i].play, NULL), ERR_OK));
		for (int again = 0; again < 3; again++) {
			list(&patient, &entries, &e);
			cr_expect(eq(int, e.kind, breaks[i].kind), "%zu: %s", i, e.text);
			cr_expect(strstr(e.text, breaks[i].says) != NULL, "%zu: %s", i, e.text);
		}
	}
}

static void play_next_version(void)
{
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, &(struct frame){ FRAME_END, 0, 0 });
	header[3]++;
	cr_expect(write(scene.out, header, sizeof header) == sizeof header);
	wait_for_end();
}

static void play_false_hello(void)
{
	answer_hello(WIRE_VERSION + 1);
	wait_for_end();
}

Test(helper_client, a_helper_of_another_version_is_refused)
{
	void (*const plays[])(void) = { play_next_version, play_false_hello };

	for (size_t i = 0; i < COUNT(plays); i++) {
		struct error e = { 0 };

		if (i)
			scene_close();
		cr_expect(eq(int, scene_open(plays[i], &e), ERR_PROTOCOL), "%zu", i);
		cr_expect(strstr(e.text, "version") != NULL, "%zu: %s", i, e.text);
	}
}

Test(helper_client, a_helper_that_is_gone_raises_no_signal_here)
{
	size_t entries;

	signal(SIGPIPE, SIG_DFL);
	cr_assert(eq(int, scene_open(play_departure, NULL), ERR_OK));
	await_leaving();
	cr_expect(eq(int, list(&patient, &entries, NULL), ERR_UNREACHABLE));
}

/* ---- Well-formed answers that do not fit the request ---- */

static const struct attr some_file = { .mode = S_IFREG | 0644, .nlink = 1, .size = 10 };

/* The answers to the requests, one after the other, whatever these ask for. */
static void (*put_answer)(struct buf *out, size_t n);
static size_t answers_count;

static void play_answers(void)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(WIRE_VERSION);
	for (size_t n = 0; n < answers_count; n++) {
		do
			cr_assert(receive(&f, &payload));
		while (f.type == FRAME_CANCEL);
		buf_reset(&payload);
		put_answer(&payload, n);
		say(FRAME_ITEMS, f.id, &payload);
		say_end(f.id, ERR_OK, "");
	}
	wait_for_end();
}

static void open_for_answers(size_t count, void (*put_one)(struct buf *out, size_t n))
{
	answers_count = count;
	put_answer = put_one;
	cr_assert(eq(int, scene_open(play_answers, NULL), ERR_OK));
}

#define LIST_LIES 7

static void put_list_lie(struct buf *out, size_t lie)
{
	static const struct list_item self = { .kind = LIST_SELF, .err = ERR_NOT_FOUND };
	static const struct list_item other = {
		.kind = LIST_SELF, .start = 7, .err = ERR_NOT_FOUND
	};
	static const struct list_item entry = {
		.kind = LIST_ENTRY, .name = "n", .attr = { .ino = 7, .mode = S_IFREG }
	};
	static const struct list_item elsewhere = { .kind = LIST_DIR, .start = 1, .path = "etc" };
	static const struct list_item aside = { .kind = LIST_DIR, .path = "dx" };
	static const struct list_item dir_end = { .kind = LIST_DIR_END };
	static const struct list_item end = { .kind = LIST_END, .space.block_size = 4096 };
	static const struct list_item *const lies[LIST_LIES][4] = { { &self, &self, &end },
		{ &other, NULL, NULL }, { &self, &entry, &end }, { &self, NULL, NULL },
		{ &end, &end, NULL }, { &self, &elsewhere, &end },
		{ &self, &aside, &dir_end, &end } };

	for (int i = 0; i < 4 && lies[lie][i]; i++)
		wire_put_list_item(out, lies[lie][i]);
}

Test(helper_client, a_list_that_does_not_answer_the_request_is_refused)
{
	const char *const starts[] = { "d" };
	const struct list_request request = { .starts = starts, .starts_count = 1, .depth = 1 };
	size_t entries = 0;

	open_for_answers(LIST_LIES, put_list_lie);
	for (int lie = 0; lie < LIST_LIES; lie++)
		cr_expect(eq(int,
				  helper_client_list(scene.client, &patient, &request, count_item,
					  &entries, NULL),
				  ERR_PROTOCOL),
			"lie %d", lie);
}

/* Answers to a fetch of one range of ten bytes from 5. */
static const struct fetch_piece fetch_lies[] = {
	{ .kind = FETCH_DATA, .item = 1, .offset = 5, .bytes = "0123456789", .len = 10 },
	{ .kind = FETCH_DATA, .offset = 0, .bytes = "0123456789", .len = 10 },
	{ .kind = FETCH_DATA, .offset = 5, .bytes = "0123456789A", .len = 11 },
	/* The end without a byte, although the file has one in the range. */
	{ .kind = FETCH_DONE, .attr = { .ino = 7, .mode = S_IFREG, .size = 6, .blocks = 8 } },
	{ .kind = FETCH_DONE, .item = 1, .err = ERR_IO },
};

/* Past the last lie the answer is empty. */
static void put_fetch_lie(struct buf *out, size_t lie)
{
	static const struct fetch_piece done = { .kind = FETCH_DONE,
		.attr = { .ino = 7, .mode = S_IFREG, .size = 15 } };

	if (lie < COUNT(fetch_lies))
		wire_put_fetch_piece(out, &fetch_lies[lie]);
	/* The rest of the answer is right. */
	if (lie < COUNT(fetch_lies) && fetch_lies[lie].kind == FETCH_DATA)
		wire_put_fetch_piece(out, &done);
}

Test(helper_client, a_fetch_that_does_not_answer_the_request_is_refused)
{
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .offset = 5, .length = 10 };

	open_for_answers(COUNT(fetch_lies) + 1, put_fetch_lie);
	for (size_t lie = 0; lie <= COUNT(fetch_lies); lie++) {
		AUTO_BUF struct buf got = BUF_INIT(100);
		enum err kind = helper_client_fetch(
			scene.client, &patient, &item, 1, add_piece, &got, NULL);

		cr_expect(eq(int, kind, ERR_PROTOCOL), "lie %zu", lie);
	}
}

/* Paths of an inode that may have ten bytes: not from the beginning, too long, and twice. */
static void put_where_lie(struct buf *out, size_t lie)
{
	const struct fetch_piece path = { .kind = FETCH_DATA,
		.offset = lie == 0,
		.bytes = "0123456789A",
		.len = lie == 1 ? 11 : 2 };

	for (size_t n = 0; n < (lie == 2 ? 2 : 1); n++)
		wire_put_fetch_piece(out, &path);
	wire_put_fetch_piece(out,
		&(struct fetch_piece){ .kind = FETCH_DONE, .attr = { .ino = 7, .mode = S_IFDIR } });
}

Test(helper_client, a_path_of_an_inode_comes_whole_or_is_refused)
{
	struct fetch_item item = { .kind = FETCH_WHERE, .path = "f", .length = 10 };

	open_for_answers(4, put_where_lie);
	for (int lie = 0; lie < 4; lie++) {
		AUTO_BUF struct buf got = BUF_INIT(100);
		enum err kind = helper_client_fetch(
			scene.client, &patient, &item, 1, add_piece, &got, NULL);

		cr_expect(eq(int, kind, lie == 3 ? ERR_OK : ERR_PROTOCOL), "lie %d", lie);
	}
}

/* As of a file of /sys. */
static void put_nothing(struct buf *out, size_t ignored)
{
	(void)ignored;
	wire_put_fetch_piece(out,
		&(struct fetch_piece){
			.kind = FETCH_DONE, .attr = { .ino = 7, .mode = S_IFREG, .size = 4096 } });
}

Test(helper_client, a_file_without_blocks_may_end_before_its_size)
{
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .offset = 5, .length = 10 };
	AUTO_BUF struct buf got = BUF_INIT(100);

	open_for_answers(1, put_nothing);
	cr_expect(eq(int,
		helper_client_fetch(scene.client, &patient, &item, 1, add_piece, &got, NULL),
		ERR_OK));
}

/* 0, 1 and 3 results for two changes. */
static void put_results(struct buf *out, size_t lie)
{
	const struct change_result result = { .has_attr = true, .attr = some_file };
	static const int counts[] = { 0, 1, 3 };

	for (int i = 0; i < counts[lie]; i++)
		wire_put_change_result(out, &result);
}

Test(helper_client, results_that_are_not_one_for_each_change_are_refused)
{
	struct change changes[2] = { CHANGE_ROW(UNLINK, "a"), CHANGE_ROW(UNLINK, "b") };

	open_for_answers(3, put_results);
	for (int lie = 0; lie < 3; lie++)
		cr_expect(eq(int, apply(&patient, changes, 2, NULL), ERR_PROTOCOL), "lie %d", lie);
}

static void play_unasked_item(void)
{
	static const struct list_item end = { .kind = LIST_END, .space.block_size = 4096 };
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f = receive_request();

	wire_put_watch_event(&payload, &(struct watch_event){ .kind = WATCH_ITEM, .item = &end });
	say(FRAME_ITEMS, f.id, &payload);
	wait_for_end();
}

/*
 * Output from an offset that was sent before, and output behind the end; then the right answer, for
 * which the caller waits, so that no answer goes to a closed client.
 */
static void put_command_lie(struct buf *payload, size_t n)
{
	static const struct command_piece out = {
		.kind = COMMAND_OUT, .next = 2, .bytes = "x", .len = 1
	};
	static const struct command_piece end = { .kind = COMMAND_ENDED, .next = 3 };
	static const struct command_piece *const pieces[][3] = { { &out, &out, &end },
		{ &out, &end, &end }, { &out, &end, NULL } };

	for (int i = 0; i < 3 && pieces[n][i]; i++)
		wire_put_command_piece(payload, pieces[n][i]);
}

static enum err ignore_event(void *context, const struct watch_event *event, struct error *e)
{
	(void)context, (void)event, (void)e;
	return ERR_OK;
}

static enum err take_any_piece(void *context, const struct command_piece *piece, struct error *e)
{
	(void)context, (void)piece, (void)e;
	return ERR_OK;
}

Test(helper_client, a_commands_output_that_goes_back_is_refused)
{
	const struct command_request request = {
		.marker = "0123456789abcdef0123456789abcdef", .text = "x", .cwd = ""
	};

	open_for_answers(3, put_command_lie);
	for (int n = 0; n < 3; n++)
		cr_expect(eq(int,
				  helper_client_command(scene.client, &patient, &request,
					  take_any_piece, NULL, NULL),
				  n < 2 ? ERR_PROTOCOL : ERR_OK),
			"answer %d", n);
}

Test(helper_client, an_item_of_a_list_that_was_not_asked_for_is_refused)
{
	cr_assert(eq(int, scene_open(play_unasked_item, NULL), ERR_OK));
	cr_expect(eq(int,
		helper_client_watch(scene.client, &patient, &(struct watch_request){ 0 },
			ignore_event, NULL, NULL),
		ERR_PROTOCOL));
}

/* ---- A caller that takes nothing ---- */

static enum err wait_at_first(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct pollfd p = { .fd = scene.cancel.fd, .events = POLLIN };

	(void)context, (void)e;
	atomic_fetch_add(&scene.seen, 1);
	if (piece->kind == FETCH_DATA)
		poll(&p, 1, 60000);
	return ERR_OK;
}

static void *fetch_slowly(void *context)
{
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "big", .length = UINT64_MAX };

	(void)context;
	helper_client_fetch(scene.client, &patient, &item, 1, wait_at_first, NULL, NULL);
	return NULL;
}

Test(helper_client, a_slow_caller_holds_the_stream_up_but_not_for_good)
{
	AUTO_FREE unsigned char *bytes = calloc(1, 40 * MIB);
	pthread_t slow;
	size_t entries;
	enum err kind;

	served_open();
	make_file("big", bytes, 40 * MIB);
	scene.seen = 0;
	cr_assert(pthread_create(&slow, NULL, fetch_slowly, NULL) == 0);
	/* Other requests get through until the pipe and the queue are full. */
	do
		kind = list(&hasty, &entries, NULL);
	while (kind == ERR_OK);
	cr_expect(eq(int, kind, ERR_TIMEOUT));
	cr_expect(le(int, scene.seen, 1));
	cancel_throw(&scene.cancel);
	cr_expect(eq(int, list(&patient, &entries, NULL), ERR_OK));
	pthread_join(slow, NULL);
	cr_expect(eq(int, scene.seen, 40 * 16 + 1));
}
