#include "fs/control/exec_capture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(exec_capture, .timeout = 300);

/* Gives `text` in pieces of `step` bytes and compares the part that is kept. */
static void expect_kept(
	size_t limit, const char *text, size_t step, const char *kept, bool truncated)
{
	struct exec_capture c = EXEC_CAPTURE_INIT(limit);
	size_t len = strlen(text);

	for (size_t at = 0; at < len; at += step)
		exec_capture_add(&c, text + at, len - at < step ? len - at : step);
	exec_capture_end(&c);
	cr_expect(eq(str, (char *)buf_text(&c.bytes), (char *)kept), "%s by %zu", text, step);
	cr_expect(eq(int, c.truncated, truncated), "%s by %zu", text, step);
	exec_capture_release(&c);
}

Test(exec_capture, the_first_and_the_last_bytes_are_kept)
{
	static const struct {
		const char *text, *kept;
		bool truncated;
	} rows[] = {
		{ "", "", false },
		{ "abc", "abc", false },
		{ "abcdefgh", "abcdefgh", false },
		{ "abcdefghi", "abcdfghi", true },
		{ "abcdefghijkl", "abcdijkl", true },
		{ "abcdefghijklmnopqrstuvwxyz", "abcdwxyz", true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t step = 1; step <= 27; step++)
			expect_kept(8, rows[i].text, step, rows[i].kept, rows[i].truncated);
}

Test(exec_capture, text_is_cut_between_characters)
{
	/* Two bytes each: the limit's half falls within one. */
	expect_kept(6, "\u00e4\u00f6\u00fc\u00c4\u00d6", 3, "\u00e4\u00d6", true);
	expect_kept(6, "\u00e4\u00f6\u00fc", 1, "\u00e4\u00f6\u00fc", false);
	/* Four bytes, cut after one, two and three. */
	expect_kept(2, "\U0001F600aaaab", 1, "b", true);
	expect_kept(4, "\U0001F600aaaab", 1, "ab", true);
	expect_kept(6, "\U0001F600aaaab", 1, "aab", true);
}

Test(exec_capture, never_holds_more_than_one_and_a_half_times_its_limit)
{
	struct exec_capture c = EXEC_CAPTURE_INIT(1000);
	char piece[777];

	memset(piece, 'x', sizeof piece);
	for (int i = 0; i < 1000; i++) {
		exec_capture_add(&c, piece, sizeof piece);
		cr_assert(le(sz, c.bytes.len, 1500));
	}
	exec_capture_end(&c);
	cr_expect(eq(sz, c.bytes.len, 1000));
	cr_expect(c.truncated);
	exec_capture_release(&c);
}
