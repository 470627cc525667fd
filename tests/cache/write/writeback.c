#include "tests/cache/distant.h"

#include "cache/session/session.h"
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
#include <criterion/redirect.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
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
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(pending, .init = setup, .fini = teardown, .timeout = 300);

static enum err flush(struct inode *i)
{
	return cache_flush(far.cache, NULL, i, NULL);
}

/* A file that is there, empty, with no calls counted. */
static struct inode *make(const char *name)
{
	struct inode *i = distant_make(&far, name);

	far.applies = 0;
	return i;
}

/* ---- How many calls ---- */

Test(pending, a_write_a_sync_and_a_close_are_one_call)
{
	struct inode *i = make("f");

	distant_gather_for(&far, AN_HOUR_MS);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_close(&far, i);
	cr_expect(eq(uint, distant_applies(&far), 1));
	distant_expect_text(&far, "f", "hello");
}

Test(pending, each_fsync_is_one_in_the_sandbox)
{
	struct inode *i = make("f"), *root = cache_root(far.cache);

	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, flush(i), ERR_OK));
	cr_expect(eq(uint, far.syncs, 0), "nobody asked for one");
	distant_write(&far, i, 0, "again");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	cr_expect(eq(uint, far.syncs, 1), "behind what was pending");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	cr_expect(eq(uint, far.syncs, 2), "of what was written before, too");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, root, NULL), ERR_OK));
	cr_expect(eq(uint, far.syncs, 3), "of a directory, too");
	distant_close(&far, i);
}

/* A flush of `inode`, or of everything where that is NULL, which runs in parallel with the test. */
struct barrier {
	struct inode *inode;
	pthread_t thread;
	enum err kind;
	atomic_bool is_over;
};

static void *run_barrier(void *context)
{
	struct barrier *b = context;

	b->kind = b->inode ? flush(b->inode) : cache_sync(far.cache, NULL, NULL);
	b->is_over = true;
	return NULL;
}

/* False: the barrier is over. */
static bool waits(struct barrier *b)
{
	struct writeback *p = far.cache->writeback;
	bool is_waiting = false;

	cr_assert(eq(int, pthread_create(&b->thread, NULL, run_barrier, b), 0));
	while (!is_waiting && !b->is_over) {
		usleep(1000);
		pthread_mutex_lock(&p->lock);
		is_waiting = p->waiting > 0;
		pthread_mutex_unlock(&p->lock);
	}
	return is_waiting;
}

static void expect_done(struct barrier *b)
{
	distant_hold_applies(&far, false);
	pthread_join(b->thread, NULL);
	cr_expect(eq(int, b->kind, ERR_OK));
}

Test(pending, a_write_returns_before_the_sandbox_has_it_and_is_sent_soon)
{
	struct inode *i = make("f");
	struct barrier b = { .inode = i };

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	distant_await_applies(&far, 1);
	distant_expect_text(&far, "f", "");
	cr_expect(waits(&b));
	expect_done(&b);
	distant_expect_text(&far, "f", "hello");
	distant_close(&far, i);
}

/* This change is the last: no time is set behind it. */
Test(pending, a_sync_waits_for_the_latest_change)
{
	struct inode *i = make("f");
	struct barrier b = { .inode = NULL };
	const struct change mode = { .op = CHANGE_SETATTR, .set = SET_MODE, .mode = 0600 };

	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, false, NULL), ERR_OK));
	cr_expect(waits(&b));
	expect_done(&b);
	distant_close(&far, i);
}

Test(pending, writes_gather_while_a_batch_is_under_way)
{
	struct inode *i = make("f");
	struct cache_status status;

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "a");
	distant_await_applies(&far, 1);
	distant_gather_for(&far, AN_HOUR_MS);
	for (uint64_t n = 1; n < 1000; n++)
		distant_write(&far, i, n, "b");
	cache_get_status(far.cache, &status);
	cr_expect(eq(u64, status.pending_bytes, 1000));
	cr_expect(eq(u64, status.leaving_bytes, 1));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, flush(i), ERR_OK));
	cr_expect(eq(uint, distant_applies(&far), 2));
	cr_expect(eq(u64, distant_size(&far, i), 1000));
	cache_get_status(far.cache, &status);
	cr_expect(zero(u64, status.leaving_bytes));
	distant_close(&far, i);
}

#define CHUNK ((size_t)128 * 1024)
#define MUCH  ((uint64_t)100 * 1024 * 1024)

static atomic_bool is_written;

/* Criterion's assertions are for the test's own thread. */
static void *write_much(void *context)
{
	AUTO_FREE char *bytes = calloc(1, CHUNK);
	struct error e = { 0 };

	for (uint64_t at = 0; at < MUCH && !e.kind; at += CHUNK)
		cache_write(far.cache, NULL, context, at, bytes, CHUNK, 0, &e);
	if (e.kind)
		fprintf(stderr, "writing: %s\n", e.text);
	atomic_store(&is_written, true);
	return NULL;
}

/*
 * Acts as a slow link: a batch is let through when about as much has gathered behind it as is
 * allowed.
 */
#define FULL ((uint64_t)13 * 512 * 1024)

/* False: everything is written, and the rest fills no batch. */
static bool await_full_batch(unsigned number)
{
	while (distant_applies(&far) < number && !atomic_load(&is_written))
		usleep(1000);
	return !atomic_load(&is_written);
}

