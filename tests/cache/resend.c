/* Contents that left without a number, and whose answer was lost: they are sent again. */
#include "tests/cache/distant.h"

#include "cache/cache_inside.h"
#include "cache/pending_inside.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(resend, .init = setup, .fini = teardown, .timeout = 300);

/* The attempt that is held, as the `number`th, is done and its answer lost; the next one arrives, and is held. */
static void lose_answer(unsigned number)
{
	far.lose_answers = true;
	distant_pass_apply(&far, number);
	distant_await_applies(&far, number + 1);
	far.lose_answers = false;
}

/* What is on its way does not arrive, nor do some attempts after that. */
static void lose_questions(void)
{
	far.is_cut = true;
	distant_await_applies(&far, distant_applies(&far) + 2);
	far.is_cut = false;
}

static const struct change private = { .op = CHANGE_SETATTR, .set = SET_MODE, .mode = 0600 };
static const struct change shared = { .op = CHANGE_SETATTR, .set = SET_MODE, .mode = 0660 };

enum doing {
	WRITES,
	SETS_MODE,
	SETS_MODE_TWICE,
	SETS_MODE_AND_WRITES,
	SETS_MODE_AND_OVERWRITES,
	SETS_MODE_MOVES_AND_WRITES,
	MOVES_AND_WRITES,
	SETS_MODE_AND_EXCHANGES,
	EXCHANGES_AND_WRITES
};

static void make_files(const char *name)
{
	scratch_write_text(&far.scratch, name, "before");
	scratch_write_text(&far.scratch, "other", "");
	scratch_write_text(&far.scratch, "second", "another");
}

static void do_to(struct inode *i, enum doing doing, const char *name, const char *text)
{
	const struct change empty = { .set = SET_SIZE };
	struct inode *root = cache_root(far.cache);

	if (doing != WRITES && doing != MOVES_AND_WRITES && doing != EXCHANGES_AND_WRITES)
		cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &private, true, NULL), ERR_OK));
	/* By its name, which is a change of its own. */
	if (doing == SETS_MODE_TWICE)
		cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &shared, false, NULL), ERR_OK));
	if (doing == SETS_MODE_MOVES_AND_WRITES || doing == MOVES_AND_WRITES)
		cr_assert(eq(int, cache_rename(far.cache, NULL, root, name, root, "moved", 0, NULL),
			ERR_OK));
	if (doing == SETS_MODE_AND_EXCHANGES || doing == EXCHANGES_AND_WRITES)
		cr_assert(eq(int,
			cache_rename(
				far.cache, NULL, root, "second", root, name, CHANGE_EXCHANGE, NULL),
			ERR_OK));
	if (doing == SETS_MODE_AND_OVERWRITES)
		cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &empty, true, NULL), ERR_OK));
	if (doing != SETS_MODE && doing != SETS_MODE_TWICE && doing != SETS_MODE_AND_EXCHANGES)
		distant_write(&far, i, 0, text);
}

/*
 * Changes the file `name` while a change that has a number is under way, whose first answer is lost: what was done before
 * that is held against its version when it leaves, as the third attempt, which is held.
 */
static struct inode *change_known(enum doing doing, const char *name, const char *text)
{
	struct inode *i = distant_open_known(&far, name),
		     *other = distant_open_known(&far, "other");

	far.cache->pending->pause_ms = 10;
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_setattr(far.cache, NULL, other, &private, false, NULL), ERR_OK));
	distant_await_applies(&far, 1);
	do_to(i, doing, name, text);
	lose_answer(1);
	distant_pass_apply(&far, 2);
	distant_await_applies(&far, 3);
	distant_close(&far, other);
	return i;
}

static struct inode *change_in_an_outage(enum doing doing, const char *name, const char *text)
{
	make_files(name);
	return change_known(doing, name, text);
}

static struct inode *write_in_an_outage(const char *name, const char *text)
{
	return change_in_an_outage(WRITES, name, text);
}

