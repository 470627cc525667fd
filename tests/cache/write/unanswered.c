/* Changes of which an attempt gets no answer of the sandbox's. */
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
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
	distant_stop(&far);
}

TestSuite(unanswered, .init = setup, .fini = teardown, .timeout = 300);

/* ---- Asked for directly: names are not decided here ---- */

static enum err make_dir(const char *name, struct error *e)
{
	static const struct create_args dir = { .op = CHANGE_MKDIR, .mode = 0755 };
	struct cache_entry entry;
	enum err kind = cache_make(far.cache, NULL, cache_root(far.cache), name, &dir, &entry, e);

	if (!kind)
		cache_forget(far.cache, entry.inode, 1);
	return kind;
}

Test(unanswered, a_directory_whose_making_got_no_answer_is_made_once)
{
	static const enum err losses[] = { ERR_UNREACHABLE, ERR_PROTOCOL, ERR_BUSY };

	for (size_t n = 0; n < sizeof losses / sizeof *losses; n++) {
		char name[20];
		struct error e = { 0 };

		snprintf(name, sizeof name, "d%zu", n);
		cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
		far.lost_as = losses[n];
		far.lose_next = 1;
		cr_expect(eq(int, make_dir(name, &e), ERR_OK), "%s: %s", name, e.text);
		cr_expect(eq(uint, far.lose_next, 0));
		cr_expect(eq(int, make_dir(name, NULL), ERR_EXISTS));
	}
}

Test(unanswered, a_directory_whose_making_gets_no_answer_for_seconds_is_given_up)
{
	unsigned before = distant_applies(&far);

	far.lose_answers = true;
	cr_expect(eq(int, make_dir("d", NULL), ERR_UNREACHABLE));
	far.lose_answers = false;
	cr_expect(lt(uint, before + 1, distant_applies(&far)));
}

/* ---- Too large for the way to the sandbox ---- */

#define FILES 8
/* Each file gets several changes, of which some need others. */
#define TEXT "contents of a file, written before anything is sent"
#define LONG TEXT TEXT TEXT TEXT

static struct inode *files[FILES];

static const char *name_of(size_t n)
{
	static char name[20];

	snprintf(name, sizeof name, "f%zu", n);
	return name;
}

static void change_mode(struct inode *i)
{
	const struct change mode = { .op = CHANGE_SETATTR, .set = SET_MODE, .mode = 0640 };

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, false, NULL), ERR_OK));
}

static unsigned mode_of(const char *name)
{
	struct stat st = { 0 };

	cr_expect(not(fstatat(far.scratch.fd, name, &st, 0)));
	return st.st_mode & 07777;
}

static void change(struct inode *i)
{
	distant_write(&far, i, 0, TEXT);
	change_mode(i);
	cr_assert(eq(int, cache_write(far.cache, NULL, i, 0, "!", 1, WRITE_APPEND, NULL), ERR_OK));
}

static void await_text(const char *name, const char *wanted)
{
	int64_t end_ms = monotonic_ms() + 120000;
	bool is_there = false;

	while (!is_there && monotonic_ms() < end_ms) {
		AUTO_FREE char *text = distant_text(&far, name);

		is_there = text && !strcmp(text, wanted);
		usleep(1000);
	}
	cr_assert(is_there, "%s", name);
}

/*
 * Makes the files. Later changes wait a second, so that the test sets up the link before the first
 * of them leaves.
 */
static void make_all(void)
{
	for (size_t n = 0; n < FILES; n++)
		files[n] = distant_make(&far, name_of(n));
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_gather_for(&far, 1000);
}

static void change_all(void)
{
	for (size_t n = 0; n < FILES; n++)
		change(files[n]);
}

