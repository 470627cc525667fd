#include "tests/cache/distant.h"

#include "cache/session/session.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/write/remote.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
	distant_keep_journal(&far);
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(recover, .init = setup, .fini = teardown, .timeout = 300);

/*
 * A file that exists in the sandbox. A text is written to it, which has not left when the cache
 * ends.
 */
static void leave(const char *name, const char *text, unsigned flags)
{
	struct inode *i = distant_make(&far, name);
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	cr_assert(eq(
		int, cache_write(far.cache, NULL, i, 0, text, strlen(text), flags, NULL), ERR_OK));
	distant_await_applies(&far, before + 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
}

/* "f" is open, and its version known. */
static struct inode *open_there(void)
{
	return distant_open_known(&far, "f");
}

static struct inode *open_known(void)
{
	scratch_write_text(&far.scratch, "f", "before");
	return open_there();
}

Test(recover, what_one_mount_left_the_next_one_sends)
{
	leave("f", "hello", 0);
	distant_expect_text(&far, "f", "");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "hello");
	cr_expect(eq(u64, distant_failed(&far), 0));
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "hello");
}

/* Runs `what` in a shell, with the journal's directory as $J. */
static void with_journal(const char *what)
{
	char command[512];

	snprintf(command, sizeof command, "J=%s; %s", far.journal.path, what);
	cr_assert(eq(int, system(command), 0));
}

/* The journal after a loss of power is as it was some time before. */
Test(recover, numbers_whose_notes_are_lost_are_not_given_again)
{
	leave("f", "hello", 0);
	with_journal("cp -a $J $J.before");
	distant_remount(&far, NULL);
	distant_close(&far, distant_make(&far, "g"));
	distant_expect_text(&far, "g", "");
	distant_break_off(&far);
	with_journal("rm -rf $J && mv $J.before $J");
	distant_remount(&far, NULL);
	distant_close(&far, distant_make(&far, "h"));
	distant_expect_text(&far, "h", "");
	distant_expect_text(&far, "f", "hello");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* The changes of the new mount wait a moment for others, as always. */
Test(recover, what_was_left_does_not_count_as_unsent_any_more)
{
	leave("f", "hello", 0);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "hello");
	cr_expect(not(writeback_is_whole(far.cache->writeback)));
}

Test(recover, pieces_are_put_together_in_their_order)
{
	struct inode *i = distant_make(&far, "f");
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "aaaa");
	distant_await_applies(&far, before + 1);
	distant_write(&far, i, 2, "bbbb");
	distant_write(&far, i, 6, "cc");
	distant_write(&far, i, 1, "d");
	cr_assert(
		eq(int, cache_write(far.cache, NULL, i, 8, "end", 3, WRITE_APPEND, NULL), ERR_OK));
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "adbbbbccend");
}

Test(recover, what_was_done_but_not_answered_is_not_done_again)
{
	far.does_first = true;
	leave("f", "once", WRITE_APPEND);
	distant_expect_text(&far, "f", "once");
	far.does_first = false;
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "once");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(recover, changes_by_others_meanwhile_stay_and_ours_fails)
{
	struct inode *i = open_known();

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "ours");
	distant_await_applies(&far, 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	scratch_write_text(&far.scratch, "f", "theirs, and longer");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs, and longer");
	cr_expect(eq(u64, distant_failed(&far), 1));
	struct cache_status status;

	cache_get_status(far.cache, &status);
	cr_assert(eq(sz, status.failed_count, 1));
	cr_expect(eq(str, status.failed[0].path, "f"));
}

/* Ours does not arrive before the mount ends; then others write theirs, if any. */
static void write_both(struct inode *i, const char *ours, const char *theirs)
{
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, ours);
	distant_await_applies(&far, before + 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	if (theirs)
		scratch_write_text(&far.scratch, "f", theirs);
}

Test(recover, a_change_is_checked_against_the_version_known_when_it_was_made)
{
	far.belief_ms = 0;
	distant_remount(&far, NULL);
	write_both(open_known(), "ours", "theirs, and longer");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs, and longer");
	cr_expect(eq(u64, distant_failed(&far), 1));
}

Test(recover, and_where_that_is_still_there_it_is_done)
{
	far.belief_ms = 0;
	distant_remount(&far, NULL);
	write_both(open_known(), "ours", NULL);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "oursre");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* The answer to the write before did not report the file that the write left. */
Test(recover, a_change_of_which_nobody_knows_what_it_was_decided_on_is_refused)
{
	struct inode *i = open_known();

	far.tells_no_attrs = true;
	distant_write(&far, i, 0, "more");
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	far.tells_no_attrs = false;
	write_both(i, "ours", "theirs, and longer");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs, and longer");
	cr_expect(eq(u64, distant_failed(&far), 1));
}

static struct inode *entry_of(struct inode *dir, const char *name)
{
	struct cache_entry entry;
	int64_t absent_ms;

	cr_assert(eq(
		int, cache_lookup(far.cache, NULL, dir, name, &entry, &absent_ms, NULL), ERR_OK));
	return entry.inode;
}

/* The first change of the batch, the rename, has no version of the file. */
Test(recover, and_so_it_is_where_a_directory_above_the_file_was_renamed_before)
{
	cr_assert(eq(int, mkdirat(far.scratch.fd, "d", 0755), 0));
	scratch_write_text(&far.scratch, "d/f", "before");
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	struct inode *root = cache_root(far.cache), *i = entry_of(entry_of(root, "d"), "f");
	bool keep;

	cr_assert(eq(int, cache_open(far.cache, NULL, i, O_RDWR, &keep, NULL), ERR_OK));
	far.tells_no_attrs = true;
	distant_write(&far, i, 0, "more");
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	far.tells_no_attrs = false;
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "d", root, "e", 0, NULL), ERR_OK));
	distant_write(&far, i, 0, "ours");
	distant_await_applies(&far, before + 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	scratch_write_text(&far.scratch, "d/f", "theirs, and longer");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "e/f", "theirs, and longer");
	cr_expect(eq(u64, distant_failed(&far), 1));
}

