#include "providers/helper_client.h"

#include "providers/base/cleanup.h"
#include "providers/helper/serve.h"
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
#include <sys/stat.h>

TestSuite(helper_client, .timeout = 300);

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MIB          ((size_t)1024 * 1024)

/* ---- A client and, in a thread at the other end of two pipes, who plays the helper ---- */

struct scene {
	struct helper_client *client;
	int in, out; /* the helper's ends */
	pthread_t thread;
	void (*play)(struct scene *);
	struct root root;
	struct scratch scratch;
	struct cancel cancel; /* for whoever needs one */
	atomic_int seen;      /* what a player has to tell */
};

static void *run_player(void *context)
{
	struct scene *s = context;
	sigset_t gone;

	sigemptyset(&gone);
	sigaddset(&gone, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &gone, NULL);
	s->play(s);
	close(s->in);
	close(s->out);
	return NULL;
}

/* The player may be slow to have its turn on a machine that is busy: a suite's time-out ends what lasts for ever. */
static const struct call patient = { .progress_ms = -1 };

/* Starts the player and says hello to it. */
static enum err scene_open(struct scene *s, void (*play)(struct scene *), struct error *e)
{
	int there[2], back[2];

	cr_assert(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
	s->play = play;
	s->in = there[0];
	s->out = back[1];
	cr_assert(cancel_init(&s->cancel, NULL) == ERR_OK);
	cr_assert(pthread_create(&s->thread, NULL, run_player, s) == 0);
	return helper_client_new(&s->client, there[1], back[0], &patient, e);
}

static void scene_close(struct scene *s)
{
	helper_client_free(s->client);
	pthread_join(s->thread, NULL);
	cancel_release(&s->cancel);
}

/* ---- The real helper on a directory of its own ---- */

static void play_helper(struct scene *s)
{
	serve(&(struct serve_options){ .root = &s->root, .in_fd = s->in, .out_fd = s->out }, NULL);
}

static void served_open(struct scene *s)
{
	struct error e = { 0 };

	*s = (struct scene){ 0 };
	scratch_make(&s->scratch);
	root_open(&s->root, s->scratch.path, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	scene_open(s, play_helper, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void served_close(struct scene *s)
{
	scene_close(s);
	root_close(&s->root);
	scratch_remove(&s->scratch);
}

/* ---- Short words for the verbs ---- */

#define AS_IS .uid = CHANGE_NO_OWNER, .gid = CHANGE_NO_OWNER

static enum err apply(struct scene *s, const struct call *call, const struct change *changes,
	size_t count, struct error *e)
{
	/* The last one is behind those of the request. */
	AUTO_FREE struct change_result *results = calloc(count + 1, sizeof *results);
	struct apply_request request = { .changes = changes, .changes_count = count };
	enum err kind = helper_client_apply(s->client, call, &request, results, e);

	cr_expect(not(results[count].has_attr), "a result behind those of the request");
	for (size_t i = 0; i < count && kind == ERR_OK; i++)
		if (results[i].err != ERR_OK)
			kind = error_set(e, results[i].err, "%s", results[i].why);
	return kind;
}

static enum err make_file(struct scene *s, const char *path, const void *bytes, size_t len)
{
	struct change changes[64] = {
		{ .op = CHANGE_CREATE, .path = path, .mode = 0644, AS_IS },
	};
	size_t count = 1;
	struct error e = { 0 };

	for (size_t at = 0; at < len; at += MIB)
		changes[count++] = (struct change){ .op = CHANGE_WRITE,
			.path = path,
			.offset = at,
			.data = (const char *)bytes + at,
			.data_len = len - at < MIB ? len - at : MIB };
	apply(s, &patient, changes, count, &e);
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

static enum err fetch(struct scene *s, const struct call *call, const char *path, struct buf *out,
	struct error *e)
{
	struct fetch_item item = { .kind = FETCH_BYTES, .path = path, .length = UINT64_MAX };

	return helper_client_fetch(s->client, call, &item, 1, add_piece, out, e);
}

static enum err count_item(void *context, const struct list_item *item, struct error *e)
{
	(void)e;
	*(size_t *)context += item->kind == LIST_ENTRY;
	return ERR_OK;
}

static enum err list(struct scene *s, const struct call *call, size_t *entries, struct error *e)
{
	const char *const root[] = { "" };
	struct list_request request = { .starts = root, .starts_count = 1, .depth = 1 };

	*entries = 0;
	return helper_client_list(s->client, call, &request, count_item, entries, e);
}

/* ---- With the real helper ---- */

Test(helper_client, says_hello)
{
	struct scene s;
	const struct hello *hello;

	served_open(&s);
	hello = helper_client_hello(s.client);
	cr_expect(eq(u32, hello->version, WIRE_VERSION));
	cr_expect(eq(u32, hello->identity.uid, geteuid()));
	cr_expect(not(hello->has_staging));
	cr_expect(hello->root.now.tv_sec > 1700000000);
	cr_expect(hello->root.attr.mode >> 12 == S_IFDIR >> 12 && hello->root.space.blocks);
	served_close(&s);
}

struct worker {
	struct scene *scene;
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
		w->is_good = make_file(w->scene, path, bytes, len) == ERR_OK &&
			fetch(w->scene, &patient, path, &got, NULL) == ERR_OK && got.len == len &&
			memcmp(got.bytes, bytes, len) == 0;
	}
	return NULL;
}

Test(helper_client, many_threads_at_once_each_hear_their_own_answer)
{
	struct scene s;
	struct worker workers[WORKERS];
	size_t entries;

	served_open(&s);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .scene = &s, .number = i };
		cr_assert(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
	}
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		cr_expect(workers[i].is_good, "thread %d", i);
	}
	cr_expect(eq(int, list(&s, &patient, &entries, NULL), ERR_OK));
	cr_expect(eq(sz, entries, WORKERS));
	served_close(&s);
}

/* A batch larger than the limit is the caller's mistake, and costs the stream nothing. */
Test(helper_client, a_batch_over_the_limit_is_refused_before_it_is_sent)
{
	struct scene s;
	AUTO_FREE unsigned char *bytes = calloc(1, MIB);
	struct change changes[65];
	size_t entries;

	for (size_t i = 0; i < COUNT(changes); i++)
		changes[i] = (struct change){
			.op = CHANGE_WRITE, .path = "f", .data = bytes, .data_len = MIB
		};
	served_open(&s);
	cr_expect(eq(int, apply(&s, &patient, changes, COUNT(changes), NULL), ERR_TOO_LARGE));
	cr_expect(eq(int, list(&s, &patient, &entries, NULL), ERR_OK));
	served_close(&s);
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

/* The next frame and its payload; false at the end of the stream. */
static bool hear(struct scene *s, struct frame *f, struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];

	buf_reset(payload);
	if (!read_full(s->in, header, sizeof header) || frame_decode(header, f, NULL) != ERR_OK)
		return false;
	if (!read_full(s->in, buf_reserve(payload, f->len), f->len))
		return false;
	buf_filled(payload, f->len);
	return true;
}

/* A client that refused what came before may have gone already. */
static void put(const struct scene *s, const void *bytes, size_t len)
{
	cr_expect(write(s->out, bytes, len) == (ssize_t)len || errno == EPIPE);
}

static void say(struct scene *s, enum frame_type type, uint32_t id, const struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];
	uint32_t len = payload ? (uint32_t)payload->len : 0;

	frame_encode(header, &(struct frame){ type, id, len });
	put(s, header, sizeof header);
	if (len)
		put(s, payload->bytes, len);
}

static void say_end(struct scene *s, uint32_t id, enum err kind, const char *text)
{
	AUTO_BUF struct buf end = BUF_INIT(1000);

	wire_put_end(&end, kind, text);
	say(s, FRAME_END, id, &end);
}

static void answer_hello(struct scene *s, uint32_t version)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	cr_assert(hear(s, &f, &payload));
	buf_reset(&payload);
	wire_put_hello(&payload, &(struct hello){ .version = version, .root.attr.mode = S_IFDIR });
	say(s, FRAME_ITEMS, f.id, &payload);
	say_end(s, f.id, ERR_OK, "");
}

