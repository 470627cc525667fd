/* Contents that left without a number, and whose answer was lost: they are sent again. */
#include "tests/cache/distant.h"

#include "cache/session/session.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <sys/stat.h>

static struct distant far;
static struct inode *f, *other; /* the files of these names, open */
static unsigned held;           /* the number of the attempt that is held */

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

static void await_next(void)
{
	distant_await_applies(&far, ++held);
}

static void set(struct inode *i, uint32_t what, mode_t mode, bool by_handle)
{
	const struct change change = { .op = CHANGE_SETATTR, .set = what, .mode = mode };

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &change, by_handle, NULL), ERR_OK));
}

static void rename_to(const char *from, const char *to, uint32_t flags)
{
	struct inode *root = cache_root(far.cache);

	cr_assert(
		eq(int, cache_rename(far.cache, NULL, root, from, root, to, flags, NULL), ERR_OK));
}

static void append(struct inode *i, const char *text)
{
	cr_assert(eq(int, cache_write(far.cache, NULL, i, 6, text, 1, WRITE_APPEND, NULL), ERR_OK));
}

static void expect_shown(const char *wanted)
{
	char text[8] = "";
	size_t got;

	cr_assert(
		eq(int, cache_read(far.cache, NULL, f, 0, text, sizeof text, &got, NULL), ERR_OK));
	cr_expect(eq(str, (char *)text, (char *)wanted));
}

/* ---- Steps ---- */

#define STEP(name, ...)                                                                            \
	static void name(void)                                                                     \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

/* Steps in the mount. */
STEP(reads, expect_shown("before"))
STEP(writes, distant_write(&far, f, 0, "ours"))
STEP(writes_more, distant_write(&far, f, 0, "more"))
STEP(writes_at_5, distant_write(&far, f, 5, "!"))
STEP(appends, append(f, "!"))
STEP(truncates, set(f, SET_SIZE, 0, true))
STEP(sets_mode, set(f, SET_MODE, 0600, true))
/* A mode that is set by name is a change of its own. */
STEP(sets_mode_by_name, set(f, SET_MODE, 0660, false))
STEP(renames, rename_to("f", "moved", 0))
STEP(exchanges, rename_to("second", "f", CHANGE_EXCHANGE))
STEP(replaces, rename_to("second", "linked", 0))
STEP(closes, distant_close(&far, f); f = NULL)

static void links(void)
{
	struct cache_entry entry;

	cr_assert(eq(int,
		cache_link(far.cache, NULL, f, cache_root(far.cache), "linked", &entry, NULL),
		ERR_OK));
	cache_forget(far.cache, entry.inode, 1);
}

static void removes(void)
{
	struct inode *root = cache_root(far.cache);

	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
}

static const enum err troubles[] = { ERR_BUSY, ERR_IO, ERR_NO_MEMORY, ERR_OK };

/*
 * Steps on the link: the end of the attempt that is held. Each waits for the next attempt, which is
 * held.
 */
STEP(leaves, await_next())
STEP(is_answered, distant_pass_apply(&far, held); await_next())
STEP(times_out, distant_time_out_apply(&far, held); await_next())
STEP(loses_answer, far.lose_answers = true; is_answered(); far.lose_answers = false)
STEP(fails_three_fetches, far.fetch_failures = troubles)
STEP(loses_requests, far.is_cut = true; held++; await_next(); far.is_cut = false)

/* Steps in the sandbox. */
STEP(others_write, scratch_write_text(&far.scratch, "f", "theirs"))
STEP(others_write_7_bytes, scratch_write_text(&far.scratch, "f", "theirs."))
STEP(expect_ours, distant_expect_text(&far, "f", "oursre"))
STEP(expect_appended, distant_expect_text(&far, "f", "before!"))
STEP(expect_four_fetches, cr_expect(eq(uint, distant_fetches(&far), 4)))
STEP(refuses_mode, far.refused_op = CHANGE_SETATTR; distant_refuse(&far, ERR_NOT_OWNER))

/*
 * The write is applied and its answer lost. The mount has not asked yet whether the write was
 * applied.
 */