Test(resend, what_was_done_and_not_answered_is_no_conflict)
{
	struct inode *i = write_in_an_outage("f", "ours");

	lose_answer(3);
	distant_expect_text(&far, "f", "oursre");
	lose_answer(4);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "oursre");
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

Test(resend, who_cannot_be_asked_whether_it_was_done_is_asked_again)
{
	static const enum err troubles[] = { ERR_BUSY, ERR_IO, ERR_NO_MEMORY, ERR_OK };
	struct inode *i = write_in_an_outage("f", "ours");

	far.fetch_failures = troubles;
	lose_answer(3);
	cr_expect(eq(uint, distant_fetches(&far), 4));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "oursre");
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

Test(resend, but_what_others_wrote_over_it_is_one)
{
	struct inode *i = write_in_an_outage("f", "ours");

	distant_hold_fetches(&far, true);
	far.lose_answers = true;
	distant_pass_apply(&far, 3);
	distant_await_fetches(&far, 1);
	far.lose_answers = false;
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_fetches(&far, false);
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_parked(&far), 1));
	distant_close(&far, i);
}

/* Two writes of one file are on their way at the same time; the first one is never answered, and not done. */
Test(resend, what_was_written_beside_it_is_no_conflict)
{
	scratch_write_text(&far.scratch, "f", "before and after");
	struct inode *i = distant_open_known(&far, "f");

	far.cache->pending->pause_ms = 10;
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "ours");
	distant_await_applies(&far, 1);
	distant_write(&far, i, 11, "ours");
	distant_await_applies(&far, 2);
	uint64_t answers = distant_answers(&far);

	distant_pass_apply(&far, 2);
	distant_await_answers(&far, answers + 1);
	distant_time_out_apply(&far, 1);
	distant_await_applies(&far, 3);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "oursre and oursr");
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

Test(resend, what_is_held_against_its_version_is_overtaken_by_nothing)
{
	struct inode *i = write_in_an_outage("f", "ours");

	distant_write(&far, i, 5, "!");
	/* What depends on nothing that is held has left when this arrives. */
	struct inode *beside = distant_open_known(&far, "second");

	distant_write(&far, beside, 0, "xy");
	distant_await_applies(&far, 4);
	cr_expect(eq(sz, distant_apply_bytes(&far), 2));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "oursr!");
	distant_close(&far, beside);
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

/* What is written while the first write is on its way comes after that: it is based on what that leaves. */
static struct inode *write_twice_and_lose_the_second(void)
{
	scratch_write_text(&far.scratch, "f", "before");
	struct inode *i = distant_open_known(&far, "f");

	far.cache->pending->pause_ms = 10;
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "ours");
	distant_await_applies(&far, 1);
	distant_write(&far, i, 0, "more");
	distant_pass_apply(&far, 1);
	distant_await_applies(&far, 2);
	distant_time_out_apply(&far, 2);
	distant_await_applies(&far, 3);
	distant_expect_text(&far, "f", "oursre");
	return i;
}

Test(resend, what_follows_a_write_is_held_against_what_that_left)
{
	struct inode *i = write_twice_and_lose_the_second();

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_parked(&far), 1));
	distant_close(&far, i);
}

Test(resend, and_arrives_where_nobody_else_wrote)
{
	struct inode *i = write_twice_and_lose_the_second();

	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "morere");
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

Test(resend, what_follows_a_write_that_was_a_conflict_is_one_too)
{
	struct inode *i = write_in_an_outage("f", "ours");

	distant_write(&far, i, 5, "!");
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_parked(&far), 2));
	distant_close(&far, i);
}

/* ---- Attributes that are set just before it ---- */

static void expect_mode(const char *name, mode_t wanted)
{
	struct stat there;

	cr_assert(eq(int, fstatat(far.scratch.fd, name, &there, 0), 0));
	cr_expect(eq(u32, there.st_mode & 07777, wanted));
}

