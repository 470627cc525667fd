#include "providers/helper/wire.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "tests/support/changes.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(wire, .timeout = 300);

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- Extreme values ---- */

/* Every byte that may stand in a name, and nothing else. */
static const char *any_name(void)
{
	static char name[256];
	size_t len = 0;

	for (int c = 1; c < 256; c++)
		if (c != '/')
			name[len++] = (char)c;
	return name;
}

static const unsigned char *any_bytes(void)
{
	static unsigned char bytes[256];

	for (int c = 0; c < 256; c++)
		bytes[c] = (unsigned char)c;
	return bytes;
}

static const struct attr extreme_attr = {
	.dev = UINT64_MAX,
	.ino = UINT64_MAX,
	.btime_ns = UINT64_MAX,
	.mode = S_IFBLK | 07777,
	.nlink = UINT32_MAX,
	.uid = UINT32_MAX,
	.gid = UINT32_MAX,
	.rdev = UINT64_MAX,
	.size = INT64_MAX,
	.blocks = UINT64_MAX,
	.blksize = UINT32_MAX,
	.atime = { INT64_MIN, 999999999 },
	.mtime = { INT64_MAX, 0 },
	.ctime = { -1, 1 },
	.no_xattrs = true,
};

static const struct expect extreme_expect = { UINT64_MAX, 1, UINT64_MAX };
static const struct version extreme_version = { UINT64_MAX, { INT64_MIN, 0 },
	{ INT64_MAX, 999999999 } };

static bool same_attr(const struct attr *a, const struct attr *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->btime_ns == b->btime_ns &&
		a->mode == b->mode && a->nlink == b->nlink && a->uid == b->uid &&
		a->gid == b->gid && a->rdev == b->rdev && a->size == b->size &&
		a->blocks == b->blocks && a->blksize == b->blksize &&
		time_equals(a->atime, b->atime) && time_equals(a->mtime, b->mtime) &&
		time_equals(a->ctime, b->ctime) && a->no_xattrs == b->no_xattrs;
}

static bool same_expect(const struct expect *a, const struct expect *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->btime_ns == b->btime_ns;
}

static bool same_version(const struct version *a, const struct version *b)
{
	return a->size == b->size && time_equals(a->mtime, b->mtime) &&
		time_equals(a->ctime, b->ctime);
}

static bool same_string(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* ---- Messages, and one decoder each: for tests of all of them ---- */

typedef enum err (*decode)(const struct buf *in, struct error *e);

static enum err decode_list(const struct buf *in, struct error *e)
{
	struct list_request request;
	AUTO_FREE void *memory = NULL;

	return wire_get_list(in, &request, &memory, e);
}

static enum err decode_fetch(const struct buf *in, struct error *e)
{
	struct fetch_item *items;
	size_t count;
	AUTO_FREE void *memory = NULL;

	return wire_get_fetch(in, &items, &count, &memory, e);
}

static enum err decode_apply(const struct buf *in, struct error *e)
{
	struct apply_request request;
	AUTO_FREE void *memory = NULL;

	return wire_get_apply(in, &request, &memory, e);
}

static enum err decode_list_item(const struct buf *in, struct error *e)
{
	struct list_decoded decoded;
	size_t at = 0;

	return wire_get_list_item(in, &at, &decoded, e);
}

static enum err decode_fetch_piece(const struct buf *in, struct error *e)
{
	struct fetch_piece piece;
	size_t at = 0;

	return wire_get_fetch_piece(in, &at, &piece, e);
}

static enum err decode_change_result(const struct buf *in, struct error *e)
{
	struct change_result result;
	size_t at = 0;

	return wire_get_change_result(in, &at, &result, e);
}

static enum err decode_watch_event(const struct buf *in, struct error *e)
{
	static struct list_decoded item;
	struct watch_event event;
	size_t at = 0;

	return wire_get_watch_event(in, &at, &event, &item, e);
}

static enum err decode_hello(const struct buf *in, struct error *e)
{
	struct hello hello;

	return wire_get_hello(in, &hello, e);
}

static enum err decode_command(const struct buf *in, struct error *e)
{
	struct command_request request;
	AUTO_FREE void *memory = NULL;

	return wire_get_command(in, &request, &memory, e);
}

static enum err decode_stop(const struct buf *in, struct error *e)
{
	const char *marker;
	bool now;

	return wire_get_stop(in, &marker, &now, e);
}

static enum err decode_command_piece(const struct buf *in, struct error *e)
{
	struct command_piece piece;
	size_t at = 0;

	return wire_get_command_piece(in, &at, &piece, e);
}

static struct change extreme_change(void)
{
	return (struct change){ .op = CHANGE_SETXATTR,
		.flags = 31,
		.needs = 0,
		.path = any_name(),
		.path2 = "/t-1",
		.keep = "/t-2",
		.parent = extreme_expect,
		.target = extreme_expect,
		.parent2 = extreme_expect,
		.target2 = extreme_expect,
		.version = extreme_version,
		.version2 = extreme_version,
		.set = 63,
		.mode = UINT32_MAX,
		.uid = UINT32_MAX,
		.gid = UINT32_MAX,
		.rdev = UINT64_MAX,
		.size = UINT64_MAX,
		.atime = { INT64_MIN, UTIME_NOW },
		.mtime = { INT64_MAX, UTIME_OMIT },
		.offset = UINT64_MAX,
		.offset2 = UINT64_MAX,
		.length = UINT64_MAX,
		.name = any_name(),
		.data = any_bytes(),
		.data_len = 256 };
}

static struct buf put_list(void)
{
	struct buf out = BUF_INIT(WIRE_REQUEST_MAX);
	const char *starts[] = { "", any_name(), "a/b/c" };
	struct list_request request = { .starts = starts,
		.starts_count = COUNT(starts),
		.depth = LIST_DEPTH_ALL,
		.flags = LIST_XATTRS | LIST_CROSS_DEVICES,
		.entries_max = UINT64_MAX,
		.changed_since_ns = INT64_MIN };

	cr_assert(wire_put_list(&out, &request));
	return out;
}

static struct buf put_fetch(void)
{
	struct buf out = BUF_INIT(WIRE_REQUEST_MAX);
	struct fetch_item items[] = {
		{ .kind = FETCH_BYTES, .path = any_name(), .length = UINT64_MAX },
		{ .kind = FETCH_SEEK_HOLE,
			.path = "/t-9",
			.target = extreme_expect,
			.offset = UINT64_MAX,
			.block_size = UINT32_MAX,
			.flags = CHANGE_BY_HANDLE },
		{ .kind = FETCH_WHERE,
			.path = "a",
			.target = extreme_expect,
			.flags = FETCH_NOATIME },
		{ .kind = FETCH_CHANGEABLE, .path = "b" },
	};

	cr_assert(wire_put_fetch(&out, items, COUNT(items)));
	return out;
}

static struct buf put_apply(void)
{
	struct buf out = BUF_INIT(WIRE_REQUEST_MAX);
	struct change changes[] = { extreme_change(), CHANGE_ROW(UNLINK, "", .needs = 1) };
	struct apply_request request = { .first_sequence = UINT64_MAX,
		.is_plain = true,
		.closed = { UINT64_MAX, { 1, UINT64_MAX, 3, 4 } },
		.once = UINT64_MAX - 1,
		.changes = changes,
		.changes_count = COUNT(changes) };

	memcpy(request.journal, any_bytes() + 100, JOURNAL_ID_SIZE);
	cr_assert(wire_put_apply(&out, &request));
	return out;
}

#define A_MARKER "0123456789abcdef0123456789abcdef"

static struct buf put_command(void)
{
	static const char *const env[] = { "A=", "B=b c" }, *const forget[] = { A_MARKER };
	struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	cr_assert(wire_put_command(&out,
		&(struct command_request){ .marker = A_MARKER,
			.text = any_name(),
			.cwd = any_name(),
			.env = env,
			.env_count = 2,
			.input = any_bytes(),
			.input_len = 256,
			.timeout_ms = UINT64_MAX,
			.from = INT64_MAX / 2,
			.wait_ms = UINT32_MAX,
			.more_ms = 1,
			.answer_max = UINT32_MAX,
			.forget = forget,
			.forget_count = 1 }));
	return out;
}

static struct buf put_stop(void)
{
	struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	cr_assert(wire_put_stop(&out, A_MARKER, true));
	return out;
}

static struct buf put_command_piece(const struct command_piece *piece)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);

	cr_assert(wire_put_command_piece(&out, piece));
	return out;
}