static void let_full_batches_through(void)
{
	struct cache_status status;

	for (unsigned batch = 1; await_full_batch(batch); batch++) {
		uint64_t full = FULL + distant_apply_bytes(&far);

		do {
			usleep(1000);
			cache_get_status(far.cache, &status);
		} while (!atomic_load(&is_written) && status.pending_bytes < full);
		distant_pass_apply(&far, batch);
	}
}

Test(pending, much_is_written_in_few_calls_and_little_memory)
{
	struct inode *i = make("f");
	long idle_kb = distant_peak_kb();
	pthread_t writer;

	distant_gather_for(&far, AN_HOUR_MS);
	distant_hold_applies(&far, true);
	pthread_create(&writer, NULL, write_much, i);
	let_full_batches_through();
	distant_hold_applies(&far, false);
	pthread_join(writer, NULL);
	cr_expect(eq(int, flush(i), ERR_OK));
	cr_expect(le(uint, distant_applies(&far), 17));
	cr_expect(eq(u64, distant_size(&far, i), MUCH));
	cr_expect(lt(long, distant_peak_kb() - idle_kb, 64 * 1024));
	distant_close(&far, i);
}

/* Writes single bytes until a write would wait for room. Returns the number of writes. */
static unsigned scatter(struct inode *i, const struct call *hasty)
{
	unsigned count = 0;

	while (!cache_write(far.cache, hasty, i, (uint64_t)count * 8192, "x", 1, 0, NULL))
		count++;
	return count;
}

Test(pending, scattered_bytes_take_little_memory)
{
	struct cancel thrown;
	struct call hasty = { .cancel = &thrown, .progress_ms = -1 };
	struct inode *files[6];
	long idle_kb = distant_peak_kb();
	unsigned count = 0;

	cr_assert(eq(int, cancel_init(&thrown, NULL), ERR_OK));
	cancel_throw(&thrown);
	for (char n = 0; n < 6; n++)
		files[(int)n] = make((char[]){ 'a' + n, 0 });
	distant_hold_applies(&far, true);
	for (int n = 0; n < 6; n++)
		count += scatter(files[n], &hasty);
	cr_expect(count > 1000);
	cr_expect(lt(long, distant_peak_kb() - idle_kb, 64 * 1024));
	distant_hold_applies(&far, false);
	for (int n = 0; n < 6; n++)
		distant_close(&far, files[n]);
	cancel_release(&thrown);
}

/* ---- Two batches of one file at once ---- */

#define MOUTHFUL ((size_t)VERB_DATA_MAX)
/* Enough contents that the batch leaves although another one is under way. */
#define FULL_MOUTHFULS 7

static void write_mouthfuls(
	struct inode *i, uint64_t at, unsigned count, char filling, unsigned flags)
{
	AUTO_FREE char *bytes = malloc(MOUTHFUL);
	struct error e = { 0 };

	memset(bytes, filling, MOUTHFUL);
	for (unsigned n = 0; n < count; n++)
		cr_assert(eq(int,
				  cache_write(far.cache, NULL, i, at + n * MOUTHFUL, bytes,
					  MOUTHFUL, flags, &e),
				  ERR_OK),
			"%s", e.text);
}

/*
 * Two batches are held: one of one MOUTHFUL, and behind it one of FULL_MOUTHFULS, which has no room
 * for one more.
 */
static void write_two_under_way(struct inode *i)
{
	distant_hold_applies(&far, true);
	write_mouthfuls(i, 0, 1, 'a', 0);
	distant_await_applies(&far, 1);
	distant_gather_for(&far, AN_HOUR_MS);
	write_mouthfuls(i, MOUTHFUL, FULL_MOUTHFULS, 'b', 0);
	distant_await_applies(&far, 2);
}

static struct inode *make_with_two_under_way(void)
{
	struct inode *i = make("f");

	write_two_under_way(i);
	return i;
}

static void expect_mouthfuls(unsigned from, unsigned count, char filling)
{
	size_t len;
	AUTO_FREE char *text = scratch_read(&far.scratch, "f", &len);
	size_t at = from * MOUTHFUL;

	cr_assert(ge(sz, len, at + count * MOUTHFUL));
	while (at < len && at < (from + count) * MOUTHFUL && text[at] == filling)
		at++;
	cr_expect(eq(sz, at, (from + count) * MOUTHFUL), "%c", filling);
}

