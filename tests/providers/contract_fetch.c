#include "providers/base/cleanup.h"
#include "tests/providers/contract.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <xxhash.h>

/* "BYTES" of the whole file. */
static struct fetch_item whole(const char *path)
{
	return (struct fetch_item){ .kind = FETCH_BYTES, .path = path, .length = UINT64_MAX };
}

static bool got(const struct fetched *f, const void *bytes, size_t len)
{
	return f->err == ERR_OK && f->bytes.len == len &&
		(len == 0 || memcmp(f->bytes.bytes, bytes, len) == 0);
}

static unsigned char *pattern(size_t len)
{
	unsigned char *bytes = malloc(len);

	cr_assert(bytes != NULL);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(i * 2654435761U >> 10);
	return bytes;
}

BEHAVIOUR(fetch, gives_any_range)
{
	static const struct {
		uint64_t offset, length;
		const char *want;
	} rows[] = { { 0, 10, "0123456789" }, { 0, UINT64_MAX, "0123456789" }, { 3, 4, "3456" },
		{ 9, 1, "9" }, { 8, 100, "89" }, { 10, 5, "" }, { 1000, 5, "" }, { 2, 0, "" },
		{ 5, UINT64_MAX, "56789" } };
	struct fetch_item items[9];
	struct fetched f[9];

	outside_write_text(s, "f", "0123456789");
	for (size_t i = 0; i < 9; i++)
		items[i] = (struct fetch_item){ .kind = FETCH_BYTES,
			.path = "f",
			.offset = rows[i].offset,
			.length = rows[i].length };
	fetch_items(s, items, 9, f);
	for (size_t i = 0; i < 9; i++)
		cr_expect(got(&f[i], rows[i].want, strlen(rows[i].want)), "row %zu: %s", i,
			buf_text(&f[i].bytes));
	fetched_release(f, 9);
}

BEHAVIOUR(fetch, gives_the_attributes_the_bytes_were_read_under)
{
	struct fetch_item items[] = { whole("f"), whole("empty") };
	struct attr want;
	struct fetched f[2];

	outside_write_text(s, "f", "x");
	outside_write_text(s, "empty", "");
	fetch_items(s, items, 2, f);
	want = outside_attr(s, "f");
	want.atime = f[0].attr.atime;
	expect_same_attr(&f[0].attr, &want, "f");
	cr_expect(got(&f[1], "", 0));
	cr_expect(eq(u64, f[1].attr.ino, outside_attr(s, "empty").ino));
	fetched_release(f, 2);
}

BEHAVIOUR(fetch, gives_any_bytes_in_pieces)
{
	size_t len = (size_t)5 * VERB_DATA_MAX + 12345;
	AUTO_FREE unsigned char *bytes = pattern(len);
	struct fetch_item items[] = { whole("f"),
		{ .kind = FETCH_BYTES,
			.path = "f",
			.offset = 1234567,
			.length = (uint64_t)2 * VERB_DATA_MAX } };
	struct fetched f[2];

	outside_write(s, "f", bytes, len);
	fetch_items(s, items, 2, f);
	cr_assert(got(&f[0], bytes, len));
	cr_assert(got(&f[1], bytes + 1234567, (size_t)2 * VERB_DATA_MAX));
	fetched_release(f, 2);
}

BEHAVIOUR(fetch, one_missing_file_of_a_hundred_fails_alone)
{
	static char names[100][16];
	struct fetch_item items[100];
	struct fetched f[100];

	for (size_t i = 0; i < 100; i++) {
		snprintf(names[i], sizeof names[i], "f %zu\n", i);
		if (i != 42)
			outside_write_text(s, names[i], names[i]);
		items[i] = whole(names[i]);
	}
	fetch_items(s, items, 100, f);
	for (size_t i = 0; i < 100; i++)
		if (i == 42)
			cr_expect(eq(int, f[i].err, ERR_NOT_FOUND));
		else
			cr_expect(got(&f[i], names[i], strlen(names[i])), "%zu", i);
	fetched_release(f, 100);
}

BEHAVIOUR(fetch, each_refusal_has_its_errno)
{
	static const struct {
		const char *path;
		enum err want;
	} rows[] = { { "missing", ERR_NOT_FOUND }, { "d", ERR_IS_DIR }, { "f/x", ERR_NOT_DIR },
		{ "l", ERR_STALE }, { "out/passwd", ERR_STALE }, { "fifo", ERR_INVALID },
		{ "../user/f", ERR_INVALID }, { "d/../f", ERR_INVALID },
		{ "/missing", ERR_NOT_FOUND } };
	struct fetch_item items[9];
	struct fetched f[9];

	outside_mkdir(s, "d", 0755);
	outside_write_text(s, "f", "secret");
	outside_mkfifo(s, "fifo", 0644);
	outside_symlink(s, "f", "l");
	outside_symlink(s, "/etc", "out");
	for (size_t i = 0; i < 9; i++)
		items[i] = whole(rows[i].path);
	fetch_items(s, items, 9, f);
	for (size_t i = 0; i < 9; i++) {
		cr_expect(eq(int, f[i].err, rows[i].want), "%s", rows[i].path);
		cr_expect(eq(ulong, f[i].bytes.len, 0), "%s", rows[i].path);
	}
	fetched_release(f, 9);
}