static struct buf put_output(void)
{
	return put_command_piece(&(struct command_piece){
		.kind = COMMAND_ERR, .next = UINT64_MAX, .bytes = any_bytes(), .len = 256 });
}

static struct buf put_running(void)
{
	return put_command_piece(&(struct command_piece){ .kind = COMMAND_RUNNING, .next = 1 });
}

static struct buf put_ended(void)
{
	return put_command_piece(&(struct command_piece){
		.kind = COMMAND_ENDED, .exit_code = UINT32_MAX, .timed_out = true });
}

static struct buf put_ended_with_root(void)
{
	struct attr root = extreme_attr;

	root.mode = S_IFDIR | 0700;
	return put_command_piece(
		&(struct command_piece){ .kind = COMMAND_ENDED, .exit_code = 1, .root = root });
}

static struct buf put_refused(void)
{
	return put_command_piece(&(struct command_piece){
		.kind = COMMAND_REFUSED, .err = ERR_NOT_FOUND, .why = "not there" });
}

static struct buf put_list_item(const struct list_item *item)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);

	cr_assert(wire_put_list_item(&out, item));
	return out;
}

static struct buf put_self(void)
{
	struct xattr xattrs[] = { { "user.none", "", 0 }, { any_name(), any_bytes(), 256 } };
	struct attr link = extreme_attr;

	link.mode = S_IFLNK | 0777;
	return put_list_item(&(struct list_item){ .kind = LIST_SELF,
		.start = UINT32_MAX,
		.attr = link,
		.link = "../\x01\xff",
		.xattrs = xattrs,
		.xattrs_count = COUNT(xattrs) });
}

static struct buf put_failed_self(void)
{
	return put_list_item(&(struct list_item){ .kind = LIST_SELF, .err = ERR_OVERFLOW });
}

static struct buf put_dir(void)
{
	return put_list_item(&(struct list_item){ .kind = LIST_DIR, .path = any_name() });
}

static struct buf put_entry(void)
{
	return put_list_item(&(struct list_item){
		.kind = LIST_ENTRY, .name = any_name(), .attr = extreme_attr });
}

static struct buf put_dir_end(void)
{
	return put_list_item(
		&(struct list_item){ .kind = LIST_DIR_END, .err = ERR_DENIED, .complete = true });
}

static const struct space extreme_space = { UINT64_MAX, UINT64_MAX, 0, 1, UINT64_MAX, UINT64_MAX,
	UINT32_MAX, true };

static struct buf put_list_end(void)
{
	return put_list_item(&(struct list_item){
		.kind = LIST_END, .now = { INT64_MAX, 999999999 }, .space = extreme_space });
}

static struct buf put_fetch_piece(const struct fetch_piece *piece)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);

	cr_assert(wire_put_fetch_piece(&out, piece));
	return out;
}

static struct buf put_data(void)
{
	return put_fetch_piece(&(struct fetch_piece){ .kind = FETCH_DATA,
		.item = UINT32_MAX,
		.offset = UINT64_MAX,
		.bytes = any_bytes(),
		.len = 256 });
}

static struct buf put_done(void)
{
	return put_fetch_piece(&(struct fetch_piece){
		.kind = FETCH_DONE, .item = 7, .offset = UINT64_MAX, .attr = extreme_attr });
}

static struct buf put_failed_fetch(void)
{
	return put_fetch_piece(
		&(struct fetch_piece){ .kind = FETCH_DONE, .err = ERR_STALE, .why = "it changed" });
}

static struct buf put_change_result(void)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct change_result result = { .err = ERR_NO_SPACE,
		.count = UINT64_MAX,
		.offset = UINT64_MAX,
		.has_attr = true,
		.has_parent = true,
		.has_parent2 = true,
		.was_over = true,
		.left = { .size = UINT64_MAX, .mtime = { -1, 999999999 }, .ctime = { 1, 2 } },
		.before = { .size = 5, .mtime = { 3, 4 }, .ctime = { -2, 1 } },
		.over = { .size = 6, .mtime = { 7, 8 }, .ctime = { 9, 1 } },
		.attr = extreme_attr,
		.parent = extreme_attr,
		.parent2 = extreme_attr };

	memset(result.why, 'w', sizeof result.why - 1);
	cr_assert(wire_put_change_result(&out, &result));
	return out;
}

static struct buf put_watch_event(void)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct watch_event event = { .kind = WATCH_CREATED,
		.is_dir = true,
		.path = any_name(),
		.from = "old/name",
		.has_attr = true,
		.attr = extreme_attr };

	cr_assert(wire_put_watch_event(&out, &event));
	return out;
}