static void expect_attr_of_file(struct inode *i)
{
	struct attr attr;
	struct stat st;
	int64_t valid_ms;

	cr_assert(eq(int, cache_attr(far.cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
	cr_assert(eq(int, fstatat(far.scratch.fd, "f", &st, 0), 0));
	cr_expect(eq(i64, (int64_t)attr.size, st.st_size));
	cr_expect(eq(i64, attr.ctime.tv_sec, st.st_ctim.tv_sec));
	cr_expect(eq(i64, attr.ctime.tv_nsec, st.st_ctim.tv_nsec));
}

Test(pending, a_full_batch_leaves_in_parallel_with_another)
{
	struct inode *i = make_with_two_under_way();

	cr_expect(eq(u64, distant_size(&far, i), (1 + FULL_MOUTHFULS) * MOUTHFUL));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, flush(i), ERR_OK));
	expect_mouthfuls(0, 1, 'a');
	expect_mouthfuls(1, FULL_MOUTHFULS, 'b');
	expect_attr_of_file(i);
	distant_close(&far, i);
}

static void pass_the_second(void)
{
	struct cache_status status;

	distant_pass_apply(&far, 2);
	do {
		usleep(1000);
		cache_get_status(far.cache, &status);
	} while (status.pending_bytes > MOUTHFUL);
}

Test(pending, an_answer_that_was_overtaken_does_not_bring_the_past_back)
{
	far.does_first = true;
	struct inode *i = make_with_two_under_way();

	pass_the_second();
	distant_hold_applies(&far, false);
	cr_expect(eq(int, flush(i), ERR_OK));
	expect_attr_of_file(i);
	distant_close(&far, i);
}

/* Opens "f", of `count` times MOUTHFUL bytes of 'x', which are stored here. */
static struct inode *open_kept(unsigned count)
{
	static const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	size_t size = count * MOUTHFUL, got;
	AUTO_FREE char *text = malloc(size);
	struct attr version = { 0 };

	memset(text, 'x', size);
	scratch_write(&far.scratch, "f", text, size);
	cr_assert(eq(int, utimensat(far.scratch.fd, "f", long_ago, 0), 0));
	/* Contents that changed a moment ago are not stored. */
	usleep(30000);
	struct inode *i = distant_open_known(&far, "f");

	for (unsigned n = 0; n < count; n++)
		cr_assert(eq(int,
			cache_read(far.cache, NULL, i, n * MOUTHFUL, text, MOUTHFUL, &got, NULL),
			ERR_OK));
	cr_assert(tree_version(far.cache->tree, i, monotonic_ms(), &version));
	cr_assert(stored_whole(far.cache->block_store, &version));
	return i;
}

/*
 * The look at the file that the first batch left comes when the second one is applied, too. The
 * attributes are not the version of the first alone.
 */
Test(pending, contents_that_left_in_parallel_are_not_kept_as_their_answers_version)
{
	struct inode *i = open_kept(1 + FULL_MOUTHFULS);
	struct attr left;
	int64_t valid_ms;

	far.does_first = far.looks_late = true;
	write_two_under_way(i);
	pass_the_second();
	distant_hold_applies(&far, false);
	cr_expect(eq(int, flush(i), ERR_OK));
	cr_assert(eq(int, cache_attr(far.cache, NULL, i, &left, &valid_ms, NULL), ERR_OK));
	cr_expect(not(block_store_has_at(far.cache->block_store, &left, MOUTHFUL)));
	distant_close(&far, i);
}

Test(pending, of_two_batches_either_may_be_done_first)
{
	struct inode *i = make_with_two_under_way();

	pass_the_second();
	cr_expect(eq(u64, distant_size(&far, i), (1 + FULL_MOUTHFULS) * MOUTHFUL));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, flush(i), ERR_OK));
	expect_mouthfuls(0, 1, 'a');
	expect_mouthfuls(1, FULL_MOUTHFULS, 'b');
	expect_attr_of_file(i);
	distant_close(&far, i);
}

Test(pending, of_two_batches_the_refused_one_is_reported_and_the_other_done)
{
	struct inode *i = make_with_two_under_way();

	distant_refuse(&far, ERR_NO_SPACE);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, flush(i), ERR_NO_SPACE));
	cr_expect(eq(int, flush(i), ERR_OK));
	expect_attr_of_file(i);
	distant_close(&far, i);
}

static const struct {
	const char *name;
	uint64_t at;
	unsigned flags;
} dependants[] = {
	{ "the same place", 0, 0 },
	{ "its last byte", MOUTHFUL - 1, 0 },
	{ "appended", MOUTHFUL, WRITE_APPEND },
};

Test(pending, a_batch_that_depends_on_another_waits_for_it)
{
	for (size_t n = 0; n < sizeof dependants / sizeof *dependants; n++) {
		struct inode *i = make("f"), *other = make(dependants[n].name);

		distant_hold_applies(&far, true);
		write_mouthfuls(i, 0, 1, 'a', 0);
		distant_await_applies(&far, 1);
		write_mouthfuls(i, dependants[n].at, FULL_MOUTHFULS, 'b', dependants[n].flags);
		distant_write(&far, other, 0, "x");
		distant_await_applies(&far, 2);
		cr_expect(eq(sz, distant_apply_bytes(&far), 1), "%s", dependants[n].name);
		distant_hold_applies(&far, false);
		cr_expect(eq(int, flush(i), ERR_OK));
		cr_expect(eq(
			u64, distant_size(&far, i), dependants[n].at + FULL_MOUTHFULS * MOUTHFUL));
		distant_close(&far, i);
		distant_close(&far, other);
		cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK),
			"the next round counts its own calls");
		unlinkat(far.scratch.fd, "f", 0);
	}
}

Test(pending, different_files_do_not_wait_for_each_other)
{
	struct inode *one = make("one"), *two = make("two");

	distant_hold_applies(&far, true);
	distant_write(&far, one, 0, "1");
	distant_await_applies(&far, 1);
	distant_write(&far, two, 0, "2");
	distant_await_applies(&far, 2);
	distant_hold_applies(&far, false);
	distant_close(&far, one);
	distant_close(&far, two);
}

/* ---- Changes that are shown while they are pending ---- */