static void others_write_before_the_mount_asks(void)
{
	distant_hold_fetches(&far, true);
	far.lose_answers = true;
	distant_pass_apply(&far, held);
	distant_await_fetches(&far, 1);
	far.lose_answers = false;
	others_write();
	distant_hold_fetches(&far, false);
}

/* A recorded change is on its way; the later steps of the row are queued behind it. */
STEP(holds_queue, set(other, SET_MODE, 0600, false); await_next();
	distant_gather_for(&far, AN_HOUR_MS))

/* The change of holds_queue is answered, and the queue leaves. */
static void sends_queue(void)
{
	uint64_t answers = distant_answers(&far);

	distant_pass_apply(&far, held);
	distant_await_answers(&far, answers + 1);
	distant_gather_for(&far, WRITEBACK_WAIT_MS);
	await_next();
}

/*
 * The steps are done while the first answer to that change is lost. Their ops leave as the third
 * attempt, and are checked against the version of their file.
 */
#define IN_AN_OUTAGE(...) holds_queue, __VA_ARGS__, loses_answer, sends_queue
/* The steps have left together when nothing arrives any more. */
#define LEFT_TOGETHER(...) holds_queue, __VA_ARGS__, sends_queue, loses_requests

/* ---- Rows ---- */

enum end { FLUSH_SUCCEEDS, FLUSH_FAILS, SYNC_SUCCEEDS, SYNC_FAILS };

struct row {
	bool decides; /* names are decided in the mount */
	void (*steps[12])(void);
	enum end end; /* the end of the barrier that comes when the link works again */
	struct {
		const char *name, *text;
		mode_t mode; /* 0: any */
	} there[2];
	const char *shown; /* in the mount, behind the barrier; NULL: not read */
	uint64_t failed;
};

static void begin(const struct row *row)
{
	scratch_write_text(&far.scratch, "f", "before");
	scratch_write_text(&far.scratch, "other", "");
	scratch_write_text(&far.scratch, "second", "another");
	if (row->decides) {
		far.tells_changes = true;
		distant_remount(&far, NULL);
		distant_await_deciding(&far);
	}
	f = distant_open_known(&far, "f");
	other = distant_open_known(&far, "other");
	far.cache->writeback->pause_ms = 10;
	distant_hold_applies(&far, true);
	for (int n = 0; row->steps[n]; n++)
		row->steps[n]();
}

static void expect_there(const struct row *row)
{
	struct stat there;

	for (int n = 0; n < 2 && row->there[n].name; n++) {
		distant_expect_text(&far, row->there[n].name, row->there[n].text);
		cr_assert(eq(int, fstatat(far.scratch.fd, row->there[n].name, &there, 0), 0));
		if (row->there[n].mode)
			cr_expect(eq(u32, there.st_mode & 07777, row->there[n].mode));
	}
	cr_expect(eq(u64, distant_failed(&far), row->failed));
}

static void end(const struct row *row)
{
	bool flushes = row->end == FLUSH_SUCCEEDS || row->end == FLUSH_FAILS;
	bool fails = row->end == FLUSH_FAILS || row->end == SYNC_FAILS;

	distant_hold_applies(&far, false);
	enum err kind =
		flushes ? cache_flush(far.cache, NULL, f, NULL) : cache_sync(far.cache, NULL, NULL);

	cr_expect(eq(int, kind != ERR_OK, fails));
	if (row->shown)
		expect_shown(row->shown);
	expect_there(row);
	if (f)
		distant_close(&far, f);
	distant_close(&far, other);
}

static void play(const struct row *row)
{
	begin(row);
	end(row);
}

#define DO(...) .steps = { __VA_ARGS__ }
#define CASE(name, ...)                                                                            \
	Test(resend, name)                                                                         \
	{                                                                                          \
		play(&(const struct row){ __VA_ARGS__ });                                          \
	}

CASE(a_write_whose_answer_was_lost_is_no_conflict,
	DO(IN_AN_OUTAGE(writes), loses_answer, expect_ours, loses_answer), .end = FLUSH_SUCCEEDS,
	.there = { { "f", "oursre" } })
CASE(whether_a_write_was_done_is_asked_until_the_sandbox_tells,
	DO(IN_AN_OUTAGE(writes), fails_three_fetches, loses_answer, expect_four_fetches),
	.end = FLUSH_SUCCEEDS, .there = { { "f", "oursre" } })
