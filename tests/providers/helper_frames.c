#include "providers/client/frames.h"

#include "providers/base/base64.h"
#include "providers/client/client.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(helper_frames, .timeout = 300);

/* ---- A runner that answers a list with given output ---- */

struct player {
	struct buf output, file;
	size_t piece; /* 0: all at once */
	size_t cut_after;
	enum err kind; /* the run's error, after all output */
	unsigned flags;
	size_t runs, frames_len;
	int64_t limit_ms, last_limit_ms; /* the call's limit, before the answer and behind it */
	bool is_late;
};

static enum err play(void *context, const struct call *call, const struct buf *frames,
	unsigned flags, const struct answer_sink *sink, struct error *e)
{
	struct player *p = context;
	size_t len = p->cut_after < p->output.len ? p->cut_after : p->output.len;
	size_t step = p->piece ? p->piece : len;

	p->runs++;
	p->limit_ms = call_progress_ms(call);
	p->flags = flags;
	p->frames_len = frames->len;
	sink->output(sink->context, STREAM_ERR, "a warning\n", 10, e);
	for (size_t at = 0; at < len; at += step) {
		enum err kind = sink->output(sink->context, STREAM_OUT, p->output.bytes + at,
			len - at < step ? len - at : step, e);

		if (kind != ERR_OK)
			return kind;
	}
	p->last_limit_ms = call_progress_ms(call);
	if (p->file.len)
		sink->file(sink->context, STREAM_OUT, p->file.bytes, p->file.len, e);
	return p->kind == ERR_OK ? ERR_OK : error_set(e, p->kind, "the line broke");
}

static void say(struct player *p, enum frame_type type, uint32_t id, const struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];
	size_t len = payload ? payload->len : 0;

	frame_encode(header, &(struct frame){ type, id, (uint32_t)len });
	buf_add(&p->output, header, sizeof header);
	if (len)
		buf_add(&p->output, payload->bytes, len);
}

static void say_end(struct player *p, uint32_t id, enum err kind, const char *text)
{
	AUTO_BUF struct buf payload = BUF_INIT(1000);

	wire_put_end(&payload, kind, text);
	say(p, FRAME_END, id, &payload);
}

/* A sign of life of a helper that waits, two records, and a sign of life that came too late. */
static void say_list(struct player *p)
{
	AUTO_BUF struct buf items = BUF_INIT(1000);

	say(p, FRAME_ITEMS, 0, NULL);
	wire_put_list_item(&items, &(struct list_item){ .kind = LIST_SELF, .err = ERR_NOT_FOUND });
	say(p, FRAME_ITEMS, 1, &items);
	buf_reset(&items);
	wire_put_list_item(
		&items, &(struct list_item){ .kind = LIST_END, .space.block_size = 4096 });
	say(p, FRAME_ITEMS, 1, &items);
	say_end(p, 1, ERR_OK, "");
}

static void armour(struct player *p)
{
	struct buf text = BUF_INIT(100000);

	for (size_t at = 0; at < p->output.len; at += 30) {
		size_t left = p->output.len - at;

		base64_encode(&text, p->output.bytes + at, left < 30 ? left : 30);
		buf_add_byte(&text, '\n');
	}
	buf_release(&p->output);
	p->output = text;
}

static struct player player_of(void (*what)(struct player *))
{
	struct player p = { .output = BUF_INIT(100000), .cut_after = SIZE_MAX };

	what(&p);
	return p;
}

static enum err count_item(void *context, const struct list_item *item, struct error *e)
{
	(void)item, (void)e;
	++*(size_t *)context;
	return ERR_OK;
}

static struct helper_client *client_of(struct player *p, bool is_armoured)
{
	const struct helper_runner runner = {
		.run = play, .is_armoured = is_armoured, .is_late = p->is_late, .context = p
	};
	struct helper_client *client;
	struct error e = { 0 };

	helper_client_new_runs(&client, &runner,
		&(struct hello){ .version = WIRE_VERSION,
			.root = { { .ino = 2, .mode = S_IFDIR | 0755 }, { .block_size = 4096 },
				{ 0 } } },
		&e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	return client;
}

/* Lists by such a runner, and counts the items that came. */
static enum err list(
	struct player *p, bool is_armoured, list_sink sink, size_t *items, struct error *e)
{
	const char *start = "";
	const struct list_request request = { .starts = &start, .starts_count = 1 };
	struct helper_client *client = client_of(p, is_armoured);
	enum err kind;