static struct buf put_watch_item(void)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct list_item item = {
		.kind = LIST_ENTRY, .start = 1, .name = "n", .attr = extreme_attr
	};

	cr_assert(wire_put_watch_event(
		&out, &(struct watch_event){ .kind = WATCH_ITEM, .item = &item }));
	return out;
}

static struct hello extreme_hello(void)
{
	struct hello hello = { .version = UINT32_MAX,
		.has_staging = true,
		.identity = { UINT32_MAX, UINT32_MAX, IDENTITY_GROUPS_MAX, { 0 } },
		.root = { .attr = extreme_attr,
			.space = { .blocks = UINT64_MAX,
				.name_max = UINT32_MAX,
				.is_read_only = true },
			.now = { INT64_MIN, 999999999 } } };

	hello.root.attr.mode = S_IFDIR | 07777;
	for (uint32_t i = 0; i < IDENTITY_GROUPS_MAX; i++)
		hello.identity.groups[i] = UINT32_MAX - i;
	return hello;
}

static struct buf put_hello(void)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct hello hello = extreme_hello();

	cr_assert(wire_put_hello(&out, &hello));
	return out;
}

static struct buf put_end(void)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);

	cr_assert(wire_put_end(&out, ERR_OK, "nothing to say"));
	return out;
}

static struct buf put_received(void)
{
	struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);

	cr_assert(wire_put_received(&out, 16385));
	return out;
}

static enum err decode_received(const struct buf *in, struct error *e)
{
	uint32_t bytes;

	return wire_get_received(in, &bytes, e);
}

static const struct {
	const char *name;
	struct buf (*put)(void);
	decode decode;
	bool is_whole; /* ends with its payload: nothing may follow */
} messages[] = {
	{ "list", put_list, decode_list, true },
	{ "fetch", put_fetch, decode_fetch, true },
	{ "apply", put_apply, decode_apply, true },
	{ "command", put_command, decode_command, true },
	{ "stop", put_stop, decode_stop, true },
	{ "output", put_output, decode_command_piece, false },
	{ "running", put_running, decode_command_piece, false },
	{ "ended", put_ended, decode_command_piece, false },
	{ "ended, with the root", put_ended_with_root, decode_command_piece, false },
	{ "refused", put_refused, decode_command_piece, false },
	{ "self", put_self, decode_list_item, false },
	{ "failed self", put_failed_self, decode_list_item, false },
	{ "dir", put_dir, decode_list_item, false },
	{ "entry", put_entry, decode_list_item, false },
	{ "dir end", put_dir_end, decode_list_item, false },
	{ "list end", put_list_end, decode_list_item, false },
	{ "data", put_data, decode_fetch_piece, false },
	{ "done", put_done, decode_fetch_piece, false },
	{ "failed fetch", put_failed_fetch, decode_fetch_piece, false },
	{ "change result", put_change_result, decode_change_result, false },
	{ "watch event", put_watch_event, decode_watch_event, false },
	{ "watch item", put_watch_item, decode_watch_event, false },
	{ "hello", put_hello, decode_hello, true },
	{ "end", put_end, wire_get_end, true },
	{ "received", put_received, decode_received, true },
};

/*
 * `len` bytes of `bytes` in memory of exactly that size, so that a sanitizer sees the first step
 * beyond.
 */
static enum err decode_tight(decode decode_it, const void *bytes, size_t len)
{
	AUTO_FREE unsigned char *tight = malloc(len);
	struct buf in = { .bytes = tight, .len = len, .room = len, .max = len };

	if (len)
		memcpy(tight, bytes, len);
	return decode_it(&in, NULL);
}

Test(wire, a_whole_message_is_taken_and_no_truncation_of_it)
{
	for (size_t i = 0; i < COUNT(messages); i++) {
		AUTO_BUF struct buf m = messages[i].put();

		cr_expect(eq(int, decode_tight(messages[i].decode, m.bytes, m.len), ERR_OK), "%s",
			messages[i].name);
		for (size_t len = 0; len < m.len; len++)
			cr_expect(eq(int, decode_tight(messages[i].decode, m.bytes, len),
					  ERR_PROTOCOL),
				"%s of %zu bytes, cut to %zu", messages[i].name, m.len, len);
	}
}

Test(wire, a_message_with_more_behind_it_is_refused)
{
	for (size_t i = 0; i < COUNT(messages); i++) {
		AUTO_BUF struct buf m = messages[i].put();

		if (!messages[i].is_whole)
			continue;
		buf_add_byte(&m, 0);
		cr_expect(eq(int, decode_tight(messages[i].decode, m.bytes, m.len), ERR_PROTOCOL),
			"%s", messages[i].name);
	}
}

/* A changed byte never leads out of bounds, nor to an error of another kind. */
Test(wire, a_damaged_message_is_read_safely)
{
	static const unsigned char values[] = { 0x00, 0x01, 0x2e, 0x2f, 0x7f, 0x80, 0xfe, 0xff };

	for (size_t i = 0; i < COUNT(messages); i++) {
		AUTO_BUF struct buf m = messages[i].put();

		for (size_t at = 0; at < m.len; at++) {
			unsigned char kept = m.bytes[at];

			for (size_t v = 0; v < COUNT(values); v++) {
				enum err kind;

				m.bytes[at] = values[v];
				kind = decode_tight(messages[i].decode, m.bytes, m.len);
				cr_expect(kind == ERR_OK || kind == ERR_PROTOCOL ||
						messages[i].put == put_end,
					"%s: byte %zu = %d gives %d", messages[i].name, at,
					values[v], kind);
			}
			m.bytes[at] = kept;
		}
	}
}

/* ---- Round trips ---- */

Test(wire, frame_headers_come_back)
{
	const struct frame frames[] = { { FRAME_MORE, 0, 0 }, { FRAME_END, UINT32_MAX, 1 },
		{ FRAME_ITEMS, 0x01020304, FRAME_PAYLOAD_MAX } };

	for (size_t i = 0; i < COUNT(frames); i++) {
		unsigned char header[FRAME_HEADER_SIZE];
		struct frame got;

		frame_encode(header, &frames[i]);
		cr_assert(eq(int, frame_decode(header, &got, NULL), ERR_OK));
		cr_expect(got.type == frames[i].type && got.id == frames[i].id &&
			got.len == frames[i].len);
	}
}

Test(wire, a_header_lies_as_the_page_says)
{
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, &(struct frame){ FRAME_LIST, 0x04030201, 0x00030201 });
	cr_assert(memcmp(header, "SbX\x11\x01\x02\x03\x04\x03\0\0\0\x01\x02\x03\0", 16) == 0);
}