static void wait_for_end(struct scene *s)
{
	char dropped[4096];

	while (read(s->in, dropped, sizeof dropped) > 0)
		;
}

static void play_silence(struct scene *s)
{
	answer_hello(s, WIRE_VERSION);
	wait_for_end(s);
}

static const struct call hasty = { .progress_ms = 200 };

Test(helper_client, a_helper_that_stalls_is_a_timeout_at_the_deadline)
{
	struct scene s = { 0 };
	size_t entries;
	int64_t before_ms;

	cr_assert(eq(int, scene_open(&s, play_silence, NULL), ERR_OK));
	for (int i = 0; i < 2; i++) {
		before_ms = monotonic_ms();
		cr_expect(eq(int, list(&s, &hasty, &entries, NULL), ERR_TIMEOUT));
		cr_expect(ge(i64, monotonic_ms() - before_ms, 200));
	}
	scene_close(&s);
}

/* Reads nothing more, so that the pipe fills up. */
static void play_deafness(struct scene *s)
{
	struct pollfd p = { .fd = s->cancel.fd, .events = POLLIN };

	answer_hello(s, WIRE_VERSION);
	poll(&p, 1, 60000);
}

Test(helper_client, a_helper_that_reads_nothing_is_a_timeout_too)
{
	struct scene s = { 0 };
	AUTO_FREE unsigned char *bytes = calloc(1, MIB);
	struct change change = { .op = CHANGE_WRITE, .path = "f", .data = bytes, .data_len = MIB };

	cr_assert(eq(int, scene_open(&s, play_deafness, NULL), ERR_OK));
	for (int i = 0; i < 3; i++)
		cr_expect(eq(int, apply(&s, &hasty, &change, 1, NULL), ERR_TIMEOUT));
	cancel_throw(&s.cancel);
	scene_close(&s);
}