Test(pending, the_size_grows_at_once_without_a_call)
{
	struct inode *i = make("f");
	unsigned lists = far.lists;

	distant_hold_applies(&far, true);
	distant_write(&far, i, 100, "hello");
	cr_expect(eq(u64, distant_size(&far, i), 105));
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(u64, distant_size(&far, i), 105));
	cr_expect(eq(uint, far.lists, lists));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, flush(i), ERR_OK));
	cr_expect(eq(u64, distant_size(&far, i), 105));
	cr_expect(eq(uint, far.lists, lists), "the answer said what the file is like now");
	distant_close(&far, i);
}

Test(pending, every_write_moves_the_times_on_and_brings_a_future_one_back)
{
	static const struct change to_the_future = { .set = SET_MTIME,
		.mtime = { .tv_sec = 4000000000 } };
	struct inode *i = make("f");
	struct attr before, after;
	int64_t valid_ms;

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &to_the_future, false, NULL), ERR_OK));
	distant_hold_applies(&far, true);
	cache_attr(far.cache, NULL, i, &before, &valid_ms, NULL);
	for (int n = 0; n < 3; n++) {
		distant_write(&far, i, 0, "hello");
		cr_assert(eq(int, cache_attr(far.cache, NULL, i, &after, &valid_ms, NULL), ERR_OK));
		cr_expect(time_is_after(after.ctime, before.ctime));
		cr_expect(time_is_after(to_the_future.mtime, after.mtime));
		before = after;
	}
	distant_hold_applies(&far, false);
	distant_close(&far, i);
}

Test(pending, a_read_sees_what_was_written)
{
	struct inode *i = make("f");
	char bytes[16];
	size_t got;

	distant_write(&far, i, 0, "old old");
	distant_write(&far, i, 4, "new");
	cr_assert(eq(
		int, cache_read(far.cache, NULL, i, 0, bytes, sizeof bytes, &got, NULL), ERR_OK));
	bytes[got] = 0;
	cr_expect(eq(str, bytes, "old new"));
	distant_close(&far, i);
}

Test(pending, an_append_at_an_offset_of_the_past_is_shown_at_the_end)
{
	struct inode *i = make("f");

	distant_write(&far, i, 0, "abc");
	cache_write(far.cache, NULL, i, 1, "def", 3, WRITE_APPEND, NULL);
	cr_expect(eq(u64, distant_size(&far, i), 6));
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_expect_text(&far, "f", "abcdef");
	cr_expect(eq(u64, distant_size(&far, i), 6));
	distant_close(&far, i);
}

Test(pending, appends_keep_their_place_among_writes)
{
	struct inode *i = make("f");

	distant_write(&far, i, 0, "abc");
	cache_write(far.cache, NULL, i, 3, "def", 3, WRITE_APPEND, NULL);
	distant_write(&far, i, 6, "ghi");
	cache_write(far.cache, NULL, i, 9, "jkl", 3, WRITE_APPEND, NULL);
	cr_expect(eq(u64, distant_size(&far, i), 12));
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_expect_text(&far, "f", "abcdefghijkl");
	cr_expect(eq(uint, distant_page_reports(&far), 0));
	distant_close(&far, i);
}

Test(pending, an_append_behind_somebody_elses_is_reported_to_the_kernel)
{
	struct inode *i = make("f");

	distant_write(&far, i, 0, "abc");
	cr_assert(eq(int, flush(i), ERR_OK));
	scratch_write_text(&far.scratch, "f", "abcXY");
	cache_write(far.cache, NULL, i, 3, "def", 3, WRITE_APPEND, NULL);
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_expect_text(&far, "f", "abcXYdef");
	cr_expect(distant_page_reports(&far) > 0);
	distant_close(&far, i);
}

Test(pending, a_truncation_keeps_its_place_among_writes)
{
	struct change cut = { .set = SET_SIZE, .size = 2 };
	struct inode *i = make("f");

	distant_write(&far, i, 0, "abcdef");
	cr_expect(eq(int, cache_setattr(far.cache, NULL, i, &cut, true, NULL), ERR_OK));
	distant_write(&far, i, 4, "x");
	cr_expect(eq(int, flush(i), ERR_OK));
	AUTO_FREE char *text = distant_text(&far, "f");

	cr_expect(not(memcmp(text, "ab\0\0x", 6)));
	distant_close(&far, i);
}

Test(pending, two_handles_see_one_file)
{
	struct inode *one = make("f"), *two = distant_open(&far, "f");

	distant_write(&far, one, 0, "one");
	distant_write(&far, two, 3, "two");
	cr_expect(eq(u64, distant_size(&far, one), 6));
	cr_expect(eq(int, flush(two), ERR_OK));
	distant_expect_text(&far, "f", "onetwo");
	distant_close(&far, two);
	distant_close(&far, one);
}

/* ---- Names ---- */

Test(pending, a_rename_comes_after_what_was_written_before)
{
	struct inode *root = cache_root(far.cache), *i = make("f");

	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_rename(far.cache, NULL, root, "f", root, "g", 0, NULL), ERR_OK));
	distant_expect_text(&far, "g", "hello");
	distant_write(&far, i, 5, " you");
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_expect_text(&far, "g", "hello you");
	distant_close(&far, i);
}

Test(pending, what_was_refused_does_not_replace_another_file)
{
	struct inode *root = cache_root(far.cache), *i = make("new");

	scratch_write_text(&far.scratch, "old", "precious");
	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_rename(far.cache, NULL, root, "new", root, "old", 0, NULL),
		ERR_NO_SPACE));
	distant_expect_text(&far, "old", "precious");
	cr_expect(eq(int, flush(i), ERR_NO_SPACE), "and the close reports it, too");
	distant_close(&far, i);
}