static void expect_all_there(void)
{
	for (size_t n = 0; n < FILES; n++) {
		distant_expect_text(&far, name_of(n), TEXT "!");
		distant_close(&far, files[n]);
	}
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(unanswered, a_batch_that_is_too_large_for_the_way_leaves_in_smaller_ones)
{
	make_all();
	far.takes_bytes = 2 * sizeof TEXT;
	change_all();
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	expect_all_there();
}

/* A machine that stands still may not have made the attempt within one deadline. */
static struct cache_status status_once_tried(void)
{
	static const struct call brief = { .progress_ms = 3000 };
	const int64_t end_ms = monotonic_ms() + 120000;
	struct cache_status status;

	do {
		cr_expect(ne(int, cache_sync(far.cache, &brief, NULL), ERR_OK));
		cache_get_status(far.cache, &status);
	} while (!(status.foreign.count && status.errors_count) && monotonic_ms() < end_ms);
	return status;
}

Test(unanswered, a_change_that_is_too_large_for_the_way_waits_until_the_way_takes_it)
{
	struct cache_status status;

	make_all();
	far.takes_bytes = 1;
	change_all();
	status = status_once_tried();
	cr_expect(lt(u64, 0, status.pending_changes));
	cr_expect(eq(u64, status.failed_changes, 0));
	cr_expect(lt(u64, 0, status.foreign.count));
	cr_expect(lt(sz, 0, status.errors_count));
	far.takes_bytes = 0;
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	expect_all_there();
}

/* The sandbox may have applied a part of the batch, which only the numbers show. */
Test(unanswered, a_batch_whose_answer_was_lost_stays_whole)
{
	make_all();
	far.lose_next = 1;
	unsigned before = distant_applies(&far);

	change_all();
	distant_await_applies(&far, before + 1);
	far.takes_bytes = 2 * sizeof TEXT;
	distant_await_applies(&far, before + 2);
	far.takes_bytes = 0;
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	expect_all_there();
}

/* The part of the batch that has left since has higher numbers than the rest had. */
Test(unanswered, the_rest_of_a_batch_that_was_cut_leaves_in_the_next_mount)
{
	distant_keep_journal(&far);
	make_all();
	far.takes_changes = 3;
	far.takes_bytes = 2 * sizeof TEXT;
	change(files[0]);
	distant_write(&far, files[1], 0, LONG);
	change_mode(files[1]);
	change(files[2]);
	await_text(name_of(0), TEXT "!");
	distant_break_off(&far);
	far.takes_bytes = far.takes_changes = 0;
	distant_remount(&far, NULL);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, name_of(1), LONG);
	cr_expect(eq(uint, mode_of(name_of(1)), 0640));
	distant_expect_text(&far, name_of(2), TEXT "!");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* ---- No room for a request ---- */

static void expect_failed(uint64_t count)
{
	cr_expect(eq(u64, distant_failed(&far), count));
}

Test(unanswered, a_batch_that_finds_no_room_leaves_in_smaller_ones)
{
	make_all();
	far.room_bytes = 2 * sizeof TEXT;
	change_all();
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	expect_all_there();
}

/* The error may also be that of the user's share of the disk, ERR_QUOTA. */
Test(unanswered, a_change_that_finds_no_room_is_refused_alone)
{
	static const enum err kinds[] = { ERR_NO_SPACE, ERR_QUOTA };

	make_all();
	for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
		char text[32];

		snprintf(text, sizeof text, "round %zu", n);
		far.no_room_as = kinds[n];
		far.room_bytes = 2 * sizeof TEXT;
		distant_write(&far, files[0], 0, text);
		distant_write(&far, files[1], 0, LONG);
		distant_write(&far, files[2], 0, text);
		cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), kinds[n]));
		expect_failed(n + 1);
		distant_expect_text(&far, name_of(0), text);
		distant_expect_text(&far, name_of(1), "");
		distant_expect_text(&far, name_of(2), text);
		cr_expect(eq(int, cache_fsync(far.cache, NULL, files[1], NULL), kinds[n]));
		far.room_bytes = 0;
	}
	for (size_t n = 0; n < FILES; n++)
		distant_close(&far, files[n]);
}

/* The sandbox may have applied a part of the batch. */
Test(unanswered, a_batch_whose_answer_was_lost_waits_for_room)
{
	make_all();
	far.lose_next = 1;
	unsigned before = distant_applies(&far);

	change_all();
	distant_await_applies(&far, before + 1);
	far.room_bytes = 1;
	distant_await_applies(&far, before + 3);
	far.room_bytes = 0;
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	expect_all_there();
}