static void play_signs_of_life(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	cr_assert(hear(s, &f, &payload));
	for (int i = 0; i < 32; i++) {
		struct pollfd nothing = { .fd = -1 };

		poll(&nothing, 1, 100);
		say(s, FRAME_ITEMS, f.id, NULL);
	}
	say_end(s, f.id, ERR_BUSY, "at last");
	wait_for_end(s);
}

Test(helper_client, signs_of_life_put_the_deadline_off)
{
	struct scene s = { 0 };
	size_t entries;

	cr_assert(eq(int, scene_open(&s, play_signs_of_life, NULL), ERR_OK));
	cr_expect(
		eq(int, list(&s, &(struct call){ .progress_ms = 3000 }, &entries, NULL), ERR_BUSY));
	scene_close(&s);
}

/* Cancels the first request when it has come; answers it late, and the second rightly. */
static void play_cancelled(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame first, f;

	answer_hello(s, WIRE_VERSION);
	cr_assert(hear(s, &first, &payload));
	cancel_throw(&s->cancel);
	cr_assert(hear(s, &f, &payload));
	s->seen = f.type == FRAME_CANCEL && f.id == first.id;
	cr_assert(hear(s, &f, &payload));
	say_end(s, first.id, ERR_IO, "too late");
	say_end(s, f.id, ERR_BUSY, "in time");
	wait_for_end(s);
}

Test(helper_client, a_cancelled_call_returns_and_its_late_answer_is_nobodys)
{
	struct scene s = { 0 };
	size_t entries;
	struct error e;

	cr_assert(eq(int, scene_open(&s, play_cancelled, NULL), ERR_OK));
	list(&s, &(struct call){ .cancel = &s.cancel }, &entries, &e);
	cr_expect(eq(int, e.kind, ERR_INTERRUPTED));
	list(&s, &patient, &entries, &e);
	cr_expect(e.kind == ERR_BUSY && strcmp(e.text, "in time") == 0, "%s", e.text);
	cr_expect(eq(int, s.seen, 1));
	scene_close(&s);
}

/* Lets the first piece of a request through, then waits for the cancel, then reads on. */
static void play_cancelled_halfway(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame first, f;

	answer_hello(s, WIRE_VERSION);
	cr_assert(hear(s, &first, &payload));
	cancel_throw(&s->cancel);
	do
		cr_assert(hear(s, &f, &payload));
	while (f.type == FRAME_MORE);
	s->seen = first.type == FRAME_MORE && f.type == FRAME_CANCEL && f.id == first.id;
	cr_assert(hear(s, &f, &payload));
	say_end(s, f.id, ERR_BUSY, "next");
	wait_for_end(s);
}

Test(helper_client, a_call_cancelled_while_it_is_sent_ends_at_a_frame)
{
	struct scene s = { 0 };
	AUTO_FREE unsigned char *bytes = calloc(1, MIB);
	struct change changes[40];
	size_t entries;
	enum err kind;

	for (size_t i = 0; i < COUNT(changes); i++)
		changes[i] = (struct change){
			.op = CHANGE_WRITE, .path = "f", .data = bytes, .data_len = MIB
		};
	cr_assert(eq(int, scene_open(&s, play_cancelled_halfway, NULL), ERR_OK));
	kind = apply(&s, &(struct call){ .cancel = &s.cancel }, changes, COUNT(changes), NULL);
	cr_expect(eq(int, kind, ERR_INTERRUPTED));
	cr_expect(eq(int, list(&s, &patient, &entries, NULL), ERR_BUSY));
	cr_expect(eq(int, s.seen, 1));
	scene_close(&s);
}