/* The removal says by then which version of the file was to be removed. */
Test(recover, a_removal_by_both_sides_before_a_kill_does_not_fail)
{
	scratch_write_text(&far.scratch, "f", "before");
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	struct inode *root = cache_root(far.cache);

	cache_forget(far.cache, entry_of(root, "f"), 1);
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	distant_await_applies(&far, 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	cr_assert(eq(int, unlinkat(far.scratch.fd, "f", 0), 0));
	distant_remount(&far, NULL);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* The file was open here, so the rest of it was to be removed from staging. */
Test(recover, what_both_sides_removed_leaves_no_error_behind)
{
	struct cache_status status;

	scratch_write_text(&far.scratch, "f", "before");
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	struct inode *i = open_there(), *root = cache_root(far.cache);

	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	cr_assert(eq(int, unlinkat(far.scratch.fd, "f", 0), 0));
	distant_await_applies(&far, 1);
	distant_close(&far, i);
	distant_pass_apply(&far, 1);
	distant_await_applies(&far, 2);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cache_get_status(far.cache, &status);
	cr_expect(zero(u64, status.refused_inherited));
}

/* A file that is not regular has no contents to lose. */
Test(recover, a_link_that_nobody_else_touched_is_removed_behind_a_change_of_its_own)
{
	const struct change set = { .set = SET_MTIME, .mtime = { .tv_sec = 1000000 } };

	cr_assert(eq(int, symlinkat("to", far.scratch.fd, "l"), 0));
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	struct inode *root = cache_root(far.cache), *l = entry_of(root, "l");

	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_setattr(far.cache, NULL, l, &set, false, NULL), ERR_OK));
	distant_await_applies(&far, 1);
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "l", NULL), ERR_OK));
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	cr_expect(ne(int, faccessat(far.scratch.fd, "l", F_OK, AT_SYMLINK_NOFOLLOW), 0));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* The refused change was made by no caller of this mount. */
Test(recover, a_refusal_is_reported_to_the_first_barrier_and_the_first_fsync_of_the_file)
{
	struct inode *i = open_known();
	struct cache_status status;

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "ours");
	distant_await_applies(&far, 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	scratch_write_text(&far.scratch, "f", "theirs, and longer");
	scratch_write_text(&far.scratch, "g", "another");
	distant_remount(&far, NULL);
	struct inode *f = distant_open(&far, "f"), *g = distant_open(&far, "g");

	cr_expect(eq(int, cache_fsync(far.cache, NULL, g, NULL), ERR_OK));
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_CONFLICT));
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cr_expect(eq(int, cache_fsync(far.cache, NULL, f, NULL), ERR_CONFLICT));
	cr_expect(eq(int, cache_fsync(far.cache, NULL, f, NULL), ERR_OK));
	cache_get_status(far.cache, &status);
	cr_expect(eq(u64, status.refused_inherited, 1));
	distant_close(&far, g);
	distant_close(&far, f);
}

/* Contents of a file that is there leave without a number. */
static void leave_half_done(const char *text, const char *more)
{
	struct inode *i = open_known();

	far.does_first = true;
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, text);
	distant_await_applies(&far, 1);
	distant_write(&far, i, 2, more);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	far.does_first = false;
}

Test(recover, what_was_done_without_a_number_and_not_answered_is_no_conflict)
{
	leave_half_done("oursover", "us");
	distant_expect_text(&far, "f", "oursover");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "ouusover");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* The change gets a number when it leaves again, and the sandbox never received that number. */
Test(recover, what_was_not_answered_is_no_conflict_when_the_next_mount_ended_before_sending)
{
	leave_half_done("oursover", "us");
	unsigned before = distant_applies(&far);

	far.progress_ms = 100;
	distant_hold_applies(&far, true);
	distant_remount(&far, NULL);
	distant_await_applies(&far, before + 1);
	distant_break_off(&far);
	far.progress_ms = 0;
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "ouusover");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

static void *remount(void *nothing)
{
	distant_remount(&far, NULL);
	return nothing;
}

/* The sandbox was still at work on the first request. */
Test(recover, what_was_not_answered_is_no_conflict_when_it_is_done_before_the_second_sending)
{
	struct inode *i = open_known();
	pthread_t thread;

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "ours");
	distant_await_applies(&far, 1);
	distant_write(&far, i, 2, "more");
	distant_break_off(&far);
	unsigned before = distant_applies(&far);

	cr_assert(not(pthread_create(&thread, NULL, remount, NULL)));
	distant_await_applies(&far, before + 1);
	scratch_write_text(&far.scratch, "f", "oursre");
	distant_hold_applies(&far, false);
	pthread_join(thread, NULL);
	distant_expect_text(&far, "f", "oumore");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(recover, what_others_wrote_over_an_unanswered_change_is_a_conflict)
{
	leave_half_done("ours", "us");
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_failed(&far), 2));
}

static uint64_t pending_bytes(void)
{
	struct cache_status status;

	cache_get_status(far.cache, &status);
	return status.pending_bytes;
}

/* Leaves a batch full of contents, and in parallel some contents that alone are applied. */
static void leave_two(const char *parallel, bool is_answered)
{
	AUTO_FREE char *whole = malloc(WRITEBACK_BATCH_MAX);

	cr_assert(whole != NULL);
	memset(whole, 'o', WRITEBACK_BATCH_MAX);
	struct inode *i = open_known();

	distant_hold_applies(&far, true);
	for (size_t at = 0; at < WRITEBACK_BATCH_MAX; at += VERB_DATA_MAX / 2)
		cr_assert(eq(int,
			cache_write(far.cache, NULL, i, at, whole + at, VERB_DATA_MAX / 2, 0, NULL),
			ERR_OK));
	distant_await_applies(&far, 1);
	cr_assert(eq(int,
		cache_write(far.cache, NULL, i, WRITEBACK_BATCH_MAX, parallel, strlen(parallel), 0,
			NULL),
		ERR_OK));
	distant_await_applies(&far, 2);
	uint64_t bytes = pending_bytes();

	far.lose_answers = !is_answered;
	distant_pass_apply(&far, 2);
	while (is_answered && pending_bytes() == bytes)
		usleep(1000);
	if (!is_answered)
		distant_await_applies(&far, 3);
	distant_break_off(&far);
	far.lose_answers = false;
	distant_hold_applies(&far, false);
}