Test(pending, what_was_refused_is_not_exchanged_for_another_file)
{
	struct inode *root = cache_root(far.cache), *i = make("new"), *old = make("old");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int,
		cache_rename(far.cache, NULL, root, "old", root, "new", CHANGE_EXCHANGE, NULL),
		ERR_NO_SPACE));
	cr_expect(eq(int, flush(i), ERR_NO_SPACE));
	distant_close(&far, old);
	distant_close(&far, i);
}

Test(pending, a_removed_file_takes_writes_until_it_is_closed)
{
	struct inode *root = cache_root(far.cache), *i = make("f");
	char bytes[16] = { 0 };
	size_t got;

	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	distant_write(&far, i, 5, " you");
	cr_expect(eq(int, cache_read(far.cache, NULL, i, 0, bytes, 15, &got, NULL), ERR_OK));
	cr_expect(eq(str, bytes, "hello you"));
	distant_close(&far, i);
}

/* ---- Changes that are asked for, and whose answer is lost ---- */

static enum err remove_asked(const char *name)
{
	struct error e = { 0 };
	enum err kind = cache_unlink(far.cache, NULL, cache_root(far.cache), name, &e);

	cr_expect(eq(int, e.kind, kind));
	return kind;
}

Test(pending, a_removal_whose_answer_was_lost_was_done)
{
	distant_close(&far, make("f"));
	far.lose_next = 1;
	cr_expect(eq(int, remove_asked("f"), ERR_OK));
	cr_expect(eq(int, remove_asked("f"), ERR_NOT_FOUND));
}

Test(pending, a_directory_whose_answer_was_lost_was_made_once)
{
	const struct create_args m = { .op = CHANGE_MKDIR, .mode = 0755 };
	struct cache_entry entry;

	far.lose_next = 1;
	cr_assert(eq(int, cache_make(far.cache, NULL, cache_root(far.cache), "d", &m, &entry, NULL),
		ERR_OK));
	cr_expect(eq(uint, distant_applies(&far), 2));
	cache_forget(far.cache, entry.inode, 1);
}

Test(pending, what_is_written_to_a_file_after_that_has_its_place)
{
	struct inode *i = make("f");
	char bytes[4] = "";
	size_t got;

	far.lose_next = 2;
	cr_expect(eq(int, remove_asked("f"), ERR_OK));
	distant_write(&far, i, 0, "abc");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	cr_expect(eq(u64, distant_failed(&far), 0));
	cr_expect(eq(int, cache_read(far.cache, NULL, i, 0, bytes, 3, &got, NULL), ERR_OK));
	cr_expect(eq(str, bytes, "abc"));
	distant_close(&far, i);
}

/* ---- Errors ---- */

Test(pending, what_was_refused_is_reported_once_by_the_close)
{
	struct inode *i = make("f");
	struct cache_status status;

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, flush(i), ERR_NO_SPACE));
	cr_expect(eq(int, flush(i), ERR_OK));
	cr_expect(eq(u64, distant_size(&far, i), 0), "the file is what the sandbox has");
	cache_get_status(far.cache, &status);
	cr_expect(eq(sz, status.errors_count, 1));
	cr_expect(eq(str, status.errors[0].path, "f"));
	cr_expect(distant_page_reports(&far) > 0);
	distant_close(&far, i);
}

static void await_nothing_pending(void)
{
	int64_t end_ms = monotonic_ms() + 60000;
	struct cache_status status;

	do {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "a change stays pending");
		sched_yield();
		cache_get_status(far.cache, &status);
	} while (status.pending_changes);
	cr_expect(eq(u64, status.pending_bytes, 0));
	cr_assert(lt(u64, 0, status.failed_changes));
}

Test(pending, a_close_that_does_not_wait_reports_what_was_refused_before_it)
{
	struct inode *i = make("f");

	far.cache->options.close_waits = false;
	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	await_nothing_pending();
	cr_expect(eq(int, flush(i), ERR_NO_SPACE));
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_close(&far, i);
}

Test(pending, what_was_refused_is_reported_by_the_next_write)
{
	struct inode *i = make("f");
	struct error e = { 0 };

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_NO_SPACE));
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK), "to barriers once");
	cr_expect(eq(int, cache_write(far.cache, NULL, i, 0, "x", 1, 0, &e), ERR_NO_SPACE));
	distant_write(&far, i, 0, "again");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "again");
	distant_close(&far, i);
}

Test(pending, a_refusal_is_reported_once_by_the_next_barrier_when_nothing_is_pending_any_more)
{
	struct inode *i = make("f"), *other = make("other");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	await_nothing_pending();
	cr_expect(eq(int, cache_fsync(far.cache, NULL, other, NULL), ERR_OK), "another file's");
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_NO_SPACE));
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK), "to barriers once");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_NO_SPACE), "to the handle");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK), "once, too");
	distant_close(&far, i);
	distant_close(&far, other);
}

static uint64_t inodes_known(void)
{
	uint64_t inodes, names;

	tree_counts(far.cache->tree, &inodes, &names);
	return inodes;
}