	*items = 0;
	*e = (struct error){ 0 };
	kind = helper_client_list(client, NULL, &request, sink, items, e);
	cr_expect(eq(int, kind, e->kind));
	helper_client_free(client);
	return kind;
}

Test(helper_frames, an_answer_may_come_in_pieces_of_any_size)
{
	for (int is_armoured = 0; is_armoured < 2; is_armoured++) {
		struct player p = player_of(say_list);
		struct error e;
		size_t items;

		if (is_armoured)
			armour(&p);
		for (p.piece = 1; p.piece <= p.output.len; p.piece++) {
			list(&p, is_armoured, count_item, &items, &e);
			cr_expect(eq(int, e.kind, ERR_OK), "%zu: %s", p.piece, e.text);
			cr_expect(eq(sz, items, 2));
		}
		buf_release(&p.output);
	}
}

Test(helper_frames, an_answer_cut_anywhere_is_unreachable)
{
	for (int is_armoured = 0; is_armoured < 2; is_armoured++) {
		struct player p = player_of(say_list);
		struct error e;
		size_t items;

		if (is_armoured)
			armour(&p);
		/* A transport of text may keep the very last line end. */
		for (p.cut_after = 0; p.cut_after < p.output.len - is_armoured; p.cut_after++) {
			list(&p, is_armoured, count_item, &items, &e);
			cr_expect(eq(int, e.kind, ERR_UNREACHABLE), "%zu: %s", p.cut_after, e.text);
			cr_expect(
				strstr(e.text, "cut off") != NULL, "%zu: %s", p.cut_after, e.text);
		}
		list(&p, is_armoured, count_item, &items, &e);
		cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
		buf_release(&p.output);
	}
}

Test(helper_frames, a_whole_answer_stands_although_the_run_failed)
{
	struct player p = player_of(say_list);
	struct error e;
	size_t items;

	p.kind = ERR_TIMEOUT;
	cr_expect(eq(int, list(&p, false, count_item, &items, &e), ERR_OK), "%s", e.text);
	p.cut_after = p.output.len - 1;
	cr_expect(eq(int, list(&p, false, count_item, &items, &e), ERR_TIMEOUT));
	cr_expect(eq(str, e.text, "the line broke"));
	buf_release(&p.output);
}

/* The link may break before the program's end is reported: only the answer is worth a deadline. */
Test(helper_frames, behind_a_whole_answer_the_run_has_little_time)
{
	struct player p = player_of(say_list);
	struct error e;
	size_t items;

	list(&p, false, count_item, &items, &e);
	cr_expect(eq(i64, p.limit_ms, CALL_PROGRESS_MS));
	cr_expect(le(i64, p.last_limit_ms, CALL_PROGRESS_MS / 10));
	p.cut_after = p.output.len - 1;
	list(&p, false, count_item, &items, &e);
	cr_expect(eq(i64, p.last_limit_ms, CALL_PROGRESS_MS));
	/* Where output comes only after the program's end, the rest is requests of its own. */
	p.cut_after = SIZE_MAX;
	p.is_late = true;
	list(&p, false, count_item, &items, &e);
	cr_expect(eq(i64, p.last_limit_ms, CALL_PROGRESS_MS));
	buf_release(&p.output);
}

static void say_signs(struct player *p)
{
	say(p, FRAME_ITEMS, 0, NULL);
	say(p, FRAME_ITEMS, 1, NULL);
}

Test(helper_frames, an_answer_in_a_file_follows_the_signs_of_life_without_armour)
{
	struct player signs = player_of(say_signs), answer = player_of(say_list);
	struct error e;
	size_t items;

	armour(&signs);
	signs.file = answer.output;
	list(&signs, true, count_item, &items, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_expect(eq(sz, items, 2));
	/* A transport of text may keep the very last line end. */
	signs.cut_after = signs.output.len - 1;
	list(&signs, true, count_item, &items, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	signs.file.len--;
	cr_expect(eq(int, list(&signs, true, count_item, &items, &e), ERR_UNREACHABLE));
	buf_release(&signs.output);
	buf_release(&signs.file);
}

static enum err refuse(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item;
	return error_set(e, ERR_QUOTA, "enough of this");
}

Test(helper_frames, what_the_caller_refuses_comes_out_unchanged)
{
	struct player p = player_of(say_list);
	struct error e;
	size_t items;

	for (p.piece = 0; p.piece < 2; p.piece++) {
		cr_expect(eq(int, list(&p, false, refuse, &items, &e), ERR_QUOTA));
		cr_expect(eq(str, e.text, "enough of this"));
	}
	buf_release(&p.output);
}

static const struct {
	const char *output;
	bool is_armoured;
} garbage[] = {
	{ "no", false },
	{ "sh: 1: cannot run\n", false },
	{ "sh: 1: cannot run\n", true },
	{ "sh: oops", true },
	{ "Welcome to the sandbox, user\nand more", false },
	{ "Welcome to the sandbox, user\nand more", true },
	{ "Text\n", true },
};

Test(helper_frames, the_first_words_of_what_is_no_answer_are_reported)
{
	for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
		struct player p = { .output = BUF_INIT(1000), .cut_after = SIZE_MAX };
		struct error e;
		size_t items;
		char words[8];

		buf_add_string(&p.output, garbage[i].output);
		list(&p, garbage[i].is_armoured, count_item, &items, &e);
		cr_expect(eq(int, e.kind, ERR_PROTOCOL), "row %zu: %s", i, e.text);
		snprintf(words, sizeof words, "%.*s", (int)strcspn(garbage[i].output, "\n"),
			garbage[i].output);
		cr_expect(strstr(e.text, words) != NULL, "row %zu: %s", i, e.text);
		buf_release(&p.output);
	}
}

static void say_refusal(struct player *p)
{
	say_end(p, 1, ERR_DENIED, "not this one");
}

static void say_last_words(struct player *p)
{
	say_end(p, 0, ERR_PROTOCOL, "no stream of requests");
}

static void say_other_id(struct player *p)
{
	say_end(p, 7, ERR_OK, "");
}

static void say_request(struct player *p)
{
	say(p, FRAME_LIST, 1, NULL);
}

static void say_half(struct player *p)
{
	say_end(p, 1, ERR_OK, "");
}

static void say_frame_then_text(struct player *p)
{
	say(p, FRAME_ITEMS, 1, NULL);
	buf_add_string(&p->output, "Segmentation fault");
}

static const struct {
	void (*say)(struct player *);
	enum err kind;
	const char *text;
} refusals[] = {
	{ say_refusal, ERR_DENIED, "not this one" },
	{ say_last_words, ERR_PROTOCOL, "no stream of requests" },
	{ say_other_id, ERR_PROTOCOL, "request 7" },
	{ say_request, ERR_PROTOCOL, "sent a request" },
	{ say_half, ERR_PROTOCOL, "left out a part" },
	{ say_frame_then_text, ERR_PROTOCOL, "not a frame" },
};

Test(helper_frames, an_answer_is_held_against_its_request)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		struct player p = player_of(refusals[i].say);
		struct error e;
		size_t items;

		list(&p, false, count_item, &items, &e);
		cr_expect(eq(int, e.kind, refusals[i].kind), "row %zu: %s", i, e.text);
		cr_expect(strstr(e.text, refusals[i].text) != NULL, "row %zu: %s", i, e.text);
		buf_release(&p.output);
	}
}