CASE(what_others_wrote_over_a_write_whose_answer_was_lost_is_a_conflict,
	DO(IN_AN_OUTAGE(writes), others_write_before_the_mount_asks), .end = FLUSH_FAILS,
	.there = { { "f", "theirs" } }, .failed = 1)
CASE(what_follows_a_write_that_was_a_conflict_is_one_too,
	DO(IN_AN_OUTAGE(writes), writes_at_5, others_write), .end = FLUSH_FAILS,
	.there = { { "f", "theirs" } }, .failed = 2)
/* A write while the first write is on its way is based on the version that the first one leaves. */
CASE(what_follows_a_write_is_held_against_what_that_left,
	DO(writes, leaves, writes_more, is_answered, times_out, expect_ours, others_write),
	.end = FLUSH_FAILS, .there = { { "f", "theirs" } }, .failed = 1)
CASE(what_follows_a_write_arrives_where_nobody_else_wrote,
	DO(writes, leaves, writes_more, is_answered, times_out, expect_ours), .end = FLUSH_SUCCEEDS,
	.there = { { "f", "morere" } })

/* Two writes of one file are on their way at the same time; the first one is not done. */
Test(resend, contents_written_in_parallel_with_a_write_are_no_conflict)
{
	const struct row row = { DO(writes, leaves, writes_at_5, leaves), .end = SYNC_SUCCEEDS,
		.there = { { "f", "oursr!" } } };

	begin(&row);
	uint64_t answers = distant_answers(&far);

	distant_pass_apply(&far, 2);
	distant_await_answers(&far, answers + 1);
	distant_time_out_apply(&far, 1);
	distant_await_applies(&far, 3);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_flush(far.cache, NULL, f, NULL), ERR_OK));
	end(&row);
}

Test(resend, what_is_held_against_its_version_is_overtaken_by_nothing)
{
	const struct row row = { DO(IN_AN_OUTAGE(writes), writes_at_5),
		.there = { { "f", "oursr!" } } };

	begin(&row);
	/* The ops that depend on no held op have left when this write arrives. */
	struct inode *second = distant_open_known(&far, "second");

	distant_write(&far, second, 0, "xy");
	distant_await_applies(&far, 4);
	cr_expect(eq(sz, distant_apply_bytes(&far), 2));
	end(&row);
	distant_close(&far, second);
}

/* ---- Attributes that are set just before the contents ---- */

CASE(a_mode_before_a_write_hides_no_conflict, DO(IN_AN_OUTAGE(sets_mode, writes), others_write),
	.end = FLUSH_FAILS, .there = { { "f", "theirs", 0600 } }, .failed = 1)
CASE(a_mode_and_a_write_arrive_where_nobody_else_wrote, DO(IN_AN_OUTAGE(sets_mode, writes)),
	.end = FLUSH_SUCCEEDS, .there = { { "f", "oursre", 0600 } })
CASE(what_overwrites_a_file_behind_a_mode_keeps_both_versions,
	DO(IN_AN_OUTAGE(sets_mode, truncates, writes), others_write, closes), .end = SYNC_FAILS,
	.there = { { "f", "theirs" }, { "f.sandboxfs-conflict", "ours" } })
CASE(what_overwrites_a_file_behind_a_mode_arrives_where_nobody_else_wrote,
	DO(IN_AN_OUTAGE(sets_mode, truncates, writes), closes), .end = SYNC_SUCCEEDS,
	.there = { { "f", "ours", 0600 } })
CASE(a_mode_alone_is_set_whoever_wrote, DO(IN_AN_OUTAGE(sets_mode), others_write),
	.end = FLUSH_SUCCEEDS, .there = { { "f", "theirs", 0600 } })
CASE(two_modes_are_set_in_their_order_whoever_wrote,
	DO(IN_AN_OUTAGE(sets_mode, sets_mode_by_name), others_write), .end = FLUSH_SUCCEEDS,
	.there = { { "f", "theirs", 0660 } })
CASE(a_write_behind_a_mode_that_is_refused_arrives,
	DO(IN_AN_OUTAGE(sets_mode, writes), refuses_mode), .end = FLUSH_FAILS,
	.there = { { "f", "oursre", 0644 } }, .failed = 1)
