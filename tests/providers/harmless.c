/* Which characters of foreign text may stand in a line: providers/base/harmless.h. */
#include "providers/base/harmless.h"

#include "providers/base/error.h"
#include "providers/base/utf8.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

TestSuite(harmless, .timeout = 300);

static size_t encode(uint32_t point, char out[5])
{
	static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	out[len] = '\0';
	for (size_t i = len - 1; i; i--, point >>= 6)
		out[i] = (char)(0x80 | (point & 0x3f));
	out[0] = (char)(leads[len] | point);
	return len;
}

static bool is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

static bool is_of_direction(uint32_t point)
{
	return point == 0x61c || point == 0x200e || point == 0x200f ||
		(point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x206f);
}

Test(harmless, of_all_code_points_controls_and_those_of_direction_and_lines_are_replaced)
{
	for (uint32_t point = 1; point < 0x110000; point++) {
		bool is_line = point == 0x2028 || point == 0x2029;
		bool is_surrogate = point >= 0xd800 && point < 0xe000;
		char text[8], same[8];
		size_t len = encode(point, text);

		if (is_surrogate)
			continue;
		strcpy(same, text);
		cr_assert(eq(u32, utf8_point((unsigned char *)text, len), point));
		harmless_make_string(text);
		if (is_control(point) || is_of_direction(point) || is_line)
			cr_assert(eq(str, text, "?"), "U+%04X", point);
		else
			cr_assert(eq(str, text, same), "U+%04X", point);
	}
}

Test(harmless, a_byte_that_is_no_character_is_replaced)
{
	for (int byte = 0x80; byte < 256; byte++) {
		char text[] = { 'a', (char)byte, 'z', 0 };

		harmless_make_string(text);
		cr_expect(eq(str, text, "a?z"), "%02x", byte);
	}
	for (int byte = 0xc2; byte < 0xf5; byte++) {
		char text[] = { 'a', (char)byte, 0 };

		harmless_make_string(text);
		cr_expect(eq(str, text, "a?"), "%02x at the end", byte);
	}
}

Test(harmless, text_of_a_given_length_may_hold_nul)
{
	char text[] = "a\0b\xc2\x9b\xc3\xa4";

	cr_expect(eq(sz, harmless_make(text, sizeof text - 1), 6));
	cr_expect(zero(int, memcmp(text, "a?b?\xc3\xa4", 6)));
	cr_expect(eq(sz, harmless_run("ab\xc3\xa4\xc2\x9bz", 7), 4));
}

Test(harmless, a_sentence_that_is_too_long_keeps_the_reason_at_its_end)
{
	char sentence[1000], fitted[60];

	memset(sentence, 'd', sizeof sentence);
	snprintf(sentence + 900, 100, "/file: was changed in the sandbox");
	harmless_fit(fitted, sizeof fitted, sentence);
	cr_expect(eq(sz, strlen(fitted), sizeof fitted - 1));
	cr_expect(zero(int, strncmp(fitted, "dddd", 4)), "%s", fitted);
	cr_expect(ne(ptr, strstr(fitted, "was changed in the sandbox"), NULL), "%s", fitted);
	harmless_fit(fitted, sizeof fitted, "brief: gone");
	cr_expect(eq(str, fitted, "brief: gone"));
}

Test(harmless, the_text_of_an_error_says_why_behind_a_path_of_any_length)
{
	struct error e = { 0 };
	char path[4000];

	memset(path, 'p', sizeof path);
	path[sizeof path - 1] = 0;
	error_set(&e, ERR_CONFLICT, "%s: was changed in the sandbox", path);
	cr_expect(ne(ptr, strstr(e.text, "p: was changed in the sandbox"), NULL), "%s", e.text);
	error_errno(&e, ENOENT, "%s", path);
	cr_expect(ne(ptr, strstr(e.text, "p: no such file"), NULL), "%s", e.text);
}
