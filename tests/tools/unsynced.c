#include "tools/unsynced.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(unsynced, .timeout = 300);

static bool parse(struct unsynced *out, const char *text)
{
	AUTO_BUF struct buf status = BUF_INIT(10000);

	buf_add_string(&status, text);
	return unsynced_parse(out, &status);
}

Test(unsynced, is_what_status_says)
{
	struct unsynced o;

	cr_assert(parse(&o,
		"{\"source\": \"e2b:x\", \"pending_changes\": 3, \"pending_bytes\": 4100000, "
		"\"parked_changes\": 2, \"journal\": {\"dir\": \"/j\", \"entries\": 3}}\n"));
	cr_expect(eq(i64, o.changes, 3));
	cr_expect(eq(i64, o.bytes, 4100000));
	cr_expect(eq(i64, o.refused, 2));
	cr_expect(eq(str, o.journal, "/j"));
}

Test(unsynced, is_kept_nowhere_without_a_journal)
{
	struct unsynced o;

	cr_assert(parse(&o, "{\"pending_changes\": 0, \"journal\": {\"dir\": null}}"));
	cr_expect(eq(str, o.journal, ""));
	cr_assert(parse(&o, "{\"pending_changes\": 0}"));
	cr_expect(eq(str, o.journal, ""));
}

Test(unsynced, is_not_read_from_anything_else)
{
	static const char *const texts[] = { "", "{}", "[]", "null", "{\"pending_changes\": \"3\"}",
		"{\"pending_changes\": 3" };
	struct unsynced o;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect(not(parse(&o, texts[i])), "%s", texts[i]);
}

Test(unsynced, is_said_in_a_few_words)
{
	static const struct {
		int64_t changes, bytes;
		const char *words;
	} rows[] = {
		{ 1, 4, "1 change, 4 bytes" },
		{ 0, 0, "0 changes, 0 bytes" },
		{ 3, 999, "3 changes, 999 bytes" },
		{ 20, 4100000, "20 changes, 4.1 MB" },
		{ 2, 7000000000000, "2 changes, 7.0 TB" },
	};
	char words[UNSYNCED_WORDS_MAX];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct unsynced o = { .changes = rows[i].changes, .bytes = rows[i].bytes };

		cr_expect(eq(str, (char *)unsynced_words(&o, words), (char *)rows[i].words));
	}
}