Test(pending, a_refusal_does_not_keep_a_file_that_nobody_can_open_any_more)
{
	uint64_t before = inodes_known();
	struct inode *i = make("f");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	await_nothing_pending();
	distant_close(&far, i);
	tree_learn_absent(far.cache->tree, cache_root(far.cache), "f", tree_seen(far.cache->tree));
	cr_expect(eq(u64, inodes_known(), before + 1), "until it was reported");
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_NO_SPACE));
	cr_expect(eq(u64, inodes_known(), before));
}

Test(pending, a_command_does_not_run_after_a_refusal_when_nothing_is_pending_any_more)
{
	struct execute_request request = { .command = "true" };
	struct execute_result result = { 0 };
	struct inode *i = make("f");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	await_nothing_pending();
	cr_expect(eq(int, cache_execute(far.cache, NULL, &request, NULL, NULL, &result, NULL),
		ERR_NO_SPACE));
	cr_expect(not(result.may_have_run));
	cr_expect(eq(
		int, cache_execute(far.cache, NULL, &request, NULL, NULL, &result, NULL), ERR_OK));
	distant_close(&far, i);
}

Test(pending, a_refusal_is_reported_once_by_the_fsync_when_nothing_is_pending_any_more)
{
	struct inode *i = make("f");

	distant_refuse(&far, ERR_QUOTA);
	distant_write(&far, i, 0, "hello");
	await_nothing_pending();
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_QUOTA));
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK), "the handle was told");
	distant_close(&far, i);
}

static enum err synced;

static void *sync_in_thread(void *context)
{
	synced = cache_fsync(far.cache, NULL, context, NULL);
	return NULL;
}

static void await_waiting(unsigned count)
{
	struct writeback *p = far.cache->writeback;
	unsigned waiting;

	do {
		sched_yield();
		pthread_mutex_lock(&p->lock);
		waiting = p->waiting;
		pthread_mutex_unlock(&p->lock);
	} while (waiting < count);
}

static void *pass_when_two_wait(void *context)
{
	await_waiting(2);
	distant_hold_applies(&far, false);
	return context;
}

Test(pending, two_syncs_of_one_refused_write_both_report_it)
{
	struct inode *i = make("f");
	pthread_t other, passing;

	distant_hold_applies(&far, true);
	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	distant_await_applies(&far, 1);
	pthread_create(&other, NULL, sync_in_thread, i);
	pthread_create(&passing, NULL, pass_when_two_wait, NULL);
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_NO_SPACE));
	pthread_join(other, NULL);
	pthread_join(passing, NULL);
	cr_expect(eq(int, synced, ERR_NO_SPACE));
	distant_close(&far, i);
}

Test(pending, a_write_of_which_a_byte_is_missing_is_reported_by_the_sync)
{
	struct inode *i = make("f");

	far.falls_short = true;
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_NO_SPACE));
	distant_close(&far, i);
}

Test(pending, a_write_through_of_which_a_byte_is_missing_fails)
{
	struct inode *i = make("f");

	far.falls_short = true;
	cr_expect(eq(int, cache_write(far.cache, NULL, i, 0, "hello", 5, WRITE_THROUGH, NULL),
		ERR_NO_SPACE));
	far.falls_short = false;
	distant_close(&far, i);
}

Test(pending, a_refusal_is_reported_by_the_next_barrier_though_the_file_is_closed)
{
	struct inode *i = make("f");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	distant_close(&far, i);
	await_nothing_pending();
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_NO_SPACE));
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
}

Test(pending, a_sync_reports_its_own_batch)
{
	struct inode *i = make("f");

	distant_refuse(&far, ERR_QUOTA);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_QUOTA));
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	distant_close(&far, i);
}

Test(pending, a_command_does_not_run_without_what_was_written)
{
	struct execute_request request = { .command = "true" };
	struct execute_result result;
	struct inode *i = make("f");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_execute(far.cache, NULL, &request, NULL, NULL, &result, NULL),
		ERR_NO_SPACE));
	cr_expect(not(result.may_have_run));
	distant_close(&far, i);
}

/* ---- Waiting ---- */

Test(pending, a_command_without_a_deadline_does_not_wait_for_ever_for_what_was_written)
{
	const struct call call = { .progress_ms = -1 };
	struct execute_request request = { .command = "true" };
	struct execute_result result;

	struct inode *i = make("f");

	far.hasty_ms = 50;
	__atomic_store_n(&far.cache->options.progress_ms, 50, __ATOMIC_RELAXED);
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_execute(far.cache, &call, &request, NULL, NULL, &result, NULL),
		ERR_TIMEOUT));
	cr_expect(not(result.may_have_run));
	distant_hold_applies(&far, false);
	distant_close(&far, i);
}

Test(pending, who_waits_can_be_killed_and_nothing_is_lost)
{
	struct cancel cancel;
	struct call call = { .cancel = &cancel };
	struct inode *i = make("f");

	cancel_init(&cancel, NULL);
	cancel_throw(&cancel);
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_flush(far.cache, &call, i, NULL), ERR_INTERRUPTED));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_expect_text(&far, "f", "hello");
	cancel_release(&cancel);
	distant_close(&far, i);
}

Test(pending, a_sandbox_that_stalls_is_given_up_at_the_deadline)
{
	const struct call brief = { .progress_ms = 100 };
	struct inode *i = make("f");

	far.hasty_ms = 50;
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_flush(far.cache, &brief, i, NULL), ERR_TIMEOUT));
	distant_hold_applies(&far, false);
	distant_close(&far, i);
}