/* No op was behind the mode when it left last. */
CASE(a_write_behind_a_mode_that_is_on_its_way_hides_no_conflict,
	DO(IN_AN_OUTAGE(sets_mode), writes, loses_requests, others_write), .end = SYNC_FAILS,
	.there = { { "f", "theirs" } }, .failed = 1)

/* The mount ends when the mode leaves once more: the next one knows that others wrote. */
Test(resend, a_mode_before_a_write_hides_no_conflict_from_the_next_mount)
{
	const struct row row = { DO(IN_AN_OUTAGE(sets_mode, writes), others_write, is_answered),
		.there = { { "f", "theirs", 0600 } }, .failed = 1 };

	distant_keep_journal(&far);
	begin(&row);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	expect_there(&row);
}

/* ---- Names that are decided in the mount just before the contents ---- */

CASE(a_mode_and_a_move_before_a_write_hide_no_conflict, .decides = true,
	DO(IN_AN_OUTAGE(sets_mode, renames, writes), others_write), .end = SYNC_FAILS,
	.there = { { "moved", "theirs" } }, .failed = 1)
CASE(a_move_before_a_write_hides_no_conflict, .decides = true,
	DO(IN_AN_OUTAGE(renames, writes), others_write), .end = SYNC_FAILS,
	.there = { { "moved", "theirs" } }, .failed = 1)
CASE(a_move_and_a_write_arrive_where_nobody_else_wrote, .decides = true,
	DO(IN_AN_OUTAGE(renames, writes)), .end = SYNC_SUCCEEDS, .there = { { "moved", "oursre" } })
CASE(a_move_that_left_with_a_write_hides_no_conflict, .decides = true,
	DO(LEFT_TOGETHER(renames, writes), others_write), .end = SYNC_FAILS,
	.there = { { "moved", "theirs" } }, .failed = 1)
CASE(a_move_and_a_write_that_left_together_arrive_where_nobody_else_wrote, .decides = true,
	DO(LEFT_TOGETHER(renames, writes)), .end = SYNC_SUCCEEDS,
	.there = { { "moved", "oursre" } })
/*
 * The removal gave the file another ctime, and the file that replaces it leaves it without a name.
 */
CASE(a_file_whose_other_name_was_removed_is_replaced, .decides = true,
	DO(holds_queue, links, removes, sends_queue, replaces, loses_answer), .end = SYNC_SUCCEEDS,
	.there = { { "linked", "another" } })
/* A mode that others' contents put behind the exchange would be another file's. */
CASE(a_mode_is_set_of_the_file_that_is_exchanged_behind_it, .decides = true,
	DO(IN_AN_OUTAGE(sets_mode, exchanges), others_write), .end = SYNC_SUCCEEDS,
	.there = { { "second", "theirs", 0600 }, { "f", "another", 0644 } })
CASE(what_others_wrote_is_not_exchanged, .decides = true,
	DO(IN_AN_OUTAGE(exchanges, writes), others_write), .end = SYNC_FAILS,
	.there = { { "f", "theirs" }, { "second", "another" } }, .failed = 2)
CASE(an_exchange_and_a_write_arrive_where_nobody_else_wrote, .decides = true,
	DO(IN_AN_OUTAGE(exchanges, writes)), .end = SYNC_SUCCEEDS,
	.there = { { "second", "oursre" }, { "f", "another" } })

/* ---- Appends, which leave with a number ---- */

#define APPENDED reads, appends, leaves, loses_answer, expect_appended

CASE(what_others_made_of_an_append_whose_answer_was_lost_is_shown,
	DO(APPENDED, others_write_7_bytes), .end = FLUSH_SUCCEEDS, .shown = "theirs.")
CASE(a_write_behind_an_append_whose_answer_was_lost_hides_no_conflict,
	DO(APPENDED, writes, loses_answer, others_write_7_bytes), .end = FLUSH_FAILS,
	.there = { { "f", "theirs." } }, .failed = 1)
CASE(a_write_behind_an_append_whose_answer_was_lost_arrives_where_nobody_else_wrote,
	DO(APPENDED, writes, loses_answer), .end = FLUSH_SUCCEEDS, .there = { { "f", "oursre!" } })
