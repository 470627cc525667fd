/*
 * Writes a few good inputs for each fuzzer into DIRECTORY/NAME_OF_THE_FUZZER/: `seeds DIRECTORY`.
 */
#include "cache/journal/segment.h"
#include "cache/blocks/block_index.h"
#include "providers/base/base64.h"
#include "providers/e2b/envelope.h"
#include "providers/gzip.h"
#include "providers/helper/wire.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/remote/script.h"
#include "tests/support/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct attr a_file = { .dev = 1,
	.ino = 2,
	.btime_ns = 3,
	.mode = S_IFREG | 0644,
	.nlink = 1,
	.size = 5,
	.mtime = { 1700000000, 1 } };
static const struct attr a_link = { .ino = 3, .mode = S_IFLNK | 0777, .nlink = 1, .size = 1 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void save(const char *dir, const char *fuzzer, const char *name, const struct buf *bytes)
{
	char path[4096];
	FILE *f;

	if (bytes->failed)
		fail("out of memory");
	snprintf(path, sizeof path, "%s/%s", dir, fuzzer);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/%s/%s", dir, fuzzer, name);
	f = fopen(path, "w");
	if (!f || fwrite(bytes->bytes, 1, bytes->len, f) != bytes->len || fclose(f))
		fail(path);
}

/* ---- Requests: bare, and framed as a stream ---- */

static void put_list(struct buf *out)
{
	static const char *const starts[] = { "", "d", "d/f" };

	wire_put_list(out,
		&(struct list_request){ .starts = starts,
			.starts_count = 3,
			.depth = LIST_DEPTH_ALL,
			.flags = LIST_XATTRS });
}

static void put_fetch(struct buf *out)
{
	static const struct fetch_item items[] = {
		{ .kind = FETCH_BYTES, .path = "d/f", .length = UINT64_MAX },
		{ .kind = FETCH_HASHES, .path = "d/f", .length = 100, .block_size = 2 },
		{ .kind = FETCH_SEEK_DATA, .path = "d/f" },
		{ .kind = FETCH_SEEK_HOLE, .path = "l", .flags = CHANGE_BY_HANDLE },
		{ .kind = FETCH_WHERE, .path = "gone", .flags = FETCH_NOATIME },
	};

	wire_put_fetch(out, items, 5);
}

static void put_apply(struct buf *out)
{
	static const struct change changes[] = {
		CHANGE_ROW(MKDIR, "d", .mode = 0755),
		CHANGE_ROW(CREATE, "d/f", .needs = 1, .mode = 0644),
		CHANGE_ROW(WRITE, "d/f", .needs = 2, TEXT("hello")),
		CHANGE_ROW(APPEND, "d/f", TEXT("!")),
		CHANGE_ROW(SYMLINK, "l", TEXT("d/f")),
		CHANGE_ROW(LINK, "d/f", .path2 = "h"),
		CHANGE_ROW(RENAME, "h", .path2 = "l", .flags = CHANGE_EXCHANGE),
		CHANGE_ROW(SETATTR, "d/f", .set = SET_MODE | SET_SIZE | SET_MTIME, .mode = 0600,
			.size = 9, .mtime = { 0, UTIME_NOW }),
		CHANGE_ROW(COPY, "d/f", .path2 = "l", .length = 3),
		CHANGE_ROW(FALLOCATE, "d/f", .length = 4096),
		CHANGE_ROW(MKNOD, "p", .mode = S_IFIFO | 0600),
		CHANGE_ROW(SETXATTR, "d/f", .name = "user.a", TEXT("v")),
		CHANGE_ROW(REMOVEXATTR, "d/f", .name = "user.a"),
		CHANGE_ROW(SYNC, "d/f"),
		CHANGE_ROW(UNLINK, "l"),
		CHANGE_ROW(RMDIR, "d"),
	};

	wire_put_apply(out,
		&(struct apply_request){ .journal = "of a seed",
			.first_sequence = 7,
			.closed = { 7, { 5 } },
			.once = 8,
			.changes = changes,
			.changes_count = sizeof changes / sizeof *changes });
}

static void put_watch(struct buf *out)
{
	static const char *const starts[] = { "" };
	const struct list_request first = {
		.starts = starts, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};

	wire_put_watch(out, &(struct watch_request){ .watcher = "of a seed", .first = &first });
}

#define A_MARKER "0123456789abcdef0123456789abcdef"

static void put_command(struct buf *out)
{
	static const char *const env[] = { "A=b" }, *const forget[] = { A_MARKER };

	wire_put_command(out,
		&(struct command_request){ .marker = A_MARKER,
			.text = "cat",
			.cwd = "d",
			.env = env,
			.env_count = 1,
			.input = "hello",
			.input_len = 5,
			.timeout_ms = 1000,
			.answer_max = 1000,
			.forget = forget,
			.forget_count = 1 });
}

static void put_stop(struct buf *out)
{
	wire_put_stop(out, A_MARKER, false);
}

static void add_frame(struct buf *out, enum frame_type type, uint32_t id, const struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, &(struct frame){ type, id, (uint32_t)payload->len });
	buf_add(out, header, sizeof header);
	buf_add(out, payload->bytes, payload->len);
}