Test(resend, attributes_that_are_set_before_it_hide_nobody)
{
	struct inode *i = change_in_an_outage(SETS_MODE_AND_WRITES, "f", "ours");

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	expect_mode("f", 0600);
	cr_expect(eq(u64, distant_parked(&far), 1));
	distant_close(&far, i);
}

Test(resend, where_nobody_was_at_it_both_are_done)
{
	struct inode *i = change_in_an_outage(SETS_MODE_AND_WRITES, "f", "ours");

	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "oursre");
	expect_mode("f", 0600);
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

Test(resend, what_overwrites_it_behind_them_keeps_both)
{
	struct inode *i = change_in_an_outage(SETS_MODE_AND_OVERWRITES, "f", "ours");

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_close(&far, i);
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	distant_expect_text(&far, "f.sandboxfs-conflict", "ours");
	cr_expect(eq(u64, distant_parked(&far), 0));
}

Test(resend, and_arrives_behind_them_where_nobody_was_at_it)
{
	struct inode *i = change_in_an_outage(SETS_MODE_AND_OVERWRITES, "f", "ours");

	distant_close(&far, i);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "ours");
	expect_mode("f", 0600);
	cr_expect(eq(u64, distant_parked(&far), 0));
}

Test(resend, where_only_attributes_are_set_it_does_not_matter_who_was_at_it)
{
	struct inode *i = change_in_an_outage(SETS_MODE, "f", NULL);

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	expect_mode("f", 0600);
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

Test(resend, nor_in_which_order_they_are_set)
{
	struct inode *i = change_in_an_outage(SETS_MODE_TWICE, "f", NULL);

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	expect_mode("f", 0660);
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

Test(resend, what_follows_is_written_without_them_where_they_are_refused)
{
	far.refused_op = CHANGE_SETATTR;
	struct inode *i = change_in_an_outage(SETS_MODE_AND_WRITES, "f", "ours");

	distant_refuse(&far, ERR_NOT_OWNER);
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "oursre");
	expect_mode("f", 0644);
	cr_expect(eq(u64, distant_parked(&far), 1));
	distant_close(&far, i);
}

/* Nothing was behind them when they left last. */
Test(resend, what_is_written_while_they_are_on_their_way_hides_nobody_either)
{
	struct inode *i = change_in_an_outage(SETS_MODE, "f", NULL);

	distant_write(&far, i, 0, "ours");
	lose_questions();
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	cr_expect(eq(u64, distant_parked(&far), 1));
	distant_close(&far, i);
}

/* The mount ends when the attributes leave once more: the next one knows that others were at the file. */
Test(resend, nor_does_it_where_the_mount_ends_meanwhile)
{
	distant_keep_journal(&far);
	change_in_an_outage(SETS_MODE_AND_WRITES, "f", "ours");

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_pass_apply(&far, 3);
	distant_await_applies(&far, 4);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	distant_expect_text(&far, "f", "theirs");
	expect_mode("f", 0600);
	cr_expect(eq(u64, distant_parked(&far), 1));
}

/* Where names are decided here. */
static struct inode *move_in_an_outage(enum doing doing)
{
	make_files("f");
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	return change_known(doing, "f", "ours");
}

static void expect_moved_and_parked(enum doing doing)
{
	struct inode *i = move_in_an_outage(doing);

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "moved", "theirs");
	cr_expect(eq(u64, distant_parked(&far), 1));
	distant_close(&far, i);
}

Test(resend, nor_does_what_is_moved_between_them)
{
	expect_moved_and_parked(SETS_MODE_MOVES_AND_WRITES);
}

Test(resend, a_move_before_it_hides_nobody)
{
	expect_moved_and_parked(MOVES_AND_WRITES);
}

Test(resend, and_where_nobody_was_at_it_it_is_moved_and_written)
{
	struct inode *i = move_in_an_outage(MOVES_AND_WRITES);

	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "moved", "oursre");
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