static void play_cut_frame(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	unsigned char header[FRAME_HEADER_SIZE];
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	cr_assert(hear(s, &f, &payload));
	frame_encode(header, &(struct frame){ FRAME_ITEMS, f.id, 1000 });
	cr_expect(write(s->out, header, sizeof header) == sizeof header);
	cr_expect(write(s->out, header, 10) == 10);
}

static void play_cut_header(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	cr_assert(hear(s, &f, &payload));
	cr_expect(write(s->out, "SbX", 3) == 3);
}

static void play_garbage(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	cr_assert(hear(s, &f, &payload));
	cr_expect(write(s->out, "bash: sandboxfs-helper: not found\n", 34) == 34);
	wait_for_end(s);
}

static void play_requests(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	cr_assert(hear(s, &f, &payload));
	say(s, FRAME_LIST, f.id, NULL);
	wait_for_end(s);
}

static void play_departure(struct scene *s)
{
	answer_hello(s, WIRE_VERSION);
}

static void play_last_words(struct scene *s)
{
	answer_hello(s, WIRE_VERSION);
	say_end(s, 0, ERR_NO_MEMORY, "no room here");
	wait_for_end(s);
}

static const struct {
	void (*play)(struct scene *);
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

Test(helper_client, a_stream_that_breaks_fails_this_call_and_every_later_one)
{
	for (size_t i = 0; i < COUNT(breaks); i++) {
		struct scene s = { 0 };
		size_t entries;
		struct error e = { 0 };

		cr_assert(eq(int, scene_open(&s, breaks[i].play, NULL), ERR_OK));
		for (int again = 0; again < 3; again++) {
			list(&s, &patient, &entries, &e);
			cr_expect(eq(int, e.kind, breaks[i].kind), "%zu: %s", i, e.text);
			cr_expect(strstr(e.text, breaks[i].says) != NULL, "%zu: %s", i, e.text);
		}
		scene_close(&s);
	}
}

static void play_next_version(struct scene *s)
{
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, &(struct frame){ FRAME_END, 0, 0 });
	header[3]++;
	cr_expect(write(s->out, header, sizeof header) == sizeof header);
	wait_for_end(s);
}

static void play_false_hello(struct scene *s)
{
	answer_hello(s, WIRE_VERSION + 1);
	wait_for_end(s);
}

Test(helper_client, a_helper_of_another_version_is_refused)
{
	void (*const plays[])(struct scene *) = { play_next_version, play_false_hello };

	for (size_t i = 0; i < COUNT(plays); i++) {
		struct scene s = { 0 };
		struct error e = { 0 };

		cr_expect(eq(int, scene_open(&s, plays[i], &e), ERR_PROTOCOL), "%zu", i);
		cr_expect(strstr(e.text, "version") != NULL, "%zu: %s", i, e.text);
		scene_close(&s);
	}
}

Test(helper_client, a_helper_that_is_gone_raises_no_signal_here)
{
	struct scene s = { 0 };
	size_t entries;

	signal(SIGPIPE, SIG_DFL);
	cr_assert(eq(int, scene_open(&s, play_departure, NULL), ERR_OK));
	pthread_join(s.thread, NULL);
	cr_expect(eq(int, list(&s, &patient, &entries, NULL), ERR_UNREACHABLE));
	helper_client_free(s.client);
	cancel_release(&s.cancel);
}

/* ---- Answers that are frames all right, but not to what was asked ---- */

static const struct attr some_file = { .mode = S_IFREG | 0644, .nlink = 1, .size = 10 };

static void put_lie(struct buf *out, int lie)
{
	static const struct list_item self = { .kind = LIST_SELF, .err = ERR_NOT_FOUND };
	static const struct list_item other = {
		.kind = LIST_SELF, .start = 7, .err = ERR_NOT_FOUND
	};
	static const struct list_item entry = {
		.kind = LIST_ENTRY, .name = "n", .attr = { .mode = S_IFREG }
	};
	static const struct list_item elsewhere = { .kind = LIST_DIR, .start = 1, .path = "etc" };
	static const struct list_item aside = { .kind = LIST_DIR, .path = "dx" };
	static const struct list_item dir_end = { .kind = LIST_DIR_END };
	static const struct list_item end = { .kind = LIST_END };
	static const struct list_item *const lies[][4] = { { &self, &self, &end },
		{ &other, NULL, NULL }, { &self, &entry, &end }, { &self, NULL, NULL },
		{ &end, &end, NULL }, { &self, &elsewhere, &end },
		{ &self, &aside, &dir_end, &end } };

	for (int i = 0; i < 4 && lies[lie][i]; i++)
		wire_put_list_item(out, lies[lie][i]);
}