/* ---- Requests to runners ---- */

static enum err no_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	(void)context, (void)piece, (void)e;
	return ERR_OK;
}

static enum err no_event(void *context, const struct watch_event *event, struct error *e)
{
	(void)context, (void)event, (void)e;
	return ERR_OK;
}

Test(helper_frames, changes_are_not_repeatable_and_nothing_is_watched)
{
	struct player p = player_of(say_refusal);
	struct helper_client *client = client_of(&p, false);
	const struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .length = 1000 };
	const struct fetch_item small[] = { item, item },
				large[] = { item,
					{ .kind = FETCH_BYTES,
						.path = "f",
						.length = VERB_DATA_MAX } };
	enum { MANY = 100 };
	const struct change change = { .op = CHANGE_UNLINK, .path = "f" };
	struct change many[MANY];
	struct change_result result, results[MANY];
	size_t items;
	struct error e;

	for (size_t n = 0; n < MANY; n++)
		many[n] = change;
	list(&p, false, count_item, &items, &e);
	cr_expect(eq(uint, p.flags, RUN_REPEATABLE | RUN_COMPRESSES));
	helper_client_fetch(client, NULL, &item, 1, no_piece, NULL, NULL);
	cr_expect(eq(uint, p.flags, RUN_REPEATABLE | RUN_PLAIN));
	helper_client_fetch(client, NULL, small, 2, no_piece, NULL, NULL);
	cr_expect(eq(uint, p.flags, RUN_REPEATABLE | RUN_COMPRESSES));
	helper_client_fetch(client, NULL, large, 2, no_piece, NULL, NULL);
	cr_expect(eq(uint, p.flags, RUN_REPEATABLE | RUN_PLAIN | RUN_BULK));
	helper_client_apply(client, NULL,
		&(struct apply_request){ .changes = &change, .changes_count = 1 }, &result, NULL);
	cr_expect(eq(uint, p.flags, 0));
	helper_client_apply(client, NULL,
		&(struct apply_request){ .changes = many, .changes_count = MANY }, results, NULL);
	cr_expect(eq(uint, p.flags, RUN_PACKED_ANSWER));
	cr_expect(eq(int,
		helper_client_watch(
			client, NULL, &(struct watch_request){ 0 }, no_event, NULL, NULL),
		ERR_UNSUPPORTED));
	cr_expect(eq(sz, p.runs, 6));
	helper_client_free(client);
	buf_release(&p.output);
}