static const struct {
	const char *name;
	enum frame_type type;
	void (*put)(struct buf *);
} requests[] = {
	{ "apply", FRAME_APPLY, put_apply },
	{ "list", FRAME_LIST, put_list },
	{ "fetch", FRAME_FETCH, put_fetch },
	{ "watch", FRAME_WATCH, put_watch },
	{ "command", FRAME_COMMAND, put_command },
	{ "stop", FRAME_STOP, put_stop },
};

static void save_requests(const char *dir)
{
	AUTO_BUF struct buf stream = BUF_INIT(WIRE_REQUEST_MAX);

	for (uint32_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		AUTO_BUF struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);

		requests[i].put(&payload);
		save(dir, "fuzz_requests", requests[i].name, &payload);
		add_frame(&stream, requests[i].type, i + 1, &payload);
	}
	save(dir, "fuzz_requests", "stream", &stream);
}

/* ---- Answers: the verb and the way in the first byte, then the records ---- */

static void each_item(struct buf *out, bool (*put)(struct buf *out, const struct list_item *item))
{
	static const struct xattr xattr = { "user.a", "v", 1 };
	const struct list_item items[] = {
		{ .kind = LIST_SELF,
			.attr = { .mode = S_IFDIR | 0755 },
			.xattrs = &xattr,
			.xattrs_count = 1 },
		{ .kind = LIST_SELF, .start = 1, .err = ERR_NOT_FOUND },
		{ .kind = LIST_DIR, .path = "" },
		{ .kind = LIST_ENTRY, .name = "f", .attr = a_file },
		{ .kind = LIST_ENTRY, .name = "l", .attr = a_link, .link = "f" },
		{ .kind = LIST_DIR_END, .complete = true },
		{ .kind = LIST_END, .space.block_size = 4096 },
	};

	for (size_t i = 0; i < sizeof items / sizeof *items; i++)
		put(out, &items[i]);
}

static void put_list_items(struct buf *out)
{
	each_item(out, wire_put_list_item);
}

static void put_fetch_pieces(struct buf *out)
{
	const struct fetch_piece pieces[] = {
		{ .kind = FETCH_DATA, .bytes = "hello", .len = 5 },
		{ .kind = FETCH_DONE, .attr = a_file },
		{ .kind = FETCH_DATA, .item = 1, .bytes = "0123456789abcdef", .len = 16 },
		{ .kind = FETCH_DONE, .item = 1, .err = ERR_STALE, .why = "b: changed" },
	};

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
		wire_put_fetch_piece(out, &pieces[i]);
}