#define LIST_LIES 7

static void play_list_lies(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	for (int lie = 0; lie < LIST_LIES; lie++) {
		do
			cr_assert(hear(s, &f, &payload));
		while (f.type == FRAME_CANCEL);
		buf_reset(&payload);
		put_lie(&payload, lie);
		say(s, FRAME_ITEMS, f.id, &payload);
		say_end(s, f.id, ERR_OK, "");
	}
	wait_for_end(s);
}

Test(helper_client, a_list_that_does_not_answer_the_request_is_refused)
{
	const char *const starts[] = { "d" };
	const struct list_request request = { .starts = starts, .starts_count = 1, .depth = 1 };
	struct scene s = { 0 };
	size_t entries = 0;

	cr_assert(eq(int, scene_open(&s, play_list_lies, NULL), ERR_OK));
	for (int lie = 0; lie < LIST_LIES; lie++)
		cr_expect(eq(int,
				  helper_client_list(
					  s.client, &patient, &request, count_item, &entries, NULL),
				  ERR_PROTOCOL),
			"lie %d", lie);
	scene_close(&s);
}

/* To a fetch of one range of ten bytes from 5. */
static const struct fetch_piece fetch_lies[] = {
	{ .kind = FETCH_DATA, .item = 1, .offset = 5, .bytes = "0123456789", .len = 10 },
	{ .kind = FETCH_DATA, .offset = 0, .bytes = "0123456789", .len = 10 },
	{ .kind = FETCH_DATA, .offset = 5, .bytes = "0123456789A", .len = 11 },
	{ .kind = FETCH_DONE, .attr = { .mode = S_IFREG, .size = 6 } }, /* and no byte came */
	{ .kind = FETCH_DONE, .item = 1, .err = ERR_IO },
};

static void play_fetch_lies(struct scene *s)
{
	static const struct fetch_piece done = { .kind = FETCH_DONE,
		.attr = { .mode = S_IFREG, .size = 15 } };
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	for (size_t lie = 0; lie <= COUNT(fetch_lies); lie++) {
		do
			cr_assert(hear(s, &f, &payload));
		while (f.type == FRAME_CANCEL);
		buf_reset(&payload);
		if (lie < COUNT(fetch_lies))
			wire_put_fetch_piece(&payload, &fetch_lies[lie]);
		/* With nothing else wrong. */
		if (lie < COUNT(fetch_lies) && fetch_lies[lie].kind == FETCH_DATA)
			wire_put_fetch_piece(&payload, &done);
		say(s, FRAME_ITEMS, f.id, &payload);
		say_end(s, f.id, ERR_OK, "");
	}
	wait_for_end(s);
}

Test(helper_client, a_fetch_that_does_not_answer_the_request_is_refused)
{
	struct scene s = { 0 };
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .offset = 5, .length = 10 };

	cr_assert(eq(int, scene_open(&s, play_fetch_lies, NULL), ERR_OK));
	for (size_t lie = 0; lie <= COUNT(fetch_lies); lie++) {
		AUTO_BUF struct buf got = BUF_INIT(100);
		enum err kind =
			helper_client_fetch(s.client, &patient, &item, 1, add_piece, &got, NULL);

		cr_expect(eq(int, kind, ERR_PROTOCOL), "lie %zu", lie);
	}
	scene_close(&s);
}

/* 0, 1 and 3 results for two changes. */
static void play_apply_lies(struct scene *s)
{
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	const struct change_result result = { .has_attr = true, .attr = some_file };
	static const int counts[] = { 0, 1, 3 };
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	for (size_t lie = 0; lie < COUNT(counts); lie++) {
		do
			cr_assert(hear(s, &f, &payload));
		while (f.type == FRAME_CANCEL);
		buf_reset(&payload);
		for (int i = 0; i < counts[lie]; i++)
			wire_put_change_result(&payload, &result);
		say(s, FRAME_ITEMS, f.id, &payload);
		say_end(s, f.id, ERR_OK, "");
	}
	wait_for_end(s);
}