static void expect_both(const char *parallel)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, "f", O_RDONLY | O_CLOEXEC);
	char got[64] = "";

	cr_expect(eq(long, (long)pread(fd, got, 1, 0), 1));
	cr_expect(eq(chr, got[0], 'o'));
	cr_expect(eq(long, (long)pread(fd, got, sizeof got, WRITEBACK_BATCH_MAX),
		(long)strlen(parallel)));
	cr_expect(eq(int, memcmp(got, parallel, strlen(parallel)), 0));
}

Test(recover, contents_applied_in_parallel_without_an_answer_are_no_conflict)
{
	leave_two("beside", false);
	distant_remount(&far, NULL);
	cr_expect(eq(u64, distant_failed(&far), 0));
	expect_both("beside");
}

Test(recover, what_was_answered_is_no_conflict)
{
	leave_two("beside", true);
	distant_remount(&far, NULL);
	cr_expect(eq(u64, distant_failed(&far), 0));
	expect_both("beside");
}

Test(recover, what_others_wrote_over_an_answered_and_an_unanswered_change_is_a_conflict)
{
	leave_two("beside", false);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	cr_expect(ne(u64, distant_failed(&far), 0));
}

Test(recover, an_answered_change_makes_no_conflict_of_an_unanswered_one)
{
	leave_two("beside", true);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	cr_expect(ne(u64, distant_failed(&far), 0));
}

/* ---- Ops that were queued behind others of ours ---- */

enum follower { WRITES, TRUNCATES, REMOVES, REPLACES, OVERWRITES };

static void follow(struct inode *i, enum follower follower)
{
	const struct change set = { .op = CHANGE_SETATTR, .set = SET_SIZE, .size = 1 };
	const struct change empty = { .set = SET_SIZE };
	struct inode *root = cache_root(far.cache);

	switch (follower) {
	case WRITES: distant_write(&far, i, 0, "second"); return;
	case TRUNCATES:
		cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &set, true, NULL), ERR_OK));
		return;
	case REMOVES:
		cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
		return;
	case REPLACES:
		cr_assert(eq(
			int, cache_rename(far.cache, NULL, root, "g", root, "f", 0, NULL), ERR_OK));
		return;
	case OVERWRITES:
		cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &empty, true, NULL), ERR_OK));
		distant_write(&far, i, 0, "second");
		distant_close(&far, i);
		return;
	}
}

static void set_mode_to(struct inode *i, uint32_t mode, bool by_handle)
{
	const struct change set = { .op = CHANGE_SETATTR, .set = SET_MODE, .mode = mode };

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &set, by_handle, NULL), ERR_OK));
}

static void set_mode(struct inode *i)
{
	set_mode_to(i, 0600, true);
}

static void expect_mode(const char *name, mode_t wanted)
{
	struct stat there;

	cr_assert(eq(int, fstatat(far.scratch.fd, name, &there, 0), 0));
	cr_expect(eq(u32, there.st_mode & 07777, wanted));
}

/*
 * Of two changes of "f" the first is answered. The second is on its way when the mount ends,
 * perhaps with a mode set before it.
 */
static void leave_behind(enum follower follower, bool sets_mode)
{
	scratch_write_text(&far.scratch, "f", "before");
	scratch_write_text(&far.scratch, "g", "other");
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	struct inode *i = open_there();

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "first!");
	distant_await_applies(&far, 1);
	if (sets_mode)
		set_mode(i);
	follow(i, follower);
	distant_pass_apply(&far, 1);
	distant_await_applies(&far, 2);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_expect_text(&far, "f", "first!");
}

static void expect_held_against_the_first(enum follower follower, unsigned failed)
{
	leave_behind(follower, false);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_failed(&far), failed));
}

static void expect_held_across_attributes(enum follower follower, unsigned failed)
{
	leave_behind(follower, true);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_failed(&far), failed));
}

Test(recover, what_others_made_of_it_after_an_answer_is_not_written_over)
{
	expect_held_against_the_first(WRITES, 1);
}

Test(recover, what_others_made_of_it_after_an_answer_is_not_cut)
{
	expect_held_against_the_first(TRUNCATES, 1);
}

Test(recover, what_others_made_of_it_after_an_answer_is_not_removed)
{
	expect_held_against_the_first(REMOVES, 1);
}

Test(recover, what_others_made_of_it_after_an_answer_is_not_replaced)
{
	expect_held_against_the_first(REPLACES, 0);
	distant_expect_text(&far, "f.sandboxfs-conflict", "other");
}

Test(recover, what_others_made_of_it_after_an_answer_is_not_overwritten)
{
	expect_held_against_the_first(OVERWRITES, 0);
	distant_expect_text(&far, "f.sandboxfs-conflict", "second");
}

Test(recover, nor_is_it_where_the_answer_did_not_tell_what_it_left)
{
	far.tells_no_attrs = true;
	leave_behind(OVERWRITES, false);
	far.tells_no_attrs = false;
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	distant_expect_text(&far, "f.sandboxfs-conflict", "second");
}