static void put_change_results(struct buf *out)
{
	const struct change_result results[] = {
		{ .has_attr = true, .attr = a_file, .has_parent = true, .parent = a_link },
		{ .err = ERR_NOT_EMPTY, .why = "b: not empty" },
		{ .was_over = true, .left = { .size = 3, .ctime = { 1, 2 } } },
	};

	for (size_t i = 0; i < 3; i++)
		wire_put_change_result(out, &results[i]);
}

static void put_watch_events(struct buf *out)
{
	wire_put_watch_event(out, &(struct watch_event){ .kind = WATCH_READY, .path = "" });
	wire_put_watch_event(out,
		&(struct watch_event){
			.kind = WATCH_CREATED, .path = "a/b", .has_attr = true, .attr = a_file });
	wire_put_watch_event(
		out, &(struct watch_event){ .kind = WATCH_CREATED, .path = "c", .from = "a/b" });
}

static bool put_watched_item(struct buf *out, const struct list_item *item)
{
	return wire_put_watch_event(out, &(struct watch_event){ .kind = WATCH_ITEM, .item = item });
}

static void put_watched_list(struct buf *out)
{
	wire_put_watch_event(out, &(struct watch_event){ .kind = WATCH_READY, .path = "" });
	each_item(out, put_watched_item);
}

static void put_command_pieces(struct buf *out)
{
	const struct command_piece pieces[] = {
		{ .kind = COMMAND_OUT, .next = 77, .bytes = "hello", .len = 5 },
		{ .kind = COMMAND_RUNNING, .next = 77 },
		{ .kind = COMMAND_ENDED, .next = 93, .exit_code = 3 },
		{ .kind = COMMAND_ENDED, .next = 99, .root = { .mode = S_IFDIR | 0755, .ino = 2 } },
		{ .kind = COMMAND_REFUSED, .err = ERR_NOT_FOUND, .why = "d: not there" },
	};

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
		wire_put_command_piece(out, &pieces[i]);
}

static const struct {
	const char *name;
	void (*put)(struct buf *);
	unsigned char verb; /* as fuzz_answers.c numbers them */
} answers[] = {
	{ "list", put_list_items, 0 },
	{ "fetch", put_fetch_pieces, 1 },
	{ "apply", put_change_results, 2 },
	{ "command", put_command_pieces, 3 },
	{ "watch", put_watch_events, 8 },
	{ "watch-list", put_watched_list, 8 },
};

static void save_answers(const char *dir)
{
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		AUTO_BUF struct buf records = BUF_INIT(FRAME_PAYLOAD_MAX);
		AUTO_BUF struct buf one = BUF_INIT(2 * FRAME_PAYLOAD_MAX);
		AUTO_BUF struct buf end = BUF_INIT(100);
		char name[32];

		answers[i].put(&records);
		buf_add_byte(&one, answers[i].verb | 4);
		buf_add(&one, records.bytes, records.len);
		snprintf(name, sizeof name, "%s-records", answers[i].name);
		save(dir, "fuzz_answers", name, &one);

		/* Hello was request 1. */
		buf_reset(&one);
		buf_add_byte(&one, answers[i].verb);
		add_frame(&one, FRAME_ITEMS, 2, &records);
		wire_put_end(&end, ERR_OK, "");
		add_frame(&one, FRAME_END, 2, &end);
		save(dir, "fuzz_answers", answers[i].name, &one);
	}
}

/* ---- Answers of E2B's daemon: how they are cut in the first byte, then a stream ---- */