Test(helper_client, results_that_are_not_one_for_each_change_are_refused)
{
	struct scene s = { 0 };
	struct change changes[2] = { { .op = CHANGE_UNLINK, .path = "a" },
		{ .op = CHANGE_UNLINK, .path = "b" } };

	cr_assert(eq(int, scene_open(&s, play_apply_lies, NULL), ERR_OK));
	for (int lie = 0; lie < 3; lie++)
		cr_expect(eq(int, apply(&s, &patient, changes, 2, NULL), ERR_PROTOCOL), "lie %d",
			lie);
	scene_close(&s);
}

static void play_unasked_item(struct scene *s)
{
	static const struct list_item end = { .kind = LIST_END };
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	cr_assert(hear(s, &f, &payload));
	buf_reset(&payload);
	wire_put_watch_event(&payload, &(struct watch_event){ .kind = WATCH_ITEM, .item = &end });
	say(s, FRAME_ITEMS, f.id, &payload);
	wait_for_end(s);
}

/*
 * Output from where there was some already, and output behind the end; then the truth, for which
 * the caller waits, so that nothing is said to one who has gone.
 */
static void play_command_lies(struct scene *s)
{
	static const struct command_piece out = {
		.kind = COMMAND_OUT, .next = 2, .bytes = "x", .len = 1
	};
	static const struct command_piece end = { .kind = COMMAND_ENDED, .next = 3 };
	static const struct command_piece *const told[][3] = { { &out, &out, &end },
		{ &out, &end, &end }, { &out, &end, NULL } };
	AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct frame f;

	answer_hello(s, WIRE_VERSION);
	for (int n = 0; n < 3; n++) {
		do
			cr_assert(hear(s, &f, &payload));
		while (f.type == FRAME_CANCEL);
		buf_reset(&payload);
		for (int i = 0; i < 3 && told[n][i]; i++)
			wire_put_command_piece(&payload, told[n][i]);
		say(s, FRAME_ITEMS, f.id, &payload);
		say_end(s, f.id, ERR_OK, "");
	}
	wait_for_end(s);
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
	struct scene s = { 0 };

	cr_assert(eq(int, scene_open(&s, play_command_lies, NULL), ERR_OK));
	for (int n = 0; n < 3; n++)
		cr_expect(eq(int,
				  helper_client_command(
					  s.client, &patient, &request, take_any_piece, NULL, NULL),
				  n < 2 ? ERR_PROTOCOL : ERR_OK),
			"answer %d", n);
	scene_close(&s);
}

Test(helper_client, an_item_of_a_list_that_was_not_asked_for_is_refused)
{
	struct scene s = { 0 };

	cr_assert(eq(int, scene_open(&s, play_unasked_item, NULL), ERR_OK));
	cr_expect(eq(int,
		helper_client_watch(
			s.client, &patient, &(struct watch_request){ 0 }, ignore_event, NULL, NULL),
		ERR_PROTOCOL));
	scene_close(&s);
}

/* ---- A caller that takes nothing ---- */

static enum err wait_at_first(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct scene *s = context;
	struct pollfd p = { .fd = s->cancel.fd, .events = POLLIN };

	(void)e;
	atomic_fetch_add(&s->seen, 1);
	if (piece->kind == FETCH_DATA)
		poll(&p, 1, 60000);
	return ERR_OK;
}

static void *fetch_slowly(void *context)
{
	struct scene *s = context;
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "big", .length = UINT64_MAX };

	helper_client_fetch(s->client, &patient, &item, 1, wait_at_first, s, NULL);
	return NULL;
}

Test(helper_client, a_slow_caller_holds_the_stream_up_but_not_for_good)
{
	struct scene s;
	AUTO_FREE unsigned char *bytes = calloc(1, 40 * MIB);
	pthread_t slow;
	size_t entries;
	enum err kind;

	served_open(&s);
	make_file(&s, "big", bytes, 40 * MIB);
	s.seen = 0;
	cr_assert(pthread_create(&slow, NULL, fetch_slowly, &s) == 0);
	/* Until the pipe and the queue are full, others get through. */
	do
		kind = list(&s, &hasty, &entries, NULL);
	while (kind == ERR_OK);
	cr_expect(eq(int, kind, ERR_TIMEOUT));
	cr_expect(le(int, s.seen, 1));
	cancel_throw(&s.cancel);
	cr_expect(eq(int, list(&s, &patient, &entries, NULL), ERR_OK));
	pthread_join(slow, NULL);
	cr_expect(eq(int, s.seen, 41));
	served_close(&s);
}