/* Attributes that others' contents put behind it would be another file's. */
Test(resend, what_is_exchanged_behind_them_is_what_they_are_set_of)
{
	struct inode *i = move_in_an_outage(SETS_MODE_AND_EXCHANGES);

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "second", "theirs");
	distant_expect_text(&far, "f", "another");
	expect_mode("second", 0600);
	expect_mode("f", 0644);
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

Test(resend, what_others_wrote_is_not_exchanged)
{
	struct inode *i = move_in_an_outage(EXCHANGES_AND_WRITES);

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	distant_expect_text(&far, "second", "another");
	cr_expect(ge(u64, distant_parked(&far), 2));
	distant_close(&far, i);
}

Test(resend, and_is_where_nobody_was_at_it)
{
	struct inode *i = move_in_an_outage(EXCHANGES_AND_WRITES);

	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "second", "oursre");
	distant_expect_text(&far, "f", "another");
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

/* Both have left together when nobody answers any more. */
static struct inode *move_before_an_outage(void)
{
	make_files("f");
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
	struct inode *i = distant_open_known(&far, "f"), *other = distant_open_known(&far, "other");

	far.cache->pending->pause_ms = 10;
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_setattr(far.cache, NULL, other, &private, false, NULL), ERR_OK));
	distant_await_applies(&far, 1);
	do_to(i, MOVES_AND_WRITES, "f", "ours");
	distant_pass_apply(&far, 1);
	distant_await_applies(&far, 2);
	lose_questions();
	distant_close(&far, other);
	return i;
}

Test(resend, nor_one_that_leaves_with_it)
{
	struct inode *i = move_before_an_outage();

	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "moved", "theirs");
	cr_expect(eq(u64, distant_parked(&far), 1));
	distant_close(&far, i);
}

Test(resend, and_both_arrive_where_nobody_was_at_it)
{
	struct inode *i = move_before_an_outage();

	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "moved", "oursre");
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}

/* ---- What left with a number ---- */

/* It is appended to "f" and not answered; then somebody else writes it. The answer of the next attempt is held. */
static struct inode *append_in_an_outage(void)
{
	char text[8];
	size_t got;

	scratch_write_text(&far.scratch, "f", "before");
	struct inode *i = distant_open_known(&far, "f");

	cr_assert(
		eq(int, cache_read(far.cache, NULL, i, 0, text, sizeof text, &got, NULL), ERR_OK));
	far.cache->pending->pause_ms = 10;
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_write(far.cache, NULL, i, 6, "!", 1, WRITE_APPEND, NULL), ERR_OK));
	distant_await_applies(&far, 1);
	lose_answer(1);
	distant_expect_text(&far, "f", "before!");
	return i;
}

Test(resend, what_others_made_of_it_since_is_shown)
{
	struct inode *i = append_in_an_outage();
	char text[8] = "";
	size_t got;

	scratch_write_text(&far.scratch, "f", "theirs.");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	cr_assert(
		eq(int, cache_read(far.cache, NULL, i, 0, text, sizeof text, &got, NULL), ERR_OK));
	cr_expect(eq(str, (char *)text, "theirs."));
	distant_close(&far, i);
}

Test(resend, and_what_is_written_behind_it_does_not_hide_that)
{
	struct inode *i = append_in_an_outage();

	distant_write(&far, i, 0, "ours");
	lose_answer(2);
	scratch_write_text(&far.scratch, "f", "theirs.");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "theirs.");
	cr_expect(eq(u64, distant_parked(&far), 1));
	distant_close(&far, i);
}

Test(resend, where_nobody_was_at_it_that_is_written_too)
{
	struct inode *i = append_in_an_outage();

	distant_write(&far, i, 0, "ours");
	lose_answer(2);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "oursre!");
	cr_expect(eq(u64, distant_parked(&far), 0));
	distant_close(&far, i);
}