BEHAVIOUR(fetch, a_file_that_is_another_is_stale)
{
	struct fetch_item items[2];
	struct fetched f[2];

	outside_write_text(s, "f", "x");
	outside_write_text(s, "other", "y");
	items[0] = items[1] = whole("f");
	items[0].target = outside_expect(s, "f");
	items[1].target = outside_expect(s, "other");
	outside_unlink(s, "other");
	fetch_items(s, items, 2, f);
	cr_expect(got(&f[0], "x", 1));
	cr_expect(eq(int, f[1].err, ERR_STALE));
	fetched_release(f, 2);
}

BEHAVIOUR(fetch, a_file_that_others_renamed_is_read_and_reported)
{
	struct fetch_item items[2];
	struct fetched f[2];

	outside_mkdir(s, "d", 0755);
	outside_write_text(s, "f", "x");
	items[0] = items[1] = whole("f");
	items[0].target = items[1].target = outside_expect(s, "f");
	items[1].kind = FETCH_WHERE;
	outside_rename(s, "f", "d/g");
	outside_write_text(s, "f", "another");
	fetch_items(s, items, 2, f);
	if (s->lacks & LACKS_BIRTH) {
		cr_expect(eq(int, f[0].err, ERR_STALE));
		cr_expect(eq(int, f[1].err, ERR_STALE));
	} else {
		cr_expect(got(&f[0], "x", 1));
		cr_expect(got(&f[1], "d/g", 3));
	}
	fetched_release(f, 2);
}

BEHAVIOUR(fetch, one_batch_may_name_a_file_twice)
{
	struct fetch_item items[] = { whole("f"), whole("f"), whole("f") };
	struct fetched f[3];

	outside_write_text(s, "f", "again");
	fetch_items(s, items, 3, f);
	for (size_t i = 0; i < 3; i++)
		cr_expect(got(&f[i], "again", 5));
	fetched_release(f, 3);
}

BEHAVIOUR(fetch, an_empty_batch_is_done)
{
	fetch_items(s, NULL, 0, NULL);
}

BEHAVIOUR(fetch, hashes_are_xxh3_of_each_block)
{
	enum { BLOCK = 65536, BLOCKS = 3 };
	size_t len = 2 * BLOCK + 1000;
	AUTO_FREE unsigned char *bytes = pattern(len);
	struct fetch_item item = {
		.kind = FETCH_HASHES, .path = "f", .length = UINT64_MAX, .block_size = BLOCK
	};
	struct fetched f;

	outside_write(s, "f", bytes, len);
	fetch_items(s, &item, 1, &f);
	cr_assert(eq(int, f.err, ERR_OK));
	cr_assert(eq(ulong, f.bytes.len, BLOCKS * sizeof(XXH128_canonical_t)));
	for (size_t i = 0; i < BLOCKS; i++) {
		XXH128_canonical_t want;
		size_t block_len = i < 2 ? BLOCK : 1000;

		XXH128_canonicalFromHash(&want, XXH3_128bits(bytes + i * BLOCK, block_len));
		cr_expect(
			memcmp(f.bytes.bytes + i * sizeof want, &want, sizeof want) == 0, "%zu", i);
	}
	fetched_release(&f, 1);
}

BEHAVIOUR(fetch, seeks_find_data_and_holes)
{
	struct fetch_item items[] = { { .kind = FETCH_SEEK_DATA, .path = "f" },
		{ .kind = FETCH_SEEK_HOLE, .path = "f" },
		{ .kind = FETCH_SEEK_DATA, .path = "f", .offset = 5000000 } };
	struct fetched f[3];
	uint64_t data, hole;

	outside_write_sparse(s, "f", 1 << 20);
	outside_seek(s, "f", &data, &hole);
	fetch_items(s, items, 3, f);
	cr_expect(eq(int, f[0].err, ERR_OK));
	cr_expect(eq(u64, f[0].offset, data));
	cr_expect(eq(int, f[1].err, ERR_OK));
	cr_expect(eq(u64, f[1].offset, hole));
	cr_expect(eq(int, f[2].err, ERR_NO_DATA));
	fetched_release(f, 3);
}

static enum err stop_fetch(void *context, const struct fetch_piece *piece, struct error *e)
{
	(void)piece;
	++*(int *)context;
	return error_set(e, ERR_NO_MEMORY, "enough");
}

BEHAVIOUR(fetch, a_sink_that_refuses_ends_it_and_leaves_the_provider_usable)
{
	size_t len = (size_t)3 * VERB_DATA_MAX;
	AUTO_FREE unsigned char *bytes = pattern(len);
	struct fetch_item item = whole("f");
	struct error e = { 0 };
	struct fetched f;
	int calls = 0;

	outside_write(s, "f", bytes, len);
	cr_assert(eq(
		int, provider_fetch(s->p, NULL, &item, 1, stop_fetch, &calls, &e), ERR_NO_MEMORY));
	cr_assert(eq(str, e.text, "enough"));
	cr_assert(eq(int, calls, 1));
	fetch_items(s, &item, 1, &f);
	cr_assert(got(&f, bytes, len));
	fetched_release(&f, 1);
}
