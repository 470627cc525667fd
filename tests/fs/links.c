#include "fs/links.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

TestSuite(links, .timeout = 300);

Test(links, a_text_that_stays_inside_is_shown_as_it_is_and_no_other)
{
	static const struct {
		const char *text;
		unsigned depth;
		int contained;
	} rows[] = {
		{ "a", 0, 1 },
		{ "a/b/c", 0, 1 },
		{ "./a", 0, 1 },
		{ "../a", 0, 0 },
		{ "../a", 1, 1 },
		{ "../../a", 1, 0 },
		{ "../../..", 3, 1 },
		{ "./../a", 1, 1 },
		{ "a/../b", 5, 0 },
		{ "a/b/c/l1/../secret", 5, 0 },
		{ "../a/..", 5, 0 },
		{ "/etc/passwd", 5, 0 },
		{ "//etc", 5, 0 },
		{ "..a/b", 0, 1 },
		{ "a//b", 0, 1 },
		{ "", 0, 1 },
	};

	for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++)
		cr_expect(eq(int, !!links_is_contained(rows[n].text, rows[n].depth),
				  rows[n].contained),
			"'%s' at depth %u", rows[n].text, rows[n].depth);
}

Test(links, a_text_that_leads_out_is_rewritten_to_stay_inside)
{
	static const struct {
		const char *text;
		unsigned depth;
		const char *shown;
	} rows[] = {
		{ "/home/user/src/x", 0, "src/x" },
		{ "/home/user/src/x", 2, "../../src/x" },
		{ "/home/user", 0, "." },
		{ "/home/user", 1, ".." },
		{ "/home/username/x", 0, "home/username/x" },
		{ "/etc/passwd", 1, "../etc/passwd" },
		{ "/../../etc/passwd", 0, "etc/passwd" },
		{ "../../../secret", 1, "../secret" },
		{ "a/b/c/l1/../secret", 0, "a/b/c/secret" },
		{ "a/../../b", 1, "../b" },
		{ "a/../../../b", 1, "../b" },
		{ "a/..", 0, "." },
		{ "x/../..", 2, ".." },
	};
	char out[LINKS_TEXT_MAX];

	for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
		enum err kind = links_rewrite(
			rows[n].text, rows[n].depth, "/home/user", out, sizeof out, NULL);

		cr_expect(eq(int, kind, ERR_OK));
		cr_expect(eq(str, out, (char *)rows[n].shown), "'%s' at depth %u", rows[n].text,
			rows[n].depth);
	}
}

Test(links, whatever_is_rewritten_is_contained)
{
	static const char *const pieces[] = { "..", "a", ".", "", "bb" };
	char text[64], out[LINKS_TEXT_MAX];

	srandom(1);
	for (int round = 0; round < 20000; round++) {
		unsigned depth = (unsigned)random() % 4;

		text[0] = 0;
		if (random() % 2)
			strcat(text, "/");
		for (long n = random() % 8; n >= 0; n--) {
			strcat(text, pieces[random() % 5]);
			strcat(text, "/");
		}
		cr_assert(eq(
			int, links_rewrite(text, depth, "/a/bb", out, sizeof out, NULL), ERR_OK));
		cr_assert(links_is_contained(out, depth), "'%s' at depth %u became '%s'", text,
			depth, out);
	}
}

Test(links, a_text_that_does_not_fit_is_refused)
{
	char out[8];

	cr_expect(eq(int, links_rewrite("/a/very/long/text", 0, "/x", out, sizeof out, NULL),
		ERR_NAME_TOO_LONG));
}