Test(recover, where_nobody_else_was_at_it_what_follows_is_done)
{
	leave_behind(WRITES, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "second");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(recover, attributes_that_are_set_in_between_hide_nothing)
{
	expect_held_across_attributes(WRITES, 2);
}

Test(recover, attributes_set_in_between_hide_nothing_from_what_cuts_it)
{
	expect_held_across_attributes(TRUNCATES, 2);
}

Test(recover, attributes_set_in_between_hide_nothing_from_what_removes_it)
{
	expect_held_across_attributes(REMOVES, 2);
}

Test(recover, attributes_set_in_between_hide_nothing_from_what_replaces_it)
{
	expect_held_across_attributes(REPLACES, 1);
	distant_expect_text(&far, "f.sandboxfs-conflict", "other");
}

Test(recover, attributes_set_in_between_hide_nothing_from_what_overwrites_it)
{
	expect_held_across_attributes(OVERWRITES, 1);
	distant_expect_text(&far, "f.sandboxfs-conflict", "second");
}

Test(recover, where_nobody_else_was_at_it_both_are_done)
{
	leave_behind(WRITES, true);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "second");
	expect_mode("f", 0600);
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(recover, an_attempt_in_vain_does_not_hide_it_either)
{
	pthread_t thread;

	leave_behind(WRITES, true);
	scratch_write_text(&far.scratch, "f", "theirs");
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	cr_assert(not(pthread_create(&thread, NULL, remount, NULL)));
	distant_await_applies(&far, before + 1);
	far.is_cut = true;
	distant_await_applies(&far, before + 2);
	far.is_cut = false;
	distant_hold_applies(&far, false);
	pthread_join(thread, NULL);
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_failed(&far), 2));
}

/* Both modes leave as one change, and the mount ends before the sandbox receives that. */
Test(recover, what_is_set_twice_is_as_it_was_set_last)
{
	struct inode *i = open_known();

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "first");
	distant_await_applies(&far, 1);
	set_mode_to(i, 0600, true);
	set_mode_to(i, 0640, true);
	distant_pass_apply(&far, 1);
	distant_await_applies(&far, 2);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "firste");
	expect_mode("f", 0640);
	cr_assert(eq(int, fchmodat(far.scratch.fd, "f", 0604, 0), 0));
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "firste");
	expect_mode("f", 0604);
}

/*
 * The mode is set by a handle and by the name, in two changes. Others have changed the version that
 * the first one has.
 */
Test(recover, what_is_set_twice_is_set_in_order_though_others_were_at_it)
{
	struct inode *i = open_known();
	struct inode *other = distant_make(&far, "other");
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_write(&far, other, 0, "more");
	distant_await_applies(&far, before + 1);
	set_mode_to(i, 0600, true);
	set_mode_to(i, 0640, false);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	expect_mode("f", 0640);
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* The first text is answered. The mount ends when the changes since then have left. */
static void break_off_behind_first(unsigned before)
{
	distant_pass_apply(&far, before + 1);
	distant_await_applies(&far, before + 2);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
}

static unsigned hold_first(struct inode *i, const char *text)
{
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, text);
	distant_await_applies(&far, before + 1);
	return before;
}

/* Attributes of "f" and contents have left together when the mount ends. */
static void leave_both(void)
{
	struct inode *i = open_known(), *other = distant_make(&far, "other");
	unsigned before = hold_first(other, "more");

	set_mode(i);
	distant_write(&far, i, 0, "second");
	break_off_behind_first(before);
}

Test(recover, attributes_that_are_refused_hold_nothing_up)
{
	leave_both();
	far.refused_op = CHANGE_SETATTR;
	distant_refuse(&far, ERR_NOT_OWNER);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "second");
	expect_mode("f", 0644);
	cr_expect(eq(u64, distant_failed(&far), 1));
}

/* "f" and "other", where names are decided here. */
static struct inode *open_deciding(struct inode **other)
{
	scratch_write_text(&far.scratch, "f", "before");
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	struct inode *i = open_there();

	*other = distant_make(&far, "other");
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	return i;
}

/* Attributes of "f" and the changes of `more` to it have left together when the mount ends. */
static void leave_with_names(void (*more)(struct inode *i))
{
	struct inode *other, *i = open_deciding(&other);
	unsigned before = hold_first(other, "more");

	set_mode(i);
	more(i);
	break_off_behind_first(before);
}

static void move_and_write(struct inode *i)
{
	struct inode *root = cache_root(far.cache);

	cr_assert(
		eq(int, cache_rename(far.cache, NULL, root, "f", root, "moved", 0, NULL), ERR_OK));
	distant_write(&far, i, 0, "second");
}

static void link_unlink_and_write(struct inode *i)
{
	struct inode *root = cache_root(far.cache);
	struct cache_entry entry;

	cr_assert(eq(int, cache_link(far.cache, NULL, i, root, "moved", &entry, NULL), ERR_OK));
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	distant_write(&far, i, 0, "second");
}

Test(recover, attributes_that_are_refused_hold_no_rename_up)
{
	leave_with_names(move_and_write);
	far.refused_op = CHANGE_SETATTR;
	distant_refuse(&far, ERR_NOT_OWNER);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "moved", "second");
	cr_expect(eq(u64, distant_failed(&far), 1));
}

Test(recover, what_is_written_by_the_name_that_is_left_is_held_against_what_was_there)
{
	leave_with_names(link_unlink_and_write);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "moved", "theirs");
	cr_expect(ne(u64, distant_failed(&far), 0));
}

Test(recover, what_is_written_by_the_name_that_is_left_arrives_where_nobody_was_at_it)
{
	leave_with_names(link_unlink_and_write);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "moved", "second");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(recover, attributes_that_are_refused_do_not_hide_who_was_at_it)
{
	leave_both();
	scratch_write_text(&far.scratch, "f", "theirs");
	far.refused_op = CHANGE_SETATTR;
	distant_refuse(&far, ERR_NOT_OWNER);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	expect_mode("f", 0644);
	cr_expect(eq(u64, distant_failed(&far), 2));
}

/* ---- Moved in between ---- */

/*
 * "f" is renamed to "moved", or linked to it, and is written by that name. An earlier write may be
 * answered before.
 */