Test(wire, a_header_that_is_wrong_anywhere_is_refused)
{
	static const struct {
		size_t at;
		unsigned char byte;
		const char *says;
	} rows[] = {
		{ 0, 's', "not a frame" },
		{ 2, 'Y', "not a frame" },
		{ 3, WIRE_VERSION + 1, "version 18" },
		{ 3, 0, "version 0" },
		{ 8, 0, "type" },
		{ 8, FRAME_TYPE_END, "type" },
		{ 8, 0xff, "type" },
		{ 9, 1, "type" },
		{ 10, 1, "type" },
		{ 11, 1, "type" },
		{ 15, 1, "bytes" },
		{ 14, 0x15, "bytes" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned char header[FRAME_HEADER_SIZE];
		struct frame got;
		struct error e = { 0 };

		frame_encode(header, &(struct frame){ FRAME_LIST, 1, 0 });
		header[rows[i].at] = rows[i].byte;
		cr_expect(eq(int, frame_decode(header, &got, &e), ERR_PROTOCOL), "row %zu", i);
		cr_expect(strstr(e.text, rows[i].says) != NULL, "row %zu says '%s'", i, e.text);
	}
}

Test(wire, a_list_comes_back)
{
	AUTO_BUF struct buf m = put_list();
	struct list_request got;
	AUTO_FREE void *memory = NULL;

	cr_assert(eq(int, wire_get_list(&m, &got, &memory, NULL), ERR_OK));
	cr_assert(eq(sz, got.starts_count, 3));
	cr_expect(eq(str, (char *)got.starts[0], ""));
	cr_expect(eq(str, (char *)got.starts[1], (char *)any_name()));
	cr_expect(eq(str, (char *)got.starts[2], "a/b/c"));
	cr_expect(eq(u32, got.depth, LIST_DEPTH_ALL));
	cr_expect(eq(u32, got.flags, LIST_XATTRS | LIST_CROSS_DEVICES));
	cr_expect(eq(u64, got.entries_max, UINT64_MAX));
	cr_expect(eq(i64, got.changed_since_ns, INT64_MIN));
}

Test(wire, a_fetch_comes_back)
{
	AUTO_BUF struct buf m = put_fetch();
	struct fetch_item *got;
	size_t count;
	AUTO_FREE void *memory = NULL;

	cr_assert(eq(int, wire_get_fetch(&m, &got, &count, &memory, NULL), ERR_OK));
	cr_assert(eq(sz, count, 4));
	cr_expect(got[3].kind == FETCH_CHANGEABLE && !got[3].flags);
	cr_expect(got[0].kind == FETCH_BYTES && got[1].kind == FETCH_SEEK_HOLE);
	cr_expect(got[2].kind == FETCH_WHERE && got[2].flags == FETCH_NOATIME);
	cr_expect(same_string(got[0].path, any_name()) && same_string(got[1].path, "/t-9"));
	cr_expect(eq(u64, got[0].length, UINT64_MAX));
	cr_expect(same_expect(&got[1].target, &extreme_expect));
	cr_expect(eq(u64, got[1].offset, UINT64_MAX));
	cr_expect(eq(u32, got[1].block_size, UINT32_MAX));
	cr_expect(eq(u32, got[1].flags, CHANGE_BY_HANDLE));
}

static struct fetch_item source(unsigned n, char *path, size_t size)
{
	snprintf(path, size, "project/source/directory%u/file%u.c", n / 100, n % 100);
	return (struct fetch_item){ .kind = FETCH_BYTES,
		.path = path,
		.target = { .dev = UINT64_MAX - 7,
			.ino = UINT64_MAX / 2 + (n % 2 ? -n : n),
			.btime_ns = 1700000000 * (uint64_t)1000000000 + n * 100000 },
		.length = 4096 };
}

Test(wire, a_fetch_of_many_sources_takes_few_bytes)
{
	enum { ITEMS = 20000, PATH_SIZE = 60, EACH = 24 };
	static char paths[ITEMS][PATH_SIZE];
	AUTO_FREE struct fetch_item *items = calloc(ITEMS, sizeof *items);
	struct fetch_item *got;
	AUTO_BUF struct buf m = BUF_INIT(WIRE_REQUEST_MAX);
	size_t count;
	AUTO_FREE void *memory = NULL;

	for (unsigned n = 0; n < ITEMS; n++)
		items[n] = source(n, paths[n], PATH_SIZE);
	cr_assert(wire_put_fetch(&m, items, ITEMS));
	cr_expect(lt(sz, m.len, ITEMS * EACH));
	cr_assert(eq(int, wire_get_fetch(&m, &got, &count, &memory, NULL), ERR_OK));
	cr_assert(eq(sz, count, ITEMS));
	for (size_t n = 0; n < ITEMS; n++)
		cr_assert(same_string(got[n].path, paths[n]) &&
			same_expect(&got[n].target, &items[n].target));
}

/* Adds an item of a fetch with this encoded path, and no other value. */
static void add_fetch_path(struct buf *m, const char *said, size_t len)
{
	static const unsigned char rest[7] = { 0 };

	buf_add_byte(m, FETCH_BYTES);
	buf_add(m, said, len);
	buf_add(m, rest, sizeof rest);
}

Test(wire, a_path_of_a_fetch_has_one_encoding)
{
	static const struct {
		const char *second; /* the first is "ab" */
		size_t len;
		enum err err;
	} rows[] = {
		{ "\x01\x01x", 3, ERR_OK }, /* "ax" */
		{ "\x02\x00", 2, ERR_OK },  /* "ab" again */
		{ "\x00\x00", 2, ERR_OK },
		{ "\x03\x00", 2, ERR_PROTOCOL }, /* a prefix longer than "ab" */
		{ "\x01\x01"
		  "b",
			3, ERR_PROTOCOL }, /* "ab", but not so */
		{ "\x00\x02"
		  "ax",
			4, ERR_PROTOCOL },
		{ "\x02\x01\0", 3, ERR_PROTOCOL },           /* no string */
		{ "\x82\x00\x00", 3, ERR_PROTOCOL },         /* a number longer than it is */
		{ "\x02\xff\xff\xff\x7f", 5, ERR_PROTOCOL }, /* a length beyond all messages */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		AUTO_BUF struct buf m = BUF_INIT(WIRE_REQUEST_MAX);

		buf_add(&m, "\x02\0\0\0", 4);
		add_fetch_path(&m,
			"\0\x02"
			"ab",
			4);
		add_fetch_path(&m, rows[i].second, rows[i].len);
		cr_expect(eq(int, decode_fetch(&m, NULL), rows[i].err), "row %zu", i);
	}
}

/* A message of 400 KB could else claim paths of 25 GB. */
Test(wire, paths_of_a_fetch_are_bounded_together)
{
	enum { LEN = 200000, ITEMS = 1000 };
	AUTO_FREE char *path = malloc(LEN + 1);
	AUTO_FREE struct fetch_item *items = calloc(ITEMS, sizeof *items);
	AUTO_BUF struct buf m = BUF_INIT(WIRE_REQUEST_MAX);

	memset(path, 'p', LEN);
	path[LEN] = '\0';
	for (size_t n = 0; n < ITEMS; n++)
		items[n] = (struct fetch_item){ .kind = FETCH_BYTES, .path = path };
	cr_assert(wire_put_fetch(&m, items, ITEMS));
	cr_assert(lt(sz, m.len, 2 * LEN));
	cr_expect(eq(int, decode_fetch(&m, NULL), ERR_PROTOCOL));
	buf_reset(&m);
	cr_assert(wire_put_fetch(&m, items, ITEMS / 4));
	cr_expect(eq(int, decode_fetch(&m, NULL), ERR_OK));
}

static bool same_change(const struct change *a, const struct change *b)
{
	return a->op == b->op && a->flags == b->flags && a->needs == b->needs &&
		same_string(a->path, b->path) && same_string(a->path2, b->path2) &&
		same_string(a->keep, b->keep) && same_expect(&a->parent, &b->parent) &&
		same_expect(&a->target, &b->target) && same_expect(&a->parent2, &b->parent2) &&
		same_expect(&a->target2, &b->target2) && same_version(&a->version, &b->version) &&
		same_version(&a->version2, &b->version2) && a->set == b->set &&
		a->mode == b->mode && a->uid == b->uid && a->gid == b->gid && a->rdev == b->rdev &&
		a->size == b->size && time_equals(a->atime, b->atime) &&
		time_equals(a->mtime, b->mtime) && a->offset == b->offset &&
		a->offset2 == b->offset2 && a->length == b->length &&
		same_string(a->name, b->name) && a->data_len == b->data_len &&
		(!a->data_len || memcmp(a->data, b->data, a->data_len) == 0);
}

Test(wire, an_apply_comes_back)
{
	AUTO_BUF struct buf m = put_apply();
	struct apply_request got;
	struct change want = extreme_change();
	AUTO_FREE void *memory = NULL;

	cr_assert(eq(int, wire_get_apply(&m, &got, &memory, NULL), ERR_OK));
	cr_assert(eq(sz, got.changes_count, 2));
	cr_expect(memcmp(got.journal, any_bytes() + 100, JOURNAL_ID_SIZE) == 0);
	cr_expect(eq(u64, got.first_sequence, UINT64_MAX));
	cr_expect(got.is_plain);
	cr_expect(eq(u64, got.closed.below, UINT64_MAX));
	cr_expect(eq(u64, got.once, UINT64_MAX - 1));
	for (size_t i = 0; i < PLAIN_OPEN_MAX; i++)
		cr_expect(eq(u64, got.closed.open[i], i == 1 ? UINT64_MAX : i + 1));
	cr_expect(same_change(&got.changes[0], &want));
	want = CHANGE(UNLINK, "", .needs = 1);
	cr_expect(same_change(&got.changes[1], &want));
}

Test(wire, a_change_alone_comes_back_and_nothing_behind_it)
{
	AUTO_BUF struct buf m = BUF_INIT(WIRE_REQUEST_MAX);
	struct change got, want = extreme_change();

	cr_assert(wire_put_change(&m, &want));
	cr_assert(eq(int, wire_get_change(&m, &got, NULL), ERR_OK));
	cr_expect(same_change(&got, &want));
	buf_add_byte(&m, 0);
	cr_expect(eq(int, wire_get_change(&m, &got, NULL), ERR_PROTOCOL));
}

Test(wire, a_command_comes_back)
{
	AUTO_BUF struct buf m = put_command();
	AUTO_BUF struct buf stop = put_stop();
	struct command_request got;
	AUTO_FREE void *memory = NULL;
	const char *marker;
	bool now;

	cr_assert(eq(int, wire_get_command(&m, &got, &memory, NULL), ERR_OK));
	cr_expect(same_string(got.marker, A_MARKER) && same_string(got.text, any_name()));
	cr_expect(same_string(got.cwd, any_name()));
	cr_assert(got.env_count == 2 && got.forget_count == 1);
	cr_expect(same_string(got.env[0], "A=") && same_string(got.env[1], "B=b c"));
	cr_expect(same_string(got.forget[0], A_MARKER));
	cr_expect(got.input_len == 256 && memcmp(got.input, any_bytes(), 256) == 0);
	cr_expect(got.timeout_ms == UINT64_MAX && got.from == INT64_MAX / 2);
	cr_expect(got.wait_ms == UINT32_MAX && got.more_ms == 1 && got.answer_max == UINT32_MAX);
	cr_assert(eq(int, wire_get_stop(&stop, &marker, &now, NULL), ERR_OK));
	cr_expect(now && same_string(marker, A_MARKER));
}

Test(wire, what_became_of_a_command_comes_back)
{
	struct buf (*const puts[])(
		void) = { put_output, put_running, put_ended, put_refused, put_ended_with_root };
	AUTO_BUF struct buf m = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct command_piece got[COUNT(puts)];
	size_t at = 0;

	for (size_t i = 0; i < COUNT(puts); i++) {
		AUTO_BUF struct buf one = puts[i]();

		buf_add(&m, one.bytes, one.len);
	}
	for (size_t i = 0; i < COUNT(puts); i++)
		cr_assert(eq(int, wire_get_command_piece(&m, &at, &got[i], NULL), ERR_OK));
	cr_assert(eq(sz, at, m.len));
	cr_expect(got[0].kind == COMMAND_ERR && got[0].next == UINT64_MAX);
	cr_expect(got[0].len == 256 && memcmp(got[0].bytes, any_bytes(), 256) == 0);
	cr_expect(got[1].kind == COMMAND_RUNNING && got[1].next == 1);
	cr_expect(got[2].kind == COMMAND_ENDED && got[2].timed_out);
	cr_expect(eq(u32, got[2].exit_code, UINT32_MAX));
	cr_expect(zero(u32, got[2].root.mode), "nobody told");
	cr_expect(eq(u32, got[4].root.mode, S_IFDIR | 0700));
	cr_expect(eq(u64, got[4].root.ino, extreme_attr.ino));
	cr_expect(got[3].kind == COMMAND_REFUSED && got[3].err == ERR_NOT_FOUND);
	cr_expect(eq(str, got[3].why, "not there"));
}

Test(wire, a_command_that_cannot_be_followed_or_a_refusal_without_a_reason_is_refused)
{
	struct command_request request = { .marker = A_MARKER, .cwd = "" };
	AUTO_BUF struct buf far = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_BUF struct buf calm =
		put_command_piece(&(struct command_piece){ .kind = COMMAND_REFUSED });

	cr_expect(ne(int, decode_command_piece(&calm, NULL), ERR_OK));
	request.from = (uint64_t)INT64_MAX / 2 + 1;
	cr_assert(wire_put_command(&far, &request));
	cr_expect(ne(int, decode_command(&far, NULL), ERR_OK));
}

Test(wire, every_kind_of_list_item_comes_back)
{
	struct buf (*const puts[])(void) = { put_self, put_failed_self, put_dir, put_entry,
		put_dir_end, put_list_end };
	AUTO_BUF struct buf m = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct list_decoded got[COUNT(puts)];
	size_t at = 0;

	for (size_t i = 0; i < COUNT(puts); i++) {
		AUTO_BUF struct buf one = puts[i]();

		buf_add(&m, one.bytes, one.len);
	}
	for (size_t i = 0; i < COUNT(puts); i++)
		cr_assert(eq(int, wire_get_list_item(&m, &at, &got[i], NULL), ERR_OK));
	cr_assert(eq(sz, at, m.len));
	cr_expect(eq(u32, got[0].item.start, UINT32_MAX));
	cr_expect(same_string(got[0].item.link, "../\x01\xff"));
	cr_assert(eq(sz, got[0].item.xattrs_count, 2));
	cr_expect(same_string(got[0].item.xattrs[0].name, "user.none"));
	cr_expect(eq(sz, got[0].item.xattrs[0].value_len, 0));
	cr_expect(same_string(got[0].item.xattrs[1].name, any_name()));
	cr_expect(memcmp(got[0].item.xattrs[1].value, any_bytes(), 256) == 0);
	cr_expect(eq(int, got[1].item.err, ERR_OVERFLOW));
	cr_expect(same_string(got[2].item.path, any_name()));
	cr_expect(same_string(got[3].item.name, any_name()) && !got[3].item.link);
	cr_expect(same_attr(&got[3].item.attr, &extreme_attr));
	cr_expect(got[4].item.err == ERR_DENIED && got[4].item.complete);
	cr_expect(eq(i64, got[5].item.now.tv_sec, INT64_MAX));
	cr_expect(memcmp(&got[5].item.space, &extreme_space, sizeof extreme_space) == 0);
}

Test(wire, pieces_of_files_come_back)
{
	AUTO_BUF struct buf data = put_data();
	AUTO_BUF struct buf done = put_done();
	AUTO_BUF struct buf failed = put_failed_fetch();
	struct fetch_piece got;
	size_t at = 0;

	cr_assert(eq(int, wire_get_fetch_piece(&data, &at, &got, NULL), ERR_OK));
	cr_expect(got.kind == FETCH_DATA && got.item == UINT32_MAX && got.offset == UINT64_MAX);
	cr_expect(got.len == 256 && memcmp(got.bytes, any_bytes(), 256) == 0);
	at = 0;
	cr_assert(eq(int, wire_get_fetch_piece(&done, &at, &got, NULL), ERR_OK));
	cr_expect(got.kind == FETCH_DONE && got.err == ERR_OK && got.offset == UINT64_MAX);
	cr_expect(same_attr(&got.attr, &extreme_attr));
	at = 0;
	cr_assert(eq(int, wire_get_fetch_piece(&failed, &at, &got, NULL), ERR_OK));
	cr_expect(got.err == ERR_STALE && strcmp(got.why, "it changed") == 0);
}

Test(wire, a_result_comes_back)
{
	AUTO_BUF struct buf m = put_change_result();
	struct change_result got;
	size_t at = 0;

	cr_assert(eq(int, wire_get_change_result(&m, &at, &got, NULL), ERR_OK));
	cr_expect(eq(int, got.err, ERR_NO_SPACE));
	cr_expect(eq(sz, strlen(got.why), sizeof got.why - 1));
	cr_expect(got.count == UINT64_MAX && got.offset == UINT64_MAX);
	cr_expect(got.has_attr && got.has_parent && got.has_parent2 && got.was_over);
	cr_expect(got.left.size == UINT64_MAX && got.left.mtime.tv_sec == -1 &&
		got.left.ctime.tv_nsec == 2);
	cr_expect(got.before.size == 5 && got.before.mtime.tv_nsec == 4 &&
		got.before.ctime.tv_sec == -2);
	cr_expect(got.over.size == 6 && got.over.mtime.tv_nsec == 8 && got.over.ctime.tv_sec == 9);
	cr_expect(same_attr(&got.attr, &extreme_attr) && same_attr(&got.parent2, &extreme_attr));
}

Test(wire, a_watched_change_comes_back)
{
	AUTO_BUF struct buf m = put_watch_event();
	struct watch_event got;
	size_t at = 0;

	cr_assert(eq(int, wire_get_watch_event(&m, &at, &got, NULL, NULL), ERR_OK));
	cr_expect(got.kind == WATCH_CREATED && got.is_dir && same_string(got.path, any_name()));
	cr_expect(same_string(got.from, "old/name"));
	cr_expect(got.has_attr && same_attr(&got.attr, &extreme_attr));
}

Test(wire, attributes_of_what_is_not_there_are_refused)
{
	static const enum watch_kind kinds[] = { WATCH_READY, WATCH_REMOVED, WATCH_LOST };

	for (size_t i = 0; i < COUNT(kinds); i++) {
		AUTO_BUF struct buf m = BUF_INIT(FRAME_PAYLOAD_MAX);

		wire_put_watch_event(&m,
			&(struct watch_event){ .kind = kinds[i],
				.path = "a",
				.has_attr = true,
				.attr = extreme_attr });
		cr_expect(eq(int, decode_watch_event(&m, NULL), ERR_PROTOCOL), "kind %d", kinds[i]);
	}
}

Test(wire, an_item_of_a_watch_comes_back)
{
	AUTO_BUF struct buf m = BUF_INIT(FRAME_PAYLOAD_MAX);
	static struct list_decoded kept;
	struct watch_event got;
	size_t at = 0;

	wire_put_watch_event(&m,
		&(struct watch_event){ .kind = WATCH_ITEM,
			.item = &(struct list_item){
				.kind = LIST_DIR, .start = 3, .path = "a/b" } });
	cr_assert(eq(int, wire_get_watch_event(&m, &at, &got, &kept, NULL), ERR_OK));
	cr_expect(eq(ulong, at, m.len));
	cr_expect(got.kind == WATCH_ITEM && got.item->kind == LIST_DIR && got.item->start == 3);
	cr_expect(eq(str, (char *)got.item->path, "a/b"));
}

Test(wire, a_watch_says_who_watches_and_what_it_lists_first)
{
	const char *starts[] = { "a", "b" };
	const struct list_request list = { .starts = starts, .starts_count = 2, .depth = 7 };
	AUTO_BUF struct buf none = BUF_INIT(WIRE_REQUEST_MAX), m = BUF_INIT(WIRE_REQUEST_MAX);
	AUTO_FREE void *nothing = NULL, *memory = NULL;
	struct watch_request got, by_somebody = { .watcher = "it is somebody", .first = &list };
	struct list_request first;

	wire_put_watch(&none, &(struct watch_request){ 0 });
	cr_assert(eq(int, wire_get_watch(&none, &got, &first, &nothing, NULL), ERR_OK));
	cr_expect(got.first == NULL && !memcmp(got.watcher, &(struct watch_request){ 0 }, 16));
	none.len--;
	cr_expect(eq(int, wire_get_watch(&none, &got, &first, &nothing, NULL), ERR_PROTOCOL));
	wire_put_watch(&m, &by_somebody);
	cr_assert(eq(int, wire_get_watch(&m, &got, &first, &memory, NULL), ERR_OK));
	cr_expect(memcmp(got.watcher, by_somebody.watcher, sizeof got.watcher) == 0);
	cr_expect(got.first == &first && first.depth == 7 && first.starts_count == 2);
	m.len--;
	cr_expect(eq(int, wire_get_watch(&m, &got, &first, &nothing, NULL), ERR_PROTOCOL));
}

Test(wire, hello_comes_back)
{
	AUTO_BUF struct buf m = put_hello();
	struct hello got, want = extreme_hello();

	cr_assert(eq(int, wire_get_hello(&m, &got, NULL), ERR_OK));
	cr_expect(got.version == want.version && got.has_staging);
	cr_expect(memcmp(&got.identity, &want.identity, sizeof want.identity) == 0);
	cr_expect(time_equals(got.root.now, want.root.now));
	cr_expect(same_attr(&got.root.attr, &want.root.attr));
	cr_expect(memcmp(&got.root.space, &want.root.space, sizeof want.root.space) == 0);
}

Test(wire, an_end_brings_its_error)
{
	for (unsigned kind = 0; error_is_kind(kind); kind++) {
		AUTO_BUF struct buf m = BUF_INIT(FRAME_PAYLOAD_MAX);
		struct error e = { 0 };

		cr_assert(wire_put_end(&m, (enum err)kind, "why\x1b it failed"));
		cr_expect(eq(int, wire_get_end(&m, &e), kind));
		cr_expect(eq(str, e.text, kind ? "why? it failed" : ""));
	}
}

/* ---- Refusals ---- */

Test(wire, a_hello_of_a_root_that_is_no_directory_is_refused)
{
	AUTO_BUF struct buf m = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct hello got, sent = extreme_hello();

	sent.root.attr.mode = S_IFREG | 0644;
	cr_assert(wire_put_hello(&m, &sent));
	cr_expect(eq(int, wire_get_hello(&m, &got, NULL), ERR_PROTOCOL));
}

static const char *const bad_names[] = { "", ".", "..", "a/b", "/", "/a", "a/" };

Test(wire, an_entry_with_a_name_that_is_none_is_refused)
{
	for (size_t i = 0; i < COUNT(bad_names); i++) {
		AUTO_BUF struct buf m = put_list_item(&(struct list_item){
			.kind = LIST_ENTRY, .name = bad_names[i], .attr = extreme_attr });

		cr_expect(eq(int, decode_list_item(&m, NULL), ERR_PROTOCOL), "'%s'", bad_names[i]);
	}
}

static const char *const bad_paths[] = { "/staged", "..", "a/..", "../a", "a//b", "a/", "./a",
	"a/./b" };

Test(wire, a_directory_or_event_at_a_path_that_is_none_is_refused)
{
	for (size_t i = 0; i < COUNT(bad_paths); i++) {
		AUTO_BUF struct buf dir = put_list_item(
			&(struct list_item){ .kind = LIST_DIR, .path = bad_paths[i] });
		AUTO_BUF struct buf event = BUF_INIT(FRAME_PAYLOAD_MAX);

		wire_put_watch_event(&event,
			&(struct watch_event){ .kind = WATCH_CREATED, .path = bad_paths[i] });
		cr_expect(
			eq(int, decode_list_item(&dir, NULL), ERR_PROTOCOL), "'%s'", bad_paths[i]);
		cr_expect(eq(int, decode_watch_event(&event, NULL), ERR_PROTOCOL), "'%s'",
			bad_paths[i]);
	}
}

/* Overwrites the first `from` in the message, NULs and all. */
static void replace(struct buf *m, const void *from, const void *to, size_t len)
{
	unsigned char *at = memmem(m->bytes, m->len, from, len);

	cr_assert(at != NULL);
	memcpy(at, to, len);
}

Test(wire, a_nul_inside_a_name_is_refused_on_both_sides)
{
	AUTO_BUF struct buf entry = put_list_item(&(struct list_item){
		.kind = LIST_ENTRY, .name = "left-right", .attr = extreme_attr });
	AUTO_BUF struct buf list = put_list();

	replace(&entry, "left-right", "left\0right", 10);
	replace(&list, "a/b/c", "a/b\0c", 5);
	cr_expect(eq(int, decode_list_item(&entry, NULL), ERR_PROTOCOL));
	cr_expect(eq(int, decode_list(&list, NULL), ERR_PROTOCOL));
}

Test(wire, a_request_with_a_bad_path_is_refused_by_the_verb)
{
	AUTO_BUF struct buf m = BUF_INIT(WIRE_REQUEST_MAX);
	const char *starts[] = { "../../etc", "a//b" };

	wire_put_list(&m, &(struct list_request){ .starts = starts, .starts_count = 2 });
	cr_expect(eq(int, decode_list(&m, NULL), ERR_OK));
}

Test(wire, attributes_that_no_file_has_are_refused)
{
	struct attr bad[] = { extreme_attr, extreme_attr, extreme_attr, extreme_attr,
		extreme_attr };

	bad[0].mode = 0644;
	bad[1].mode = S_IFREG | 0200000;
	bad[2].size = (uint64_t)INT64_MAX + 1;
	bad[3].mtime.tv_nsec = 1000000000;
	bad[4].mode = S_IFMT;
	for (size_t i = 0; i < COUNT(bad); i++) {
		AUTO_BUF struct buf m = put_list_item(
			&(struct list_item){ .kind = LIST_ENTRY, .name = "n", .attr = bad[i] });

		cr_expect(eq(int, decode_list_item(&m, NULL), ERR_PROTOCOL), "row %zu", i);
	}
}

Test(wire, a_links_text_belongs_to_a_link)
{
	AUTO_BUF struct buf m = put_list_item(&(struct list_item){
		.kind = LIST_ENTRY, .name = "n", .link = "to", .attr = extreme_attr });

	cr_expect(eq(int, decode_list_item(&m, NULL), ERR_PROTOCOL));
}

static enum err decode_change(const struct change *c)
{
	AUTO_BUF struct buf m = BUF_INIT(WIRE_REQUEST_MAX);

	cr_assert(wire_put_apply(&m, &(struct apply_request){ .changes = c, .changes_count = 1 }));
	return decode_apply(&m, NULL);
}

Test(wire, changes_outside_the_vocabulary_are_refused)
{
	static const struct change bad[] = {
		{ .op = 0, .path = "a" },
		CHANGE_ROW(OP_END, "a"),
		CHANGE_ROW(MKDIR, "a", .flags = 128),
		CHANGE_ROW(SETATTR, "a", .set = 64),
		CHANGE_ROW(MKDIR, "a", .needs = 1),
		CHANGE_ROW(RENAME, "a"),
		CHANGE_ROW(LINK, "a"),
		CHANGE_ROW(COPY, "a"),
		CHANGE_ROW(PLACE, "a"),
		CHANGE_ROW(SETXATTR, "a"),
		CHANGE_ROW(REMOVEXATTR, "a"),
	};

	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect(eq(int, decode_change(&bad[i]), ERR_PROTOCOL), "row %zu", i);
}

/* ---- Limits ---- */

Test(wire, a_count_that_the_message_cannot_hold_costs_no_memory)
{
	static const decode decoders[] = { decode_list, decode_fetch, decode_apply };
	struct buf (*const puts[])(void) = { put_list, put_fetch, put_apply };
	static const size_t count_at[] = { 4 + 4 + 8 + 8, 0, JOURNAL_ID_SIZE + 8 };
	static const unsigned char counts[][4] = { { 0xff, 0xff, 0xff, 0xff },
		{ 0xa1, 0x86, 0x01, 0 }, { 0xa0, 0x86, 0x01, 0 } };

	for (size_t i = 0; i < COUNT(decoders); i++)
		for (size_t c = 0; c < COUNT(counts); c++) {
			AUTO_BUF struct buf m = puts[i]();

			memcpy(m.bytes + count_at[i], counts[c], 4);
			cr_expect(eq(int, decoders[i](&m, NULL), ERR_PROTOCOL), "%zu/%zu", i, c);
		}
}

Test(wire, a_batch_of_the_largest_size_passes_and_one_more_does_not)
{
	AUTO_FREE const char **starts = calloc(WIRE_BATCH_MAX + 1, sizeof *starts);
	struct list_request request = { .starts = starts, .starts_count = WIRE_BATCH_MAX };
	AUTO_BUF struct buf m = BUF_INIT(WIRE_REQUEST_MAX);

	for (size_t i = 0; i <= WIRE_BATCH_MAX; i++)
		starts[i] = "";
	cr_assert(wire_put_list(&m, &request));
	cr_expect(eq(int, decode_list(&m, NULL), ERR_OK));
	buf_reset(&m);
	request.starts_count++;
	cr_expect(not(wire_put_list(&m, &request)));
}

Test(wire, data_of_the_largest_size_passes_and_one_more_does_not)
{
	AUTO_FREE unsigned char *data = calloc(1, VERB_DATA_MAX + 1);
	struct change c = CHANGE(WRITE, "f", .data = data, .data_len = VERB_DATA_MAX);
	struct apply_request request = { .changes = &c, .changes_count = 1 };
	AUTO_BUF struct buf m = BUF_INIT(WIRE_REQUEST_MAX);

	cr_assert(wire_put_apply(&m, &request));
	cr_expect(eq(int, decode_apply(&m, NULL), ERR_OK));
	buf_reset(&m);
	c.data_len++;
	cr_expect(not(wire_put_apply(&m, &request)));
}

Test(wire, the_largest_records_fit_a_frame)
{
	AUTO_FREE char *bytes = malloc(VERB_DATA_MAX + 1);
	AUTO_FREE char *path = malloc(PATH_LENGTH_MAX + 1);
	AUTO_BUF struct buf m = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct attr link = extreme_attr;

	memset(bytes, 'b', VERB_DATA_MAX);
	for (size_t i = 0; i < PATH_LENGTH_MAX; i++)
		path[i] = i % 2 ? '/' : 'p';
	path[PATH_LENGTH_MAX] = 0;
	link.mode = S_IFLNK;
	bytes[VERB_LINK_MAX] = 0;
	cr_expect(wire_put_fetch_piece(&m,
		&(struct fetch_piece){ .kind = FETCH_DATA, .bytes = bytes, .len = VERB_DATA_MAX }));
	cr_expect(wire_put_list_item(&m, &(struct list_item){ .kind = LIST_DIR, .path = path }));
	cr_expect(wire_put_list_item(&m,
		&(struct list_item){
			.kind = LIST_ENTRY, .name = any_name(), .link = bytes, .attr = link }));
}

Test(wire, more_attributes_than_the_limit_are_not_sent)
{
	AUTO_FREE struct xattr *xattrs = calloc(WIRE_XATTRS_MAX + 1, sizeof *xattrs);
	struct list_item item = { .kind = LIST_SELF,
		.attr = extreme_attr,
		.xattrs = xattrs,
		.xattrs_count = WIRE_XATTRS_MAX };
	AUTO_BUF struct buf m = BUF_INIT(FRAME_PAYLOAD_MAX);

	for (size_t i = 0; i <= WIRE_XATTRS_MAX; i++)
		xattrs[i] = (struct xattr){ .name = "user.x", .value = "", .value_len = 0 };
	cr_assert(wire_put_list_item(&m, &item));
	cr_expect(eq(int, decode_list_item(&m, NULL), ERR_OK));
	buf_reset(&m);
	item.xattrs_count++;
	cr_expect(not(wire_put_list_item(&m, &item)));
}