static void save_connect(const char *dir)
{
	/* Captured messages: a start, output, the end of a command. */
	static const struct {
		const char *message;
		size_t len;
	} messages[] = {
		{ "\x0a\x05\x0a\x03\x08\xa0\x53", 7 },
		{ "\x0a\x08\x12\x06\x0a\x04out\n", 10 },
		{ "\x0a\x13\x1a\x11\x10\x01\x1a\x0d"
		  "exit status 0",
			21 },
		{ "\x0a\x16\x1a\x14\x08\x01\x1a\x10signal: signal 9", 24 },
	};
	static const char refused[] = "{\"error\":{\"code\":\"not_found\",\"message\":\"m\"}}";
	AUTO_BUF struct buf plain = BUF_INIT(4096), packed = BUF_INIT(4096);

	buf_add_byte(&plain, 3);
	buf_add_byte(&packed, 0x80 | 40);
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
		AUTO_BUF struct buf small = BUF_INIT(4096);

		envelope_add(&plain, 0, messages[i].message, messages[i].len);
		gzip_deflate(&small, messages[i].message, messages[i].len);
		envelope_add(&packed, ENVELOPE_GZIP, small.bytes, small.len);
	}
	envelope_add(&plain, ENVELOPE_END, "{}", 2);
	envelope_add(&packed, ENVELOPE_END, refused, strlen(refused));
	save(dir, "fuzz_connect", "plain", &plain);
	save(dir, "fuzz_connect", "packed", &packed);
}

/* ---- Files next to stored blocks ---- */

static void save_stored(const char *dir)
{
	static const struct block_name sandbox = { "fuzz" };
	AUTO_BUF struct buf table = BUF_INIT(8192), sum = BUF_INIT(8);
	int fd = memfd_create("seeds", MFD_CLOEXEC);
	struct block_index *v;

	if (fd < 0 || block_index_open(&v, fd, table.max, NULL))
		fail("a table");
	for (uint64_t n = 0; n < 250; n++) {
		struct block_place place =
			block_place(&sandbox, &(struct attr){ .ino = n, .size = 1 }, 0);

		block_index_note(v, &place, &sandbox);
	}
	unsigned char *bytes = buf_reserve(&table, table.max);

	if (!bytes || pread(fd, bytes, table.max, 0) != (ssize_t)table.max)
		fail("a table");
	table.len = table.max;
	block_index_free(v);
	buf_add(&sum, &(uint64_t){ 4096 }, 8);
	save(dir, "fuzz_stored", "table", &table);
	save(dir, "fuzz_stored", "sum", &sum);
}

/*
 * ---- A segment of a journal: as it lies in its file, and as records of which the hashes are made
 * ----
 */

static void add_whole(struct buf *out, struct record *r, uint64_t number)
{
	record_number(r, number);
	buf_add(out, &r->header, sizeof r->header);
	buf_add(out, r->text, r->header.text_len);
	buf_add(out, r->data, r->header.data_len);
}

static void add_parts(struct buf *out, const struct record *r)
{
	buf_add_byte(out, (unsigned char)r->header.type);
	buf_add_byte(out, (unsigned char)r->header.number);
	buf_add_byte(out, (unsigned char)(r->header.text_len & 1));
	buf_add_byte(out, (unsigned char)(r->header.text_len / 2));
	buf_add_byte(out, (unsigned char)r->header.data_len);
	buf_add(out, r->text, r->header.text_len);
	buf_add(out, r->data, r->header.data_len);
}

static void save_journal(const char *dir)
{
	static const struct record_begin begin = { .next_sequence = 1 };
	static const uint64_t number = 1, aside = 3;
	AUTO_BUF struct buf text = BUF_INIT(1000), whole = BUF_INIT(8192), parts = BUF_INIT(8192);

	wire_put_change(&text, &CHANGE(WRITE, "d/f"));
	const struct {
		struct record record;
		uint64_t number;
	} records[] = {
		{ record_make(RECORD_BEGIN, &begin, sizeof begin, NULL, 0), 1 },
		{ record_make(RECORD_ENTRY, text.bytes, text.len, "hello", 5), 1 },
		{ record_make(RECORD_ENTRY, text.bytes, text.len, NULL, 0), 2 },
		{ record_make(RECORD_ENTRY, text.bytes, text.len, NULL, 0), 3 },
		{ record_make(RECORD_SENT, &number, sizeof number, NULL, 0), 9 },
		{ record_make(RECORD_LEFT, &number, sizeof number, NULL, 0), 10 },
		{ record_make(RECORD_ASIDE, &aside, sizeof aside, NULL, 0), 11 },
		{ record_make(RECORD_FAILED, "\2\0\0\0why", 7, NULL, 0), 2 },
		{ record_make(RECORD_DONE, &number, sizeof number, NULL, 0), 0 },
		{ record_make(RECORD_END, NULL, 0, NULL, 0), 4 },
	};

	buf_add_byte(&whole, 0);
	buf_add_byte(&parts, 1);
	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		struct record r = records[i].record;

		add_whole(&whole, &r, records[i].number);
		add_parts(&parts, &r);
	}
	save(dir, "fuzz_journal", "segment", &whole);
	save(dir, "fuzz_journal", "records", &parts);
}

