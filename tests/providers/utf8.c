#include "providers/base/utf8.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(utf8, .timeout = 300);

/* Writes `code` without asking whether it may be written. */
static size_t encode(unsigned code, unsigned char *out)
{
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char first[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };

	for (size_t i = len - 1; i > 0; i--, code >>= 6)
		out[i] = (unsigned char)(0x80 | (code & 0x3f));
	out[0] = (unsigned char)(first[len] | code);
	return len;
}

Test(utf8, every_character_is_valid_and_nothing_else_is)
{
	for (unsigned code = 0; code < 0x1fffff; code++) {
		unsigned char bytes[4];
		size_t len = encode(code, bytes);
		bool is_character = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);

		if (utf8_valid(bytes, len) != is_character)
			cr_fatal("U+%X", code);
	}
}

Test(utf8, what_cannot_go_on_is_one_piece)
{
	static const struct {
		const char *bytes;
		size_t piece;
	} rows[] = {
		{ "\x80", 1 },
		{ "\xc0\xaf", 1 },     /* an overlong slash */
		{ "\xe2\x82", 2 },     /* ends too early */
		{ "\xe2\x82\x41", 2 }, /* is interrupted */
		{ "\xed\xa0\x80", 1 }, /* a surrogate */
		{ "\xf0\x9f\x98\xc3", 3 },
		{ "\xf4\x90\x80\x80", 1 }, /* past the last character */
		{ "\xff", 1 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool valid;

		cr_expect(eq(sz,
				  utf8_next((const unsigned char *)rows[i].bytes,
					  strlen(rows[i].bytes), &valid),
				  rows[i].piece),
			"row %zu", i);
		cr_expect(not(valid), "row %zu", i);
	}
}

Test(utf8, nothing_is_text)
{
	cr_assert(utf8_valid(NULL, 0));
}

Test(utf8, a_cut_character_is_found_at_either_end)
{
	static const struct {
		const char *bytes;
		size_t at_end, at_start;
	} rows[] = {
		{ "", 0, 0 },
		{ "ab", 0, 0 },
		{ "a\xc3", 1, 0 },
		{ "a\xe2\x82", 2, 0 },
		{ "a\xf0\x9f\x98", 3, 0 },
		{ "a\xf0\x9f\x98\x80", 0, 0 },
		{ "\x9f\x98\x80z", 0, 3 },
		{ "\x80\x80\x80\x80z", 0, 3 },
		{ "a\xe0\x80", 0, 0 }, /* overlong: no beginning of anything */
		{ "\x80\x80\x80", 0, 3 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t len = strlen(rows[i].bytes);

		cr_expect(
			eq(sz, utf8_cut_at_end(rows[i].bytes, len), rows[i].at_end), "row %zu", i);
		cr_expect(eq(sz, utf8_cut_at_start(rows[i].bytes, len), rows[i].at_start),
			"row %zu", i);
	}
}