static void leave_moved(bool keeps_first, bool writes_first)
{
	struct inode *other, *i = open_deciding(&other);
	struct inode *root = cache_root(far.cache);
	struct cache_entry entry;
	unsigned before = hold_first(writes_first ? i : other, "first!");

	if (keeps_first)
		cr_assert(eq(
			int, cache_link(far.cache, NULL, i, root, "moved", &entry, NULL), ERR_OK));
	else
		cr_assert(eq(int, cache_rename(far.cache, NULL, root, "f", root, "moved", 0, NULL),
			ERR_OK));
	distant_write(&far, i, 0, "second");
	break_off_behind_first(before);
	distant_expect_text(&far, "f", writes_first ? "first!" : "before");
}

static void expect_held_across_move(bool keeps_first, bool writes_first)
{
	leave_moved(keeps_first, writes_first);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "moved", "theirs");
	cr_expect(eq(u64, distant_failed(&far), 1));
	distant_remount(&far, NULL);
	distant_expect_text(&far, "moved", "theirs");
}

static void expect_done_across_move(bool keeps_first, bool writes_first)
{
	leave_moved(keeps_first, writes_first);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "moved", "second");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(recover, what_is_written_by_another_name_is_held_against_what_was_there)
{
	expect_held_across_move(false, false);
}

Test(recover, what_is_written_after_an_answer_and_a_rename_is_held_against_what_was_there)
{
	expect_held_across_move(false, true);
}

Test(recover, what_is_written_to_one_of_two_names_is_held_against_what_was_there)
{
	expect_held_across_move(true, false);
}

Test(recover, where_nobody_was_at_it_it_is_moved_and_written)
{
	expect_done_across_move(false, false);
}

Test(recover, a_file_is_moved_and_written_where_the_rename_was_answered)
{
	expect_done_across_move(false, true);
}

Test(recover, a_file_is_linked_and_written_where_nobody_was_at_it)
{
	expect_done_across_move(true, false);
}

static void queue_barrier(struct inode *i)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	const struct change sync = { .op = CHANGE_SYNC, .flags = CHANGE_BY_HANDLE, .path = "f" };
	struct writeback *p = far.cache->writeback;
	struct op *q;

	pthread_mutex_lock(&p->lock);
	cr_assert(eq(int, writeback_add_locked(p, &sync, &about, &q, NULL), ERR_OK));
	pthread_mutex_unlock(&p->lock);
}

/* Attributes, a barrier, contents. */
Test(recover, a_barrier_hides_no_others_at_a_file)
{
	struct inode *i = open_known();

	distant_hold_applies(&far, true);
	set_mode(i);
	queue_barrier(i);
	distant_write(&far, i, 0, "second");
	distant_await_applies(&far, 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_failed(&far), 2));
}

/*
 * The append was applied without an answer. The text that others made of the file since is no base
 * for the next write.
 */
Test(recover, what_is_behind_it_is_held_against_what_that_left_then)
{
	struct inode *i = open_known();
	unsigned before = distant_applies(&far);

	far.does_first = true;
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_write(far.cache, NULL, i, 6, "!", 1, WRITE_APPEND, NULL), ERR_OK));
	distant_await_applies(&far, before + 1);
	distant_write(&far, i, 0, "ours");
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	far.does_first = false;
	distant_expect_text(&far, "f", "before!");
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_failed(&far), 1));
}

/* The file that has the name by then is not the one that had it. */
Test(recover, another_file_that_has_the_name_is_not_held_against_the_first)
{
	const struct change set = { .op = CHANGE_SETATTR, .set = SET_SIZE, .size = 2 };
	struct inode *root = cache_root(far.cache);
	struct cache_entry entry;
	int64_t absent_ms;

	cr_assert(eq(int, mkdirat(far.scratch.fd, "d", 0755), 0));
	cr_assert(eq(int, mkdirat(far.scratch.fd, "e", 0755), 0));
	scratch_write_text(&far.scratch, "d/f", "first");
	scratch_write_text(&far.scratch, "e/f", "second");
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	root = cache_root(far.cache);
	cr_assert(eq(
		int, cache_lookup(far.cache, NULL, root, "d", &entry, &absent_ms, NULL), ERR_OK));
	struct inode *d = entry.inode;

	cr_assert(eq(
		int, cache_lookup(far.cache, NULL, root, "e", &entry, &absent_ms, NULL), ERR_OK));
	struct inode *e = entry.inode;

	cr_assert(eq(int, cache_lookup(far.cache, NULL, e, "f", &entry, &absent_ms, NULL), ERR_OK));
	cr_assert(eq(int, cache_lookup(far.cache, NULL, d, "f", &entry, &absent_ms, NULL), ERR_OK));
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_setattr(far.cache, NULL, entry.inode, &set, false, NULL), ERR_OK));
	distant_await_applies(&far, 1);
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "d", root, "old", 0, NULL), ERR_OK));
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "e", root, "d", 0, NULL), ERR_OK));
	cr_assert(eq(int, cache_unlink(far.cache, NULL, e, "f", NULL), ERR_OK));
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "old/f", "fi");
	cr_expect(ne(int, faccessat(far.scratch.fd, "d/f", F_OK, 0), 0));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/*
 * Names are decided here under a stream of changes. While applies are held the sandbox receives
 * none of them.
 */
static struct cache_entry make_held(const char *name, bool opens)
{
	const struct create_args file = {
		.op = CHANGE_CREATE, .mode = 0644, .exclusive = true, .opens = opens
	};
	struct cache_entry entry;

	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	distant_hold_applies(&far, true);
	cr_assert(eq(int,
		cache_make(far.cache, NULL, cache_root(far.cache), name, &file, &entry, NULL),
		ERR_OK));
	return entry;
}