/* ---- Modal's wire: how large its pieces are, then messages, or how a call ended ---- */

static void put_wish(struct buf *out)
{
	Modal__RpcRetryPolicy policy = MODAL__RPC_RETRY_POLICY__INIT;
	Modal__RpcStatus status = MODAL__RPC_STATUS__INIT;
	Modal__Any any = MODAL__ANY__INIT, *details[] = { &any };
	unsigned char value[100], bytes[200];

	policy.has_retry_after_secs = any.has_value = true;
	policy.retry_after_secs = 1.5F;
	any.type_url = "type.googleapis.com/modal.client.RPCRetryPolicy";
	any.value.len = modal__rpc_retry_policy__pack(&policy, value);
	any.value.data = value;
	status.n_details = 1;
	status.details = details;
	buf_add_byte(out, 1);
	buf_add(out, bytes, modal__rpc_status__pack(&status, bytes));
}

static void save_grpc(const char *dir)
{
	static const char messages[] = "\3\0\0\0\0\3one\0\0\0\0\0\0\0\0\0\3two\1\0\0\0\1x";
	AUTO_BUF struct buf framed = BUF_INIT(1000), wish = BUF_INIT(1000);

	buf_add(&framed, messages, sizeof messages - 1);
	save(dir, "fuzz_grpc", "messages", &framed);
	put_wish(&wish);
	save(dir, "fuzz_grpc", "wish", &wish);
}

/* A shell's report at an attach: how it is cut and how the shell ended, its fields, the hello */

static void add_field(struct buf *out, const char *field)
{
	for (const char *c = field; *c; c++)
		buf_printf(out, "%02x", (unsigned char)*c);
	buf_add_string(out, "00");
}

static void add_fields(struct buf *out, const char *state)
{
	const char *const fields[] = { state, "", "/root", "/root/d", "/root/.sandboxfs", "x86_64",
		"/root/.sandboxfs", "python3" };

	buf_add_string(out, REMOTE_REPORT_MARK);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		add_field(out, fields[i]);
	buf_add_string(out, "\n");
}

static void put_hello(struct buf *out)
{
	wire_put_hello(out,
		&(struct hello){ .version = WIRE_VERSION,
			.has_staging = true,
			.root = { .attr = { .dev = 1, .ino = 2, .mode = S_IFDIR | 0755 },
				.space.block_size = 4096,
				.now.tv_sec = 1700000000 } });
}

static void save_report(const char *dir)
{
	static const char *const states[] = { "none", "absent", "noexec", "nowhere", "unstaged" };
	AUTO_BUF struct buf one = BUF_INIT(65536), hello = BUF_INIT(4096), end = BUF_INIT(100);

	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		buf_reset(&one);
		buf_add(&one, "\5\0", 2);
		add_fields(&one, states[i]);
		save(dir, "fuzz_report", states[i], &one);
	}
	buf_reset(&one);
	buf_add(&one, "\5\0", 2);
	add_fields(&one, "ready");
	put_hello(&hello);
	wire_put_end(&end, ERR_OK, "");
	add_frame(&one, FRAME_ITEMS, 1, &hello);
	add_frame(&one, FRAME_END, 1, &end);
	save(dir, "fuzz_report", "ready", &one);
}

