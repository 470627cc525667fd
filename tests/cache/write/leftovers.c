/* Files that a mount leaves in staging at its end. */
#include "cache/write/leftovers.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/contents.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "providers/helper/staging.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <glob.h>
#include <stdio.h>
#include <time.h>

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
	distant_keep_journal(&far);
	far.cache->writeback->pause_ms = 10;
	scratch_write_text(&far.scratch, "f", "before");
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(leftovers, .init = setup, .fini = teardown, .timeout = 300);

static size_t records(void)
{
	char pattern[160];
	glob_t found;

	snprintf(pattern, sizeof pattern, "%s/.staging/*-*", far.scratch.path);
	size_t count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;

	globfree(&found);
	return count;
}

/* Changes with a number of their own and without one: each has a record. */
static void change(void)
{
	const struct change mode = { .set = SET_MODE, .mode = 0600 };
	struct inode *i = distant_open_known(&far, "f");

	distant_write(&far, i, 0, "after.");
	cr_assert(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, false, NULL), ERR_OK));
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cr_assert(ge(sz, records(), 1));
	distant_close(&far, i);
}

static void change_with_a_lost_answer(void)
{
	far.lose_next = 1;
	change();
	cr_assert(eq(uint, far.lose_next, 0));
}

static void break_off_in_a_change(void)
{
	struct inode *i = distant_open_known(&far, "f");

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "after.");
	distant_await_applies(&far, 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "after.");
}

static void expect_after(int64_t seconds, size_t wanted)
{
	staging_clean(&far.root, time(NULL) + seconds);
	cr_expect(eq(sz, records(), wanted), "after %lld s", (long long)seconds);
}

/* Some minutes are left for a slow machine. */
static void expect_to_last_an_hour(void)
{
	size_t count = records();

	cr_expect(ge(sz, count, 1));
	expect_after(LEFTOVERS_LATE_MS / 1000 - 600, count);
	expect_after(LEFTOVERS_LATE_MS / 1000 + 10, 0);
}

Test(leftovers, records_go_with_a_mount_whose_changes_were_all_answered)
{
	change();
	distant_break_off(&far);
	cr_expect(eq(sz, records(), 0));
}

Test(leftovers, records_stay_for_an_hour_where_a_change_was_not_answered)
{
	change_with_a_lost_answer();
	distant_break_off(&far);
	expect_to_last_an_hour();
}

Test(leftovers, records_go_where_the_last_change_without_an_answer_was_an_hour_ago)
{
	change_with_a_lost_answer();
	far.cache->unanswered_ms = monotonic_ms() - LEFTOVERS_LATE_MS;
	distant_break_off(&far);
	cr_expect(eq(sz, records(), 0));
}

Test(leftovers, records_stay_for_an_hour_where_the_mount_before_was_cut_off)
{
	break_off_in_a_change();
	distant_break_off(&far);
	expect_to_last_an_hour();
}

Test(leftovers, records_of_a_mount_that_was_cut_off_go_with_the_next_one_after_an_hour)
{
	break_off_in_a_change();
	far.cache->unanswered_ms = monotonic_ms() - LEFTOVERS_LATE_MS;
	distant_break_off(&far);
	cr_expect(eq(sz, records(), 0));
}