Test(recover, a_name_that_somebody_took_meanwhile_stays_his_with_what_is_in_it)
{
	struct inode *i = make_held("new", false).inode;

	distant_write(&far, i, 0, "ours");
	distant_await_applies(&far, 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	scratch_write_text(&far.scratch, "new", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "new", "theirs");
	cr_expect(eq(u64, distant_failed(&far), 2));
}

/* The contents that were written after the file was whole had not left yet. */
Test(recover, nothing_is_added_to_a_name_that_somebody_took)
{
	struct cache_entry made = make_held("new", true);
	struct inode *i = made.inode;
	unsigned before = distant_applies(&far);

	cr_assert(eq(int, cache_open_made(far.cache, NULL, &made, O_RDWR | O_EXCL, NULL), ERR_OK));
	distant_write(&far, i, 0, "ours");
	cache_close(far.cache, i);
	distant_await_applies(&far, before + 1);
	distant_write(&far, i, 0, "more");
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	scratch_write_text(&far.scratch, "new", "theirs");
	distant_remount(&far, NULL);
	distant_expect_text(&far, "new", "theirs");
	distant_expect_text(&far, "new.sandboxfs-conflict", "ours");
	cr_expect(eq(u64, distant_failed(&far), 1));
}

/* ---- In parallel with calls of the next mount ---- */

/* Too short for an answer that is held, whose time does not matter. */
static const struct call brief = { .progress_ms = 100 };
/* For an answer that comes though changes are held. */
static const struct call patient = { .progress_ms = 30000 };

static enum err look(const struct call *call, struct inode *dir, size_t *count)
{
	struct tree_entry *entries;
	enum err kind = cache_entries(far.cache, call, dir, &entries, count, NULL);

	if (!kind)
		cache_entries_free(far.cache, entries, *count);
	return kind;
}

/* The next cache is there, and has the changes of the one before under way. */
static void remount_held(void)
{
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_remount_at_once(&far, NULL);
	distant_await_applies(&far, before + 1);
}

static struct attr attr_of_root(void)
{
	struct attr attr;
	int64_t valid_ms;

	cr_assert(eq(int,
		cache_attr(far.cache, &brief, cache_root(far.cache), &attr, &valid_ms, NULL),
		ERR_OK));
	return attr;
}

static void expect_root_is_shown(void)
{
	struct attr attr = attr_of_root();
	struct stat st;

	cr_assert(eq(int, fstat(far.scratch.fd, &st), 0));
	cr_expect(eq(i64, attr.mtime.tv_sec, st.st_mtim.tv_sec));
	cr_expect(eq(i64, attr.mtime.tv_nsec, st.st_mtim.tv_nsec));
}

/* Names and barriers wait for what had left; the root does not. */
Test(recover, the_next_mount_is_there_at_once_and_shows_no_names_from_before)
{
	struct cache_status status;
	struct inode *root;
	size_t count = 0;
	unsigned before = distant_applies(&far);

	make_held("f", false);
	distant_await_applies(&far, before + 1);
	distant_break_off(&far);
	remount_held();
	root = cache_root(far.cache);
	cache_get_status(far.cache, &status);
	cr_expect(lt(u64, 0, status.pending_changes));
	cr_expect(eq(int, look(&brief, root, &count), ERR_TIMEOUT));
	cr_expect(eq(int, cache_fsync(far.cache, &brief, root, NULL), ERR_TIMEOUT));
	expect_root_is_shown();
	distant_hold_applies(&far, false);
	cr_expect(eq(int, look(NULL, root, &count), ERR_OK));
	cr_expect(eq(sz, count, 1));
	cr_expect(eq(int, faccessat(far.scratch.fd, "f", F_OK, 0), 0));
	expect_root_is_shown();
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* A mount under a stream of changes that sends nothing by itself. */
static void remount_waiting(void)
{
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	distant_gather_for(&far, AN_HOUR_MS);
}

/* The next mount, whose changes do not arrive. Returns how many requests with changes there were. */
static unsigned remount_unheard(void)
{
	distant_break_off(&far);
	distant_hold_applies(&far, true);
	unsigned before = distant_applies(&far);

	distant_remount_at_once(&far, NULL);
	return before;
}

static void expect_shown(struct inode *dir, const char *name, const char *wanted)
{
	char text[64] = "";
	struct inode *i = entry_of(dir, name);
	size_t got = 0;
	bool keep;

	cr_assert(eq(int, cache_open(far.cache, NULL, i, O_RDONLY, &keep, NULL), ERR_OK));
	cr_expect(eq(
		int, cache_read(far.cache, NULL, i, 0, text, sizeof text - 1, &got, NULL), ERR_OK));
	cr_expect(eq(str, text, (char *)wanted), "%s", name);
	cache_close(far.cache, i);
}

static void make_text(struct inode *dir, const char *name, const char *text)
{
	const struct create_args file = { .op = CHANGE_CREATE, .mode = 0640, .opens = true };
	struct cache_entry made;

	cr_assert(eq(int, cache_make(far.cache, NULL, dir, name, &file, &made, NULL), ERR_OK));
	cr_assert(eq(int, cache_open_made(far.cache, NULL, &made, O_RDWR, NULL), ERR_OK));
	distant_write(&far, made.inode, 0, text);
	cache_close(far.cache, made.inode);
}

/* Every kind of change that is shown before it is sent, one after another. */
static void change_all_kinds(void)
{
	const struct create_args dir = { .op = CHANGE_MKDIR, .mode = 0755 };
	const struct create_args link = { .op = CHANGE_SYMLINK, .text = "d/g" };
	const struct change mode = { .set = SET_MODE, .mode = 0600 };
	struct inode *root = cache_root(far.cache);
	struct cache_entry made;

	make_text(root, "new", "new text");
	cr_assert(eq(int, cache_make(far.cache, NULL, root, "d", &dir, &made, NULL), ERR_OK));
	make_text(made.inode, "g", "inside");
	cr_assert(eq(int, cache_make(far.cache, NULL, root, "l", &link, &made, NULL), ERR_OK));
	cr_assert(
		eq(int, cache_setattr(far.cache, NULL, entry_of(root, "kept"), &mode, false, NULL),
			ERR_OK));
	cr_assert(eq(
		int, cache_rename(far.cache, NULL, root, "moved", root, "there", 0, NULL), ERR_OK));
	make_text(root, "save", "saved");
	cr_assert(eq(
		int, cache_rename(far.cache, NULL, root, "save", root, "over", 0, NULL), ERR_OK));
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "gone", NULL), ERR_OK));
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "d", root, "e", 0, NULL), ERR_OK));
	cr_assert(eq(int,
		cache_link(far.cache, NULL, entry_of(root, "kept"), root, "kept2", &made, NULL),
		ERR_OK));
}