/* A sandbox that was made at a time which no integer has; a program that was ended by no signal. */
static void save_modal(const char *dir)
{
	static const unsigned char time[] = { 0, 134, 213, 213, 213, 213, 213, 213, 213, 213, 213,
		213, 213, 213, 213, 213, 52, 52, 52, 52, 52, 52, 52, 52, 52, 52, 52, 52, 52, 213,
		213, 213, 213, 213, 213, 213, 213, 213, 213, 213, 213, 0, 127, 213, 24, 252, 24,
		0 };
	static const unsigned char no_signal[] = { 65, 0, 3, 103, 73, 109, 97, 103, 101, 71, 101,
		83, 97, 110, 100, 98, 111, 120, 76, 105, 115, 116, 97, 103, 101, 255, 255, 255, 232,
		232, 232, 232, 232, 200, 232, 232, 215, 250, 213, 156, 195, 252, 127, 0, 0, 215,
		215, 215, 215, 69, 120, 101, 99, 80, 111, 108, 22, 22, 22, 22, 22, 22, 22, 22, 22,
		22, 100, 96, 100, 100, 100, 120, 120, 120, 120, 80, 100, 120, 80, 83, 101, 99, 114,
		101, 116, 71, 101, 116, 79, 114, 67, 114, 101, 97, 116, 101, 100, 100, 156, 155,
		155, 161, 0, 0, 86, 86, 86, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 93,
		255, 255, 255, 122 };
	AUTO_BUF struct buf one = BUF_INIT(200), two = BUF_INIT(200);

	buf_add(&one, time, sizeof time);
	save(dir, "fuzz_modal", "time", &one);
	buf_add(&two, no_signal, sizeof no_signal);
	save(dir, "fuzz_modal", "no_signal", &two);
}

/* ---- Texts; the first byte says how large their pieces are, or their kind ---- */

/* Choices of tests/fuzz/scripted_exchange.h, a letter each, that make a good answer. */
#define SCRIPT "xPdddddddddddddd<ddddddPhhhhhhhhPddddddnddddxxxxPd"

