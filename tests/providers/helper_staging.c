#include "providers/helper/staging.h"
#include "tests/support/shown.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

TestSuite(helper_staging, .timeout = 300);

static const struct {
	const char *name;
	bool stays_a_day, stays_a_month;
} rows[] = {
	{ "n-ff000000000000000000000000000000-1", true, false },
	{ "u-ff00000000000000-1", false, false },
	{ "seq-ff000000000000000000000000000000", true, false },
	{ "seq-aside-ff000000000000000000000000000000", true, false },
	{ "fence-ff000000000000000000000000000000", true, false },
	{ "watch-ff000000000000000000000000000000", false, false },
	{ "helper-abc", true, true },
	{ "nothing", true, true },
};

static void fill(struct shown *s)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char path[96];

	shown_make(s, false);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(path, sizeof path, "staging/%s", rows[i].name);
		scratch_write_text(&s->scratch, path, "");
		/* A file of old contents came just now, which moves its time of change alone. */
		if (strchr("nu", *rows[i].name) && rows[i].name[1] == '-')
			utimensat(s->scratch.fd, path, long_ago, 0);
	}
}

static void expect_after(int64_t seconds, size_t stays)
{
	struct shown s;

	fill(&s);
	staging_clean(&s.root, time(NULL) + seconds);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const bool want[] = { true, rows[i].stays_a_day, rows[i].stays_a_month };
		char path[96];

		snprintf(path, sizeof path, "staging/%s", rows[i].name);
		cr_expect(eq(int, shown_exists(&s, path), want[stays]), "%s", path);
	}
	shown_remove(&s);
}

Test(helper_staging, what_dead_mounts_left_goes_in_its_time)
{
	expect_after(STAGING_UNLINKED_S - 3600, 0);
	expect_after(STAGING_UNLINKED_S + 3600, 1);
	expect_after(STAGING_UNSYNCED_S + 3600, 2);
}

/* One change of a journal, under this number. */
static void apply_numbered(const struct shown *s, uint64_t number)
{
	const struct change change = { .op = CHANGE_CREATE, .path = "f", .mode = 0644 };
	struct apply_request request = {
		.journal = { 1 }, .first_sequence = number, .changes = &change, .changes_count = 1
	};
	struct change_result result;

	cr_assert(zero(int, helper_apply(&s->root, NULL, &request, &result, NULL)));
	cr_assert(zero(int, (int)result.err));
}

/* The second record of a journal begins in the middle of a mount's life, while a call waits. */
Test(helper_staging, what_dead_mounts_left_goes_with_the_first_record_of_a_journal_alone)
{
	static const char left[] = "staging/seq-ff000000000000000000000000000000";
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct shown s;

	shown_make(&s, false);
	scratch_write_text(&s.scratch, left, "");
	utimensat(s.scratch.fd, left, long_ago, 0);
	apply_numbered(&s, 1 | SEQUENCE_ASIDE);
	cr_expect(shown_exists(&s, left));
	apply_numbered(&s, 2);
	cr_expect(not(shown_exists(&s, left)));
	shown_remove(&s);
}

Test(helper_staging, a_root_without_staging_has_nothing_to_clean)
{
	struct root none = { .dir_fd = -1, .staging_fd = -1 };

	staging_clean(&none, INT64_MAX);
	cr_expect(eq(int, none.staging_fd, -1));
}