static void write_files_of_all_kinds(void)
{
	static const char *const names[] = { "kept", "moved", "over", "gone" };

	for (size_t n = 0; n < sizeof names / sizeof *names; n++)
		scratch_write_text(&far.scratch, names[n], names[n]);
}

Test(recover, what_had_not_left_is_shown_before_it_is_sent)
{
	struct attr attr;
	size_t count;

	write_files_of_all_kinds();
	remount_waiting();
	change_all_kinds();
	unsigned before = remount_unheard();
	struct inode *root = cache_root(far.cache);

	distant_await_applies(&far, before + 1);
	cr_expect(eq(int, look(&patient, root, &count), ERR_OK));
	cr_expect(eq(sz, count, 7));
	expect_shown(root, "new", "new text");
	expect_shown(root, "over", "saved");
	expect_shown(entry_of(root, "e"), "g", "inside");
	tree_attr(far.cache->tree, entry_of(root, "kept2"), &attr);
	cr_expect(eq(u32, attr.mode & 07777, 0600));
	cr_expect(eq(u32, attr.nlink, 2));
	cr_expect(eq(u64, tree_expect(far.cache->tree, entry_of(root, "l")).ino, 0));
	cr_expect(eq(u32, distant_applies(&far), before + 1));
	cr_expect(eq(int, cache_sync(far.cache, &brief, NULL), ERR_TIMEOUT));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "new", "new text");
	distant_expect_text(&far, "e/g", "inside");
	distant_expect_text(&far, "over", "saved");
	distant_expect_text(&far, "there", "moved");
	distant_expect_text(&far, "kept2", "kept");
	cr_expect(ne(int, faccessat(far.scratch.fd, "gone", F_OK, 0), 0));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

static uint64_t size_of(struct inode *i)
{
	struct attr attr;

	tree_attr(far.cache->tree, i, &attr);
	return attr.size;
}

static void copy_text(struct inode *dir, const char *from, const char *to, uint64_t len)
{
	const struct create_args file = { .op = CHANGE_CREATE, .mode = 0640, .opens = true };
	struct inode *source = entry_of(dir, from);
	struct cache_entry made;
	uint64_t copied;
	bool keep;

	cr_assert(eq(int, cache_open(far.cache, NULL, source, O_RDONLY, &keep, NULL), ERR_OK));
	cr_assert(eq(int, cache_make(far.cache, NULL, dir, to, &file, &made, NULL), ERR_OK));
	cr_assert(eq(int, cache_open_made(far.cache, NULL, &made, O_RDWR, NULL), ERR_OK));
	cr_assert(eq(int, cache_copy(far.cache, NULL, source, 0, made.inode, 0, len, &copied, NULL),
		ERR_OK));
	cache_close(far.cache, made.inode);
	cache_close(far.cache, source);
}

Test(recover, an_exchange_and_a_copy_that_had_not_left_are_shown_before_they_are_sent)
{
	struct inode *root;

	scratch_write_text(&far.scratch, "one", "of one");
	scratch_write_text(&far.scratch, "two", "of two, longer");
	remount_waiting();
	root = cache_root(far.cache);
	copy_text(root, "one", "copy", 6);
	cr_assert(eq(int,
		cache_rename(far.cache, NULL, root, "one", root, "two", CHANGE_EXCHANGE, NULL),
		ERR_OK));
	unsigned before = remount_unheard();

	root = cache_root(far.cache);
	cr_expect(eq(u64, size_of(entry_of(root, "one")), 14));
	cr_expect(eq(u64, size_of(entry_of(root, "two")), 6));
	cr_expect(eq(u64, size_of(entry_of(root, "copy")), 6));
	cr_expect(le(u32, distant_applies(&far), before + 1));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "one", "of two, longer");
	distant_expect_text(&far, "two", "of one");
	distant_expect_text(&far, "copy", "of one");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* What the sync waited for had left. */
Test(recover, what_stands_before_a_sync_is_shown_before_it_is_sent)
{
	const struct change mode = { .set = SET_MODE, .mode = 0600 };
	struct inode *i;

	scratch_write_text(&far.scratch, "f", "before");
	remount_waiting();
	i = open_there();
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, false, NULL), ERR_OK));
	cr_assert(eq(int, cache_sync(far.cache, &brief, NULL), ERR_TIMEOUT));
	make_text(cache_root(far.cache), "new", "new text");
	cr_assert(eq(int, cache_fsync(far.cache, &brief, i, NULL), ERR_TIMEOUT));
	unsigned before = remount_unheard();

	distant_await_applies(&far, before + 1);
	distant_pass_apply(&far, before + 1);
	expect_shown(cache_root(far.cache), "new", "new text");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "new", "new text");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* What others changed since is sent by its name, and refused; what is behind it is shown. */
