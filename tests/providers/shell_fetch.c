#include "tests/providers/shell_pair.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdio.h>
#include <sys/stat.h>

TestSuite(shell_fetch, .timeout = 300);

/* ---- fetch ---- */

/* What came for each item: bytes, then how it ended. */
static enum err keep_pieces(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct buf *out = context;

	if (piece->kind == FETCH_DATA)
		buf_add(out, piece->bytes, piece->len);
	else
		buf_printf(out, "\n<%u %s %ju %ju>\n", piece->item, error_words(piece->err),
			(uintmax_t)piece->offset, (uintmax_t)(piece->err ? 0 : piece->attr.size));
	return buf_check(out, "what was fetched", e);
}

static void expect_same_fetch(
	struct pair *w, const struct fetch_item *items, size_t count, const char *what)
{
	AUTO_BUF struct buf got = BUF_INIT(1 << 26), want = BUF_INIT(1 << 26);
	struct error e = { 0 };
	struct root r;

	cr_assert(root_open(&r, w->host.root, w->host.base.staging, &e) == ERR_OK);
	cr_expect(helper_fetch(&r, items, count, keep_pieces, &want, &e) == ERR_OK, "%s", e.text);
	cr_expect(shell_fetch(&w->host.base, NULL, items, count, keep_pieces, &got, &e) == ERR_OK,
		"%s: %s", w->shell, e.text);
	cr_expect(got.len == want.len && !memcmp(got.bytes, want.bytes, got.len),
		"%s: %s: %.3000s\n%.3000s", w->shell, what, buf_text(&got), buf_text(&want));
	root_close(&r);
}

static void expect_same_fetches(struct pair *w)
{
	AUTO_FREE unsigned char *bytes = pair_noise(3 * MEGABYTE + 17, 5);
	const uint64_t M = MEGABYTE;
	const struct fetch_item items[] = {
		{ .kind = FETCH_BYTES, .path = "big", .length = UINT64_MAX },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 1, .length = M },
		{ .kind = FETCH_BYTES, .path = "big", .offset = M - 1, .length = 2 * M + 3 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 3 * M + 16, .length = 100 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 3 * M + 17, .length = 100 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 9 * M, .length = 100 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 5, .length = 0 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = UINT64_MAX, .length = 1 },
		{ .kind = FETCH_BYTES, .path = "none", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX },
		{ .kind = FETCH_BYTES, .path = "d", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "l", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "p", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "ld/in", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "f", .length = 5, .target = { .dev = 1, .ino = 1 } },
		{ .kind = FETCH_BYTES, .path = "closed", .length = UINT64_MAX },
		{ .kind = FETCH_BYTES, .path = "closed", .length = 9, .flags = CHANGE_BY_HANDLE },
		{ .kind = FETCH_HASHES, .path = "big", .length = UINT64_MAX, .block_size = 131072 },
		{ .kind = FETCH_HASHES,
			.path = "big",
			.offset = 4096,
			.length = 100000,
			.block_size = 4096 },
		{ .kind = FETCH_HASHES, .path = "big", .length = UINT64_MAX, .block_size = 512 },
		{ .kind = FETCH_HASHES,
			.path = "big",
			.offset = 1,
			.length = 9,
			.block_size = 4096 },
		{ .kind = FETCH_HASHES, .path = "f", .length = UINT64_MAX, .block_size = 0 },
		{ .kind = FETCH_HASHES, .path = "empty", .length = UINT64_MAX, .block_size = 4096 },
		{ .kind = FETCH_SEEK_DATA, .path = "f", .offset = 3 },
		{ .kind = FETCH_SEEK_HOLE, .path = "f", .offset = 3 },
		{ .kind = FETCH_SEEK_DATA, .path = "f", .offset = 10 },
		{ .kind = FETCH_SEEK_HOLE, .path = "f", .offset = 11 },
		{ .kind = FETCH_BYTES, .path = "/t", .length = UINT64_MAX },
		{ .kind = FETCH_BYTES, .path = "..", .length = 1 },
	};

	pair_make_fixtures(w);
	scratch_write(&w->by_shell, "big", bytes, 3 * MEGABYTE + 17);
	scratch_write_text(&w->by_shell, "empty", "");
	expect_same_fetch(w, items, sizeof items / sizeof *items, "all at once");
	cr_expect(eq(sz, w->host.executed, 1));
	for (size_t i = 0; i < sizeof items / sizeof *items; i++)
		expect_same_fetch(w, &items[i], 1, items[i].path);
}

OVER_SHELLS(shell_fetch, what_is_fetched_is_what_the_helper_fetches)
{
	expect_same_fetches(w);
}

OVER_SHELLS_AS_NOBODY(shell_fetch, what_is_fetched_is_what_the_helper_fetches_for_an_ordinary_user)
{
	struct stat st;

	expect_same_fetches(w);
	fstatat(w->by_shell.fd, "closed", &st, 0);
	cr_expect(eq(u32, st.st_mode & 07777, 0), "the mode is put back");
}

OVER_SHELLS(shell_fetch, a_piece_far_into_a_file_is_not_read_up_to)
{
	const struct fetch_item item = { .kind = FETCH_BYTES,
		.path = "sparse",
		.offset = (UINT64_C(1) << 42) + 12345,
		.length = 4096 };
	int64_t before = monotonic_ms();

	scratch_write_text(&w->by_shell, "sparse", "");
	cr_assert(pair_apply_one(w,
			  (struct change){ .op = CHANGE_WRITE,
				  .path = "sparse",
				  .offset = item.offset + 100,
				  .data = "far",
				  .data_len = 3 })
			  .err == ERR_OK);
	expect_same_fetch(w, &item, 1, "far");
	cr_expect(monotonic_ms() - before < 60000);
}