static const struct {
	const char *fuzzer, *name, *text;
} texts[] = {
	{ "fuzz_events", "output",
		"\001data: {\"output\":\"abc\\u00e4\",\"offset\":5}\n\n: "
		"comment\r\n\r\ndata:{\ndata: "
		"\"output\":\"\"}\n\n" },
	{ "fuzz_events", "idle",
		"\002data: {\"output\":\"a\"}\n\nevent: error\ndata: {\"code\":\"408\"}\n\n" },
	{ "fuzz_events", "error", "\003event: error\ndata: {\"message\":\"no\"}\n\n" },
	{ "fuzz_modal", "list", "0" SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT },
	{ "fuzz_modal", "find", "1" SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT },
	{ "fuzz_modal", "url", "2" SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT },
	{ "fuzz_modal", "create", "3" SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT },
	{ "fuzz_modal", "run", "4" SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT SCRIPT },
	{ "fuzz_bash", "run", "1" SCRIPT SCRIPT SCRIPT "5" SCRIPT SCRIPT },
	{ "fuzz_bash", "stream", "0" SCRIPT SCRIPT SCRIPT "4" SCRIPT SCRIPT },
	{ "fuzz_grpc", "words", "\001too%20busy%2C 100% of %e2%82%ac" },
	{ "fuzz_json", "box",
		"\004{\"id\":\"b1\",\"status\":\"stopped\",\"stopped_at\":\"2027-01-15T07:59:00."
		"123Z\","
		"\"delete_after_stop_seconds\":60,\"dataplane_url\":\"https://x/y\"}" },
	{ "fuzz_json", "devbox",
		"\004{\"id\":\"dbx_1\",\"name\":\"n\",\"status\":\"running\",\"state_transitions\":"
		"[{"
		"\"status\":\"running\",\"transition_time_ms\":1}],\"launch_parameters\":{"
		"\"lifecycle\":{"
		"\"after_idle\":{\"idle_time_seconds\":60}}}}" },
	{ "fuzz_json", "refusal",
		"\004{\"detail\":[{\"loc\":[\"body\",\"name\"],\"msg\":\"taken\"}],\"error\":"
		"\"x\"}" },
	{ "fuzz_json", "list",
		"\004[{\"sandboxID\":\"i1\",\"state\":\"paused\",\"endAt\":\"2027-01-15T07:59:00+"
		"01:00\"}]" },
	{ "fuzz_json", "time", "\0012027-01-15T07:59:00.5-05:30" },
	{ "fuzz_json", "fields", "\002Retry-After: 5\r\netag:  \"x\" \r\n\r\n" },
	{ "fuzz_json", "command",
		"\004{\"success\":true,\"message\":\"m\",\"data\":{\"session_id\":\"s\",\"stdout\":"
		"\"o\",\"exit_code\":0,\"status\":\"completed\"},\"hint\":null}" },
	{ "fuzz_toml", "profiles",
		"[work]\ntoken_id = \"ak-1\"  # of mine\ntoken_secret = 'as-2'\nactive = true\n\n"
		"[\"other one\"]\ntoken_id = \"a\\t\\n\"\nport = 12\n" },
	{ "fuzz_login", "project",
		"\004{\"version\":2,\"teamApiKey\":\"e2b_1\",\"projectApiKey\":\"e2b_2\"}" },
	{ "fuzz_login", "active",
		"\001{\"activeProfile\":\"a\",\"profiles\":[{\"id\":\"a\",\"activeOrganizationId\":"
		"\"o\",\"api\":{\"url\":\"https://"
		"a\",\"key\":null,\"token\":{\"accessToken\":\"t\","
		"\"expiresAt\":\"2999-01-01T00:00:00Z\"}}}]}" },
	{ "fuzz_login", "current",
		"\002{\"current_profile\":\"a\",\"profiles\":{\"a\":{\"api_url\":\"https://a\","
		"\"workspace_id\":\"w\",\"api_key\":\"k\",\"oauth\":{\"access_token\":\"t\","
		"\"expires_at\":\"2020-01-01T00:00:00Z\"}},\"default\":{\"api_key_env\":\"K\"}}}" },
	{ "fuzz_login", "default",
		"\003[default]\ntoken_id = \"ak-1\"\ntoken_secret = \"as-2\"\nserver_url = "
		"\"https://m\"\n" },
	{ "fuzz_json", "marks", "\003login\nmarkabcmarkerr" },
};

/* Both outputs of a program, and a part of a frame. */
static void save_frames(const char *dir)
{
	static const char frames[] = "\012\1\0\0\0\0\0\0\2ab\2\0\0\0\0\0\0\1c\1\0\0\0\0\0\1\0d";
	AUTO_BUF struct buf out = BUF_INIT(1000);

	buf_add(&out, frames, sizeof frames - 1);
	save(dir, "fuzz_engine", "frames", &out);
}

static void save_texts(const char *dir)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		AUTO_BUF struct buf out = BUF_INIT(1000);

		buf_add_string(&out, texts[i].text);
		save(dir, texts[i].fuzzer, texts[i].name, &out);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: seeds DIRECTORY\n", stderr);
		return 2;
	}
	mkdir(argv[1], 0755);
	save_requests(argv[1]);
	save_answers(argv[1]);
	save_connect(argv[1]);
	save_stored(argv[1]);
	save_journal(argv[1]);
	save_grpc(argv[1]);
	save_modal(argv[1]);
	save_report(argv[1]);
	save_frames(argv[1]);
	save_texts(argv[1]);
	return 0;
}
