/* Plain batches of a journal, which are not recorded: a copy that comes late does nothing. */
#include "providers/base/cleanup.h"
#include "tests/support/changes.h"
#include "tests/support/shown.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define FENCE "staging/fence-ab000000000000000000000000000001"

static struct shown shown;

static void set_up(void)
{
	shown_make(&shown, false);
	scratch_write_text(&shown.scratch, "tree/f", "before");
}

static void tear_down(void)
{
	shown_remove(&shown);
}

TestSuite(helper_fence, .init = set_up, .fini = tear_down, .timeout = 300);

/* ---- Batches of one write each ---- */

static enum err apply(
	bool is_plain, uint64_t number, struct closed_batches closed, const char *text)
{
	const struct call call = { .progress_ms = 100 };
	const struct change change = CHANGE(WRITE, "f", .data = text, .data_len = strlen(text));
	const struct apply_request request = { .journal = { 0xab, [15] = 0x01 },
		.first_sequence = number,
		.is_plain = is_plain,
		.closed = closed,
		.changes = &change,
		.changes_count = 1 };
	struct change_result result;
	struct error e = { 0 };
	enum err kind = helper_apply(&shown.root, &call, &request, &result, &e);

	cr_expect(eq(int, result.err, kind ? ERR_SKIPPED : ERR_OK), "%s%s", e.text, result.why);
	return kind;
}

/* All batches below `below` have ended, except those named behind it. */
#define plain(number, text, below, ...)                                                            \
	apply(true, number, (struct closed_batches){ below, { __VA_ARGS__ } }, text)
#define recorded(number, text, below, ...)                                                         \
	apply(false, number, (struct closed_batches){ below, { __VA_ARGS__ } }, text)

static void expect_text(const char *want)
{
	AUTO_FREE char *text = scratch_read(&shown.scratch, "tree/f", NULL);

	cr_expect(eq(str, text, (char *)want));
}

static void open_again(void)
{
	char tree[128], staging[128];

	snprintf(tree, sizeof tree, "%s/tree", shown.scratch.path);
	snprintf(staging, sizeof staging, "%s/staging", shown.scratch.path);
	root_close(&shown.root);
	cr_assert(eq(int, root_open(&shown.root, tree, staging, NULL), ERR_OK));
}

/* ---- Batches that are refused ---- */

Test(helper_fence, a_copy_that_comes_behind_the_next_one_does_nothing)
{
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_OK));
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_OK));
	cr_expect(eq(int, plain(2, "second", 2, 2), ERR_OK));
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_CONFLICT));
	expect_text("second");
}

Test(helper_fence, a_copy_that_comes_behind_a_recorded_one_does_nothing)
{
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_OK));
	cr_expect(eq(int, recorded(2, "second", 2), ERR_OK));
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_CONFLICT));
	expect_text("second");
	cr_expect(eq(int, plain(3, "third.", 3, 3), ERR_OK));
	expect_text("third.");
}

Test(helper_fence, a_copy_that_comes_behind_a_restart_does_nothing)
{
	cr_expect(eq(int, plain(2, "second", 2, 2), ERR_OK));
	open_again();
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_CONFLICT));
	expect_text("second");
}

Test(helper_fence, a_copy_does_nothing_where_the_next_one_came_first)
{
	cr_expect(eq(int, recorded(2, "second", 2), ERR_OK));
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_CONFLICT));
	expect_text("second");
}

Test(helper_fence, a_copy_does_nothing_while_an_older_one_is_to_come)
{
	cr_expect(eq(int, plain(2, "first.", 2, 1, 2), ERR_OK));
	cr_expect(eq(int, plain(3, "second", 3, 1, 3), ERR_OK));
	cr_expect(eq(int, plain(2, "first.", 2, 1, 2), ERR_CONFLICT));
	expect_text("second");
	cr_expect(eq(int, plain(1, "older.", 1, 1), ERR_OK));
}

/* ---- Batches that are not refused ---- */

Test(helper_fence, parallel_batches_arrive_in_any_order)
{
	cr_expect(eq(int, plain(3, "3", 3, 1, 2, 3), ERR_OK));
	cr_expect(eq(int, recorded(4, "4", 4, 1, 2, 3), ERR_OK));
	cr_expect(eq(int, plain(1, "1", 1, 1), ERR_OK));
	cr_expect(eq(int, plain(2, "2", 4, 1, 2), ERR_OK));
	/* The batch before reported that the third one has ended. */
	cr_expect(eq(int, plain(3, "3", 3, 1, 2, 3), ERR_CONFLICT));
	cr_expect(eq(int, plain(1, "1", 1, 1), ERR_OK));
}

Test(helper_fence, a_late_report_opens_nothing)
{
	cr_expect(eq(int, recorded(3, "second", 3), ERR_OK));
	cr_expect(eq(int, recorded(1, "first.", 1, 1, 2), ERR_OK));
	cr_expect(eq(int, plain(2, "first.", 2, 1, 2), ERR_CONFLICT));
	expect_text("second");
}

Test(helper_fence, what_has_no_number_settles_and_is_never_refused)
{
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_OK));
	cr_expect(eq(int, plain(0, "second", 2), ERR_OK));
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_CONFLICT));
	expect_text("second");
	cr_expect(eq(int, plain(0, "third.", 2), ERR_OK));
	expect_text("third.");
}

Test(helper_fence, an_old_number_that_is_recorded_is_its_own_matter)
{
	cr_expect(eq(int, plain(9, "before", 9, 9), ERR_OK));
	cr_expect(eq(int, recorded(4, "second", 10), ERR_OK));
	expect_text("second");
}

Test(helper_fence, a_batch_of_no_journal_leaves_no_trace)
{
	shown_apply(&shown, &CHANGE(WRITE, "f", TEXT("x")));
	cr_expect(not(shown_exists(&shown, "staging/fence-00000000000000000000000000000000")));
	cr_expect(not(shown_exists(&shown, "staging/seq-00000000000000000000000000000000")));
	expect_text("xefore");
}

/* ---- Locks ---- */

/* The lock of a plain batch that is at work. */
static int lock_shared(void)
{
	int fd = openat(shown.scratch.fd, FENCE, O_RDONLY | O_CLOEXEC);

	cr_assert(fd >= 0 && !flock(fd, LOCK_SH));
	return fd;
}

Test(helper_fence, who_settles_waits_for_what_is_at_work)
{
	cr_expect(eq(int, plain(1, "first.", 1, 1), ERR_OK));
	{
		AUTO_CLOSE int at_work = lock_shared();

		cr_expect(at_work >= 0);
		cr_expect(eq(int, recorded(2, "second", 2), ERR_TIMEOUT));
		cr_expect(eq(int, plain(2, "second", 2, 2), ERR_TIMEOUT));
		expect_text("first.");
		cr_expect(eq(int, plain(1, "beside", 1, 1), ERR_OK));
	}
	cr_expect(eq(int, plain(2, "second", 2, 2), ERR_OK));
	expect_text("second");
}

Test(helper_fence, without_a_place_for_it_everything_is_done)
{
	scratch_mkdir(&shown.scratch, FENCE, 0700);
	cr_expect(eq(int, plain(2, "second", 2, 2), ERR_OK));
	cr_expect(eq(int, recorded(3, "third.", 3), ERR_OK));
	expect_text("third.");
}
