/*
 * Contents that left without a number of their own, of which a copy arrives when others have been
 * written since.
 */
#include "tests/cache/distant.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <glob.h>
#include <stdio.h>
#include <fcntl.h>

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
	distant_keep_journal(&far);
	scratch_write_text(&far.scratch, "f", "before");
	scratch_write_text(&far.scratch, "other", "before");
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(late_copy, .init = setup, .fini = teardown, .timeout = 300);

static void write_answered(struct inode *i, const char *text)
{
	distant_write(&far, i, 0, text);
	cr_assert(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
}

static void *flush(void *i)
{
	cr_assert(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	return NULL;
}

/* Writes, where other applies are held; the write leaves alone as the `number`th call. */
static void write_answered_in_parallel(struct inode *i, const char *text, unsigned number)
{
	pthread_t waiter;

	distant_write(&far, i, 0, text);
	cr_assert(not(pthread_create(&waiter, NULL, flush, i)));
	distant_await_applies(&far, number);
	distant_pass_apply(&far, number);
	pthread_join(waiter, NULL);
}

Test(late_copy, a_late_copy_does_not_overwrite_what_was_written_since)
{
	struct inode *i = distant_open_known(&far, "f");

	far.copied = 1;
	write_answered(i, "first.");
	cr_expect(far.copy.is_plain && far.copy.first_sequence);
	cr_expect(eq(int, distant_deliver_copy(&far), ERR_OK));
	write_answered(i, "second");
	cr_expect(eq(int, distant_deliver_copy(&far), ERR_CONFLICT));
	distant_expect_text(&far, "f", "second");
	distant_close(&far, i);
}

Test(late_copy, a_late_copy_overwrites_nothing_while_an_older_batch_is_under_way)
{
	struct inode *i = distant_open_known(&far, "f"), *other = distant_open_known(&far, "other");

	far.copied = 2;
	distant_hold_applies(&far, true);
	distant_write(&far, other, 0, "other.");
	distant_await_applies(&far, 1);
	write_answered_in_parallel(i, "first.", 2);
	write_answered_in_parallel(i, "second", 3);
	cr_expect(eq(int, distant_deliver_copy(&far), ERR_CONFLICT));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "second");
	distant_expect_text(&far, "other", "other.");
	cr_expect(eq(u64, distant_failed(&far), 0));
	distant_close(&far, i);
	distant_close(&far, other);
}

Test(late_copy, a_late_copy_does_not_overwrite_what_is_recorded)
{
	const struct change cut = { .set = SET_SIZE, .size = 3 };
	struct inode *i = distant_open_known(&far, "f");

	far.copied = 1;
	write_answered(i, "first.");
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &cut, true, NULL), ERR_OK));
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cr_expect(eq(int, distant_deliver_copy(&far), ERR_CONFLICT));
	distant_expect_text(&far, "f", "fir");
	distant_close(&far, i);
}

Test(late_copy, a_late_copy_does_not_overwrite_what_the_sandbox_is_asked_for)
{
	struct inode *i = distant_open_known(&far, "f");
	uint32_t mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	far.copied = 1;
	write_answered(i, "first.");
	cr_assert(eq(int, cache_fallocate(far.cache, NULL, i, mode, 0, 6, NULL), ERR_OK));
	cr_expect(eq(int, distant_deliver_copy(&far), ERR_CONFLICT));
	distant_expect_text(&far, "f", "");
	distant_close(&far, i);
}

static unsigned staged_files(void)
{
	char pattern[160];
	glob_t found;

	snprintf(pattern, sizeof pattern, "%s/.staging/u-*", far.scratch.path);
	unsigned count = glob(pattern, 0, NULL, &found) ? 0 : (unsigned)found.gl_pathc;

	globfree(&found);
	return count;
}

/* The removal of such files is the last request of a mount. */
Test(late_copy, what_is_kept_for_an_open_file_goes_when_the_mount_ends)
{
	struct inode *top = tree_root(far.cache->tree);

	distant_open_known(&far, "f");
	cr_assert(eq(int, cache_unlink(far.cache, NULL, top, "f", NULL), ERR_OK));
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cr_expect(eq(uint, staged_files(), 1));
	distant_break_off(&far);
	cr_expect(eq(uint, staged_files(), 0));
}

/* A request that was on its way when the mount was killed arrives during the next mount. */
Test(late_copy, a_late_copy_does_not_overwrite_what_another_mount_wrote)
{
	struct inode *i = distant_open_known(&far, "f");
	uint64_t number;

	far.copied = 1;
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "first.");
	distant_await_applies(&far, 1);
	number = far.copy.first_sequence;
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "first.");
	i = distant_open_known(&far, "f");
	write_answered(i, "second");
	cr_expect(lt(u64, number, far.cache->writeback->sequences));
	cr_expect(eq(int, distant_deliver_copy(&far), ERR_CONFLICT));
	distant_expect_text(&far, "f", "second");
	distant_close(&far, i);
}

Test(late_copy, what_is_sent_again_until_it_is_answered_is_none)
{
	struct inode *i = distant_open_known(&far, "f"), *other = distant_open_known(&far, "other");

	far.cache->writeback->pause_ms = 10;
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "first.");
	distant_await_applies(&far, 1);
	far.lose_answers = true;
	distant_pass_apply(&far, 1);
	distant_await_applies(&far, 2);
	far.lose_answers = false;
	write_answered_in_parallel(other, "other.", 3);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "first.");
	distant_expect_text(&far, "other", "other.");
	cr_expect(eq(u64, distant_failed(&far), 0));
	distant_close(&far, i);
	distant_close(&far, other);
}