Test(recover, what_others_changed_since_stays_and_what_is_behind_it_is_shown)
{
	scratch_write_text(&far.scratch, "f", "before");
	remount_waiting();
	distant_write(&far, open_there(), 0, "ours");
	make_text(cache_root(far.cache), "new", "new text");
	distant_break_off(&far);
	scratch_write_text(&far.scratch, "f", "theirs, and longer");
	distant_remount_at_once(&far, NULL);
	expect_shown(cache_root(far.cache), "new", "new text");
	cr_expect(ne(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs, and longer");
	distant_expect_text(&far, "new", "new text");
	cr_expect(eq(u64, distant_failed(&far), 1));
}

/* While the shown changes are on their way, others write over one of the files. */
Test(recover, what_others_change_while_it_is_shown_is_not_overwritten)
{
	size_t count;

	scratch_write_text(&far.scratch, "f", "before");
	remount_waiting();
	distant_write(&far, open_there(), 0, "ours");
	unsigned before = remount_unheard();

	cr_expect(eq(int, look(&patient, cache_root(far.cache), &count), ERR_OK));
	distant_await_applies(&far, before + 1);
	scratch_write_text(&far.scratch, "f", "theirs, and longer");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs, and longer");
	cr_expect(eq(u64, distant_failed(&far), 1));
}

/* Else each lookup and listing would wait for those who hold the lock. */
Test(recover, no_call_asks_for_the_replay_once_it_is_over)
{
	struct writeback *p;
	size_t count;

	leave("f", "hello", 0);
	distant_remount(&far, NULL);
	p = far.cache->writeback;
	cr_expect(eq(int, look(&patient, cache_root(far.cache), &count), ERR_OK));
	pthread_mutex_lock(&p->lock);
	cr_expect(eq(int, writeback_await_replay(p, NULL, NULL), ERR_OK));
	pthread_mutex_unlock(&p->lock);
}

/* The mount ends while a sender waits for the entries of the directories. */
Test(recover, a_mount_may_end_while_what_is_to_be_shown_is_looked_up)
{
	remount_waiting();
	make_text(cache_root(far.cache), "new", "new text");
	for (int n = 0; n < 20; n++) {
		distant_break_off(&far);
		unsigned before = distant_lists(&far);

		distant_hold_entries(&far, true);
		distant_remount_at_once(&far, NULL);
		distant_await_lists(&far, before + 1);
	}
	distant_break_off(&far);
	distant_hold_entries(&far, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "new", "new text");
}

/* The second cache is killed while it sends what the first one left. */
Test(recover, what_is_being_sent_when_that_mount_is_killed_the_one_behind_it_sends)
{
	leave("f", "once", WRITE_APPEND);
	remount_held();
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	far.does_first = true;
	remount_held();
	distant_break_off(&far);
	far.does_first = false;
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "once");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* ---- Many ---- */

/*
 * The most looks for each change, which takes some ten. With a look at each of the others the
 * fewest would take hundreds.
 */
#define LOOKS_MOST 50

/* Whole files, as `cp -r` and a package manager make them. */
static void make_many(struct inode *dir, const char *prefix, unsigned count)
{
	const struct create_args file = { .op = CHANGE_CREATE, .mode = 0644, .opens = true };

	for (unsigned n = 0; n < count; n++) {
		struct cache_entry made;
		char name[32];

		snprintf(name, sizeof name, "%s-%u", prefix, n);
		cr_assert(eq(
			int, cache_make(far.cache, NULL, dir, name, &file, &made, NULL), ERR_OK));
		cr_assert(eq(int, cache_open_made(far.cache, NULL, &made, O_RDWR, NULL), ERR_OK));
		distant_write(&far, made.inode, 0, "text");
		cache_close(far.cache, made.inode);
	}
}

static struct inode *make_directory(const char *name)
{
	const struct create_args making = { .op = CHANGE_MKDIR, .mode = 0755 };
	struct cache_entry made;

	cr_assert(eq(int,
		cache_make(far.cache, NULL, cache_root(far.cache), name, &making, &made, NULL),
		ERR_OK));
	return made.inode;
}

static void rename_many(struct inode *dir, const char *prefix, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		char old[32], new[32];

		snprintf(old, sizeof old, "%s-%u", prefix, n);
		snprintf(new, sizeof new, "new-%u", n);
		cr_assert(eq(
			int, cache_rename(far.cache, NULL, dir, old, dir, new, 0, NULL), ERR_OK));
	}
}

/* One mount leaves the changes that `make` makes, and the next mount sends all of them. */
static void expect_found(void (*make)(unsigned count), unsigned count)
{
	char name[32];

	snprintf(name, sizeof name, "first-%u", count);
	make_held(name, false);
	make(count);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	const struct writeback *p = far.cache->writeback;

	cr_expect(eq(u64, distant_failed(&far), 0));
	cr_expect(eq(u64, p->changes, 0));
	cr_expect(lt(u64, count, p->orders));
	cr_expect(lt(u64, p->looked_at, LOOKS_MOST * p->orders), "%llu looks for %llu changes",
		(unsigned long long)p->looked_at, (unsigned long long)p->orders);
}

/* The number of looks for each change does not depend on the number of changes. */
static void expect_found_at_once(void (*make)(unsigned count))
{
	expect_found(make, 1000);
	expect_found(make, 2000);
	expect_found(make, 8000);
}

static void make_files(unsigned count)
{
	char prefix[32];

	snprintf(prefix, sizeof prefix, "of-%u", count);
	make_many(cache_root(far.cache), prefix, count);
}

Test(recover, each_of_many_changes_is_found_without_a_look_at_the_others)
{
	expect_found_at_once(make_files);
}

/* As without a kill: each file was three changes, to make it, to write it and to name it. */
Test(recover, a_small_file_of_which_nothing_left_is_one_change)
{
	struct cache_status status;
	size_t count = 0;

	make_held("first", false);
	make_files(20);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	remount_held();
	cache_get_status(far.cache, &status);
	cr_expect(lt(u64, status.pending_changes, 30));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, look(NULL, cache_root(far.cache), &count), ERR_OK));
	cr_expect(eq(sz, count, 21));
	distant_remount(&far, NULL);
	distant_expect_text(&far, "of-20-19", "text");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* Saves files as a compiler and an editor do, in a directory that is moved in between. */
static void make_renamed_files(unsigned count)
{
	char old[32], new[32];
	struct inode *root = cache_root(far.cache);

	snprintf(old, sizeof old, "old-%u", count);
	snprintf(new, sizeof new, "new-%u", count);
	struct inode *dir = make_directory(old);

	make_many(dir, "before", count / 4);
	rename_many(dir, "before", count / 4);
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, old, root, new, 0, NULL), ERR_OK));
	make_many(dir, "after", count / 4);
	rename_many(dir, "after", count / 4);
}

Test(recover, each_change_is_found_without_a_look_at_others_where_names_and_their_directory_move)
{
	expect_found_at_once(make_renamed_files);
}