Test(pending, a_batch_on_its_way_that_does_not_move_is_not_waited_for_beyond_the_deadline)
{
	const struct call brief = { .progress_ms = 1 };
	struct inode *i = make("f");
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	distant_await_applies(&far, before + 1);
	cr_expect(eq(int, cache_flush(far.cache, &brief, i, NULL), ERR_TIMEOUT));
	distant_hold_applies(&far, false);
	distant_close(&far, i);
}

Test(pending, the_answer_that_ends_a_wait_is_progress_for_what_the_call_does_next)
{
	struct progress progress = { .since_ms = monotonic_ms() - AN_HOUR_MS / 2 };
	const struct call call = { .progress_ms = AN_HOUR_MS, .progress = &progress };
	struct inode *i = make("f");

	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_flush(far.cache, &call, i, NULL), ERR_OK));
	cr_expect(lt(i64, AN_HOUR_MS * 3 / 4, call_left_ms(&call)));
	distant_close(&far, i);
}

static void pause_for(int64_t ms)
{
	struct writeback *p = far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	p->pause_ms = ms;
	pthread_mutex_unlock(&p->lock);
}

/*
 * A write whose answer is to be lost is held. The next attempt comes after an hour, long after the
 * deadline of a call, or at once where a call waits for it.
 */
static struct inode *write_before_a_long_pause(void)
{
	struct inode *i = make("f");
	unsigned before = distant_applies(&far);

	pause_for(AN_HOUR_MS);
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	distant_await_applies(&far, before + 1);
	pause_for(10);
	far.lose_next = 1;
	return i;
}

static void await_failure(void)
{
	struct writeback *p = far.cache->writeback;
	uint64_t failures;

	do {
		usleep(1000);
		pthread_mutex_lock(&p->lock);
		failures = p->failures;
		pthread_mutex_unlock(&p->lock);
	} while (!failures);
}

Test(pending, who_waits_does_not_wait_for_a_long_pause)
{
	struct inode *i = write_before_a_long_pause();

	distant_hold_applies(&far, false);
	await_failure();
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_close(&far, i);
}

Test(pending, who_waits_when_an_attempt_fails_does_not_wait_for_a_long_pause)
{
	struct inode *i = write_before_a_long_pause();
	struct barrier b = { .inode = i };

	cr_expect(waits(&b));
	expect_done(&b);
	distant_close(&far, i);
}

/* The next attempt is held, so that the answer is not its own. */
Test(pending, a_call_when_the_sandbox_is_gone_fails_at_once)
{
	struct inode *i = make("f");

	far.lost_as = ERR_GONE;
	far.lose_answers = true;
	distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, flush(i), ERR_GONE));
	distant_hold_applies(&far, true);
	cr_expect(eq(int, flush(i), ERR_GONE));
	far.lose_answers = false;
	distant_hold_applies(&far, false);
	distant_close(&far, i);
}

/* The next attempt would be seconds away. */
Test(pending, a_call_after_the_sandbox_is_back_does_not_fail)
{
	struct inode *i = make("f");

	far.lost_as = ERR_GONE;
	far.lose_answers = true;
	distant_write(&far, i, 0, "hello");
	distant_await_applies(&far, 3);
	/* A call waits up to this long for an attempt that starts now. */
	pause_for(AN_HOUR_MS);
	cr_expect(eq(int, flush(i), ERR_GONE));
	far.lose_answers = false;
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_close(&far, i);
}

Test(pending, a_server_in_trouble_refuses_nothing)
{
	static const enum err troubles[] = { ERR_BUSY, ERR_IO, ERR_PROTOCOL, ERR_QUOTA };
	static const char *const texts[] = { "hello", "again", "third", "forth" };
	struct inode *i = make("f");

	for (size_t n = 0; n < sizeof troubles / sizeof *troubles; n++) {
		unsigned before = distant_applies(&far);
		struct cache_status status;

		far.lost_as = troubles[n];
		far.lose_answers = true;
		distant_write(&far, i, 0, texts[n]);
		distant_await_applies(&far, before + 2);
		far.lose_answers = false;
		cr_expect(eq(int, flush(i), ERR_OK));
		distant_expect_text(&far, "f", texts[n]);
		cache_get_status(far.cache, &status);
		cr_expect(eq(u64, status.failed_changes, 0));
		cr_expect(status.errors_count > n, "why nothing was sent is told");
	}
	distant_close(&far, i);
}

Test(pending, everything_is_sent_by_a_sync)
{
	struct inode *one = make("one"), *two = make("two");
	uint64_t entries, bytes, failed;

	distant_write(&far, one, 0, "1");
	distant_write(&far, two, 0, "2");
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	journal_usage(far.cache->writeback->journal, &entries, &bytes, &failed);
	cr_expect(eq(u64, entries, 0));
	distant_expect_text(&far, "one", "1");
	distant_expect_text(&far, "two", "2");
	distant_close(&far, one);
	distant_close(&far, two);
}

/*
 * The kernel sees none of the bytes of a copy inside the sandbox, and no stream reports the change.
 */