Test(helper_frames, a_large_request_is_cut_into_frames)
{
	AUTO_BUF struct buf frames = BUF_INIT(WIRE_STREAM_MAX);
	struct frame f;
	size_t at = 5;

	buf_add(&frames, "other", at);
	for (size_t n = 0; n < 2 * FRAME_PAYLOAD_MAX + 1; n++)
		buf_add_byte(&frames, (unsigned char)(n / FRAME_PAYLOAD_MAX));
	cr_assert(frames_of_request(&frames, at, FRAME_APPLY));
	for (int i = 0; i < 3; i++) {
		cr_expect(eq(int, frame_decode(frames.bytes + at, &f, NULL), ERR_OK));
		cr_expect(eq(int, f.type, i < 2 ? FRAME_MORE : FRAME_APPLY));
		cr_expect(eq(int, frames.bytes[at + FRAME_HEADER_SIZE], i));
		at += FRAME_HEADER_SIZE + f.len;
		cr_expect(eq(int, frames.bytes[at - 1], i));
	}
	cr_expect(eq(sz, at, frames.len));
}

Test(helper_frames, a_helper_of_another_version_is_refused)
{
	const struct helper_runner runner = { .run = play };
	struct helper_client *client;
	struct error e = { 0 };

	helper_client_new_runs(
		&client, &runner, &(struct hello){ .version = WIRE_VERSION + 1 }, &e);
	cr_expect(eq(int, e.kind, ERR_PROTOCOL));
}

/* ---- Two answers ---- */

static enum err read_pieces(struct frames_reader *reader, const struct player *p)
{
	enum err kind = ERR_OK;

	for (size_t at = 0; at < p->output.len && kind == ERR_OK; at += p->piece) {
		size_t left = p->output.len - at;

		kind = frames_reader_take(
			reader, p->output.bytes + at, left < p->piece ? left : p->piece, NULL);
	}
	return kind;
}

Test(helper_frames, an_answer_behind_another_goes_to_the_next_listener)
{
	const char *start = "gone";
	const struct list_request request = { .starts = &start, .starts_count = 1 };
	size_t first = 0, second = 0;
	AUTO_LIST_STATE struct list_state one = {
		.check.request = &request, .sink = count_item, .context = &first
	};
	AUTO_LIST_STATE struct list_state two = {
		.check.request = &request, .sink = count_item, .context = &second
	};
	struct listener listener = list_listener(&one), next = list_listener(&two);
	struct player p = player_of(say_list);
	AUTO_FRAMES_READER struct frames_reader reader;

	say_list(&p);
	p.piece = 7;
	frames_reader_init(&reader, &listener, false);
	reader.next = &next;
	cr_expect(eq(int, read_pieces(&reader, &p), ERR_OK));
	cr_expect(eq(int, frames_reader_end(&reader, &(struct error){ 0 }, NULL), ERR_OK));
	cr_expect(eq(sz, first, 2));
	cr_expect(eq(sz, second, 2));
	buf_release(&p.output);
}

static void say_failure(struct player *p)
{
	say_end(p, 1, ERR_DENIED, "not allowed");
}

Test(helper_frames, behind_an_error_no_other_answer_is_awaited)
{
	struct list_state one = { 0 }, two = { 0 };
	struct listener listener = list_listener(&one), next = list_listener(&two);
	struct player p = player_of(say_failure);
	AUTO_FRAMES_READER struct frames_reader reader;

	p.piece = 1000;
	frames_reader_init(&reader, &listener, false);
	reader.next = &next;
	read_pieces(&reader, &p);
	cr_expect(eq(int, frames_reader_end(&reader, &(struct error){ 0 }, NULL), ERR_DENIED));
	buf_release(&p.output);
}