Test(pending, the_kernel_forgets_the_pages_of_a_file_that_is_copied_over)
{
	scratch_write_text(&far.scratch, "source", "new bytes");
	scratch_write_text(&far.scratch, "there", "old bytes");
	struct inode *from = distant_open(&far, "source"), *to = distant_open(&far, "there");
	char bytes[10] = "";
	uint64_t copied;
	size_t got;

	cr_assert(not(cache_read(far.cache, NULL, to, 0, bytes, 9, &got, NULL)));
	cr_expect(eq(str, bytes, "old bytes"));
	unsigned reports = distant_page_reports(&far);

	cr_assert(not(cache_copy(far.cache, NULL, from, 0, to, 0, 9, &copied, NULL)));
	cr_expect(eq(u64, copied, 9));
	cr_expect(lt(uint, reports, distant_page_reports(&far)));
	cr_assert(not(cache_read(far.cache, NULL, to, 0, bytes, 9, &got, NULL)));
	cr_expect(eq(str, bytes, "new bytes"));
	distant_close(&far, to);
	distant_close(&far, from);
}

Test(pending, a_handle_that_asks_for_it_writes_through)
{
	struct inode *i = make("f");

	distant_write(&far, i, 0, "old");
	cr_expect(
		eq(int, cache_write(far.cache, NULL, i, 3, "new", 3, WRITE_THROUGH, NULL), ERR_OK));
	distant_expect_text(&far, "f", "oldnew");
	distant_close(&far, i);
}

Test(pending, what_a_lost_answer_was_about_is_done_once)
{
	struct inode *i = make("f");

	far.lose_answers = true;
	cr_assert(eq(int, cache_write(far.cache, NULL, i, 0, "hello", 5, 0, NULL), ERR_OK));
	distant_await_applies(&far, 2);
	far.lose_answers = false;
	cr_expect(eq(int, flush(i), ERR_OK));
	distant_expect_text(&far, "f", "hello");
	distant_close(&far, i);
}

/* ---- The end ---- */

Test(pending, what_the_end_of_the_mount_keeps_is_logged)
{
	struct inode *i = make("f");
	char log[4096] = { 0 };

	cr_redirect_stderr();
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "sent");
	distant_await_applies(&far, 1);
	distant_write(&far, i, 4, "gathered");
	cache_free(take(far.cache));
	cr_expect(fread(log, 1, sizeof log - 1, cr_get_redirected_stderr()) > 0);
	cr_expect(ne(ptr, strstr(log, "the mount ended before everything was sent"), NULL), "%s",
		log);
}

/* ---- Against a model ---- */

#define MODEL_MAX 8192

struct model {
	struct inode *inode;
	unsigned char bytes[MODEL_MAX];
	size_t size;
	unsigned seed;
};

static void model_write(struct model *m, bool append)
{
	unsigned char bytes[600];
	size_t len = (size_t)rand_r(&m->seed) % sizeof bytes + 1;
	size_t at = append ? m->size : (size_t)rand_r(&m->seed) % (MODEL_MAX - len);

	if (at + len > MODEL_MAX)
		return;
	for (size_t n = 0; n < len; n++)
		bytes[n] = (unsigned char)rand_r(&m->seed);
	cr_assert(eq(int,
		cache_write(
			far.cache, NULL, m->inode, at, bytes, len, append ? WRITE_APPEND : 0, NULL),
		ERR_OK));
	memcpy(m->bytes + at, bytes, len);
	m->size = at + len > m->size ? at + len : m->size;
}

static void model_read(struct model *m)
{
	unsigned char bytes[MODEL_MAX];
	size_t at = (size_t)rand_r(&m->seed) % MODEL_MAX, got;
	size_t len = (size_t)rand_r(&m->seed) % MODEL_MAX + 1;
	size_t left = at < m->size ? m->size - at : 0;

	cr_assert(
		eq(int, cache_read(far.cache, NULL, m->inode, at, bytes, len, &got, NULL), ERR_OK));
	cr_assert(eq(sz, got, len < left ? len : left));
	cr_assert(not(memcmp(bytes, m->bytes + at, got)));
}

static void model_truncate(struct model *m)
{
	size_t size = (size_t)rand_r(&m->seed) % MODEL_MAX;
	struct change cut = { .set = SET_SIZE, .size = size };

	cr_assert(eq(int, cache_setattr(far.cache, NULL, m->inode, &cut, true, NULL), ERR_OK));
	if (size < m->size)
		memset(m->bytes + size, 0, m->size - size);
	m->size = size;
}

static void model_step(struct model *m)
{
	switch (rand_r(&m->seed) % 12) {
	case 0: model_truncate(m); break;
	case 1: cr_assert(eq(int, cache_fsync(far.cache, NULL, m->inode, NULL), ERR_OK)); break;
	case 2:
	case 3: model_read(m); break;
	case 4:
	case 5: cr_assert(eq(u64, distant_size(&far, m->inode), m->size)); break;
	case 6: cr_assert(eq(int, flush(m->inode), ERR_OK)); break;
	case 7:
	case 8: model_write(m, true); break;
	default: model_write(m, false);
	}
}

Test(pending, random_writes_reads_and_truncations_agree_with_memory)
{
	struct model m = { .inode = make("f"), .seed = 20260101 };
	size_t len;

	for (int n = 0; n < 20000; n++)
		model_step(&m);
	cr_assert(eq(int, flush(m.inode), ERR_OK));
	AUTO_FREE char *text = scratch_read(&far.scratch, "f", &len);

	cr_expect(eq(sz, len, m.size));
	cr_expect(not(memcmp(text, m.bytes, len)));
	distant_close(&far, m.inode);
}
