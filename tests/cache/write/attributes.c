/* Attributes that are set before the sandbox receives the file, or the attributes set before. */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/write/remote.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static struct distant far;

static void setup(void)
{
	distant_start_watched(&far);
	distant_await_deciding(&far);
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(pending_set, .init = setup, .fini = teardown, .timeout = 300);

static const struct timespec then = { .tv_sec = 1600000000, .tv_nsec = 123456789 };

static void set(struct inode *i, struct change what)
{
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &what, true, NULL), ERR_OK));
}

static void set_mode(struct inode *i, uint32_t mode)
{
	set(i, (struct change){ .set = SET_MODE, .mode = mode });
}

static void set_mtime(struct inode *i)
{
	set(i, (struct change){ .set = SET_MTIME, .mtime = then });
}

static void set_owner(struct inode *i, uint32_t uid, uint32_t gid)
{
	set(i, (struct change){ .set = SET_UID | SET_GID, .uid = uid, .gid = gid });
}

static unsigned changes(void)
{
	pthread_mutex_lock(&far.lock);
	unsigned count = far.changes;

	pthread_mutex_unlock(&far.lock);
	return count;
}

static void sync_all(void)
{
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
}

static void expect_there(const char *name, mode_t mode, struct timespec mtime)
{
	struct stat st;

	cr_assert(eq(int, fstatat(far.scratch.fd, name, &st, 0), 0));
	cr_expect(eq(u32, st.st_mode & 07777, mode));
	cr_expect(eq(i64, st.st_mtim.tv_sec, mtime.tv_sec));
	cr_expect(eq(i64, st.st_mtim.tv_nsec, mtime.tv_nsec));
}

/*
 * The changes of tar(1): the file is made and written, and its times and its mode are set. The
 * owner that the file has already costs nothing.
 */
Test(pending_set, what_is_set_of_a_new_file_is_one_change)
{
	distant_gather_for(&far, AN_HOUR_MS);
	struct inode *i = distant_make(&far, "f");
	unsigned before = changes();

	distant_write(&far, i, 0, "hello");
	set_mtime(i);
	set_owner(i, getuid(), getgid());
	set_mode(i, 0600);
	set_mode(i, 0640);
	distant_close(&far, i);
	sync_all();
	expect_there("f", 0640, then);
	distant_expect_text(&far, "f", "hello");
	/*
	 * The changes: the file is made, written and set, and its directory gets the time of that.
	 */
	cr_expect(eq(u32, changes() - before, 4));
}

/*
 * Makes a file as open(2) with O_CREAT and O_EXCL does, of which nothing is seen before the close.
 */
static struct inode *make_new(const char *name)
{
	const struct create_args m = {
		.op = CHANGE_CREATE, .mode = 0644, .exclusive = true, .opens = true
	};
	struct inode *root = cache_root(far.cache);
	struct cache_entry entry;

	cr_assert(eq(int, cache_make(far.cache, NULL, root, name, &m, &entry, NULL), ERR_OK));
	cr_assert(eq(int, cache_open_made(far.cache, NULL, &entry, O_RDWR | O_EXCL, NULL), ERR_OK));
	return entry.inode;
}

static struct timespec shown_mtime(struct inode *i)
{
	struct attr attr;
	int64_t valid_ms;

	cr_assert(eq(int, cache_delegate_attr(far.cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
	return attr.mtime;
}

static void expect_shown_when_closed(struct inode *i)
{
	struct timespec shown = shown_mtime(i);

	distant_close(&far, i);
	sync_all();
	expect_there("f", 0644, shown);
	distant_expect_text(&far, "f", "hello");
}

Test(pending_set, the_time_that_was_shown_of_a_new_file_comes_with_what_is_in_it)
{
	struct inode *i = make_new("f");
	unsigned before = changes();

	distant_write(&far, i, 0, "hel");
	distant_write(&far, i, 3, "lo");
	expect_shown_when_closed(i);
	/*
	 * The changes: the file is made, written and committed in one, and its directory gets the
	 * time of that.
	 */
	cr_expect(eq(u32, changes() - before, 2));
}

Test(pending_set, a_write_behind_it_has_a_newer_one)
{
	struct inode *i = make_new("f"), *again = distant_open(&far, "f");

	distant_write(&far, i, 0, "hel");
	distant_close(&far, i);
	atomic_fetch_add(&far.now_ms, 5000);
	distant_write(&far, again, 3, "lo");
	expect_shown_when_closed(again);
}

static void *sync_in_thread(void *context)
{
	*(enum err *)context = cache_sync(far.cache, NULL, NULL);
	return NULL;
}

/*
 * The kernel sends the release after close(2) has returned, perhaps while a command that removes
 * the file is about to run.
 */
Test(pending_set, a_close_that_arrives_during_a_barrier_sets_no_time_behind_it)
{
	struct inode *i = make_new("f");
	unsigned arrived = distant_applies(&far);
	enum err synced = ERR_OK;
	pthread_t syncing;

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	struct timespec shown = shown_mtime(i);

	cr_assert(eq(int, pthread_create(&syncing, NULL, sync_in_thread, &synced), 0));
	distant_await_applies(&far, arrived + 1);
	distant_close(&far, i);
	distant_pass_apply(&far, arrived + 1);
	pthread_join(syncing, NULL);
	cr_expect(eq(int, synced, ERR_OK));
	expect_there("f", 0644, shown);
	cr_assert(eq(int, unlinkat(far.scratch.fd, "f", 0), 0));
	distant_hold_applies(&far, false);
	sync_all();
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* A file whose contents are on their way. The time that the file showed at its close is not. */
static struct inode *close_behind_what_left(void)
{
	struct inode *i = distant_make(&far, "f");

	sync_all();
	unsigned arrived = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	distant_await_applies(&far, arrived + 1);
	cache_close(far.cache, i);
	return i;
}

/* Others remove the file when its contents have arrived. */
static enum err sync_what_was_removed_since(struct inode *i)
{
	uint64_t answers = distant_answers(&far);

	distant_pass_apply(&far, distant_applies(&far));
	distant_await_answers(&far, answers + 1);
	distant_expect_text(&far, "f", "hello");
	cr_assert(eq(int, unlinkat(far.scratch.fd, "f", 0), 0));
	distant_hold_applies(&far, false);
	enum err kind = cache_sync(far.cache, NULL, NULL);

	cache_forget(far.cache, i, 1);
	return kind;
}

Test(pending_set, a_time_that_was_only_to_be_kept_is_not_missed_where_the_file_is_gone)
{
	struct inode *i = close_behind_what_left();

	cr_expect(eq(int, sync_what_was_removed_since(i), ERR_OK));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/*
 * A file that is made and removed before the sandbox receives it leaves a time of its directory.
 * That op does not leave at once.
 */
Test(pending_set, a_time_to_be_kept_is_not_missed_where_the_directory_is_gone)
{
	const struct create_args m = { .op = CHANGE_MKDIR, .mode = 0755 },
				 n = { .op = CHANGE_CREATE, .mode = 0644 };
	struct inode *root = cache_root(far.cache);
	struct cache_entry dir, file;

	cr_assert(eq(int, cache_make(far.cache, NULL, root, "d", &m, &dir, NULL), ERR_OK));
	sync_all();
	distant_gather_for(&far, AN_HOUR_MS);
	cr_assert(eq(int, cache_make(far.cache, NULL, dir.inode, "f", &n, &file, NULL), ERR_OK));
	cr_assert(eq(int, cache_unlink(far.cache, NULL, dir.inode, "f", NULL), ERR_OK));
	cr_assert(eq(int, unlinkat(far.scratch.fd, "d", AT_REMOVEDIR), 0));
	sync_all();
	cr_expect(eq(u64, distant_failed(&far), 0));
	cache_forget(far.cache, file.inode, 1);
	cache_forget(far.cache, dir.inode, 1);
}

Test(pending_set, a_time_that_somebody_set_is_missed_though_another_one_was_to_be_kept)
{
	struct inode *i = close_behind_what_left();

	set_mtime(i);
	cr_expect(eq(int, sync_what_was_removed_since(i), ERR_NOT_FOUND));
	cr_expect(eq(u64, distant_failed(&far), 1));
}

enum crash { BEFORE_IT_LEFT, BEFORE_IT_ARRIVED, BEFORE_IT_WAS_ANSWERED };

static void expect_time_after(enum crash crash)
{
	distant_keep_journal(&far);
	distant_await_deciding(&far);
	struct inode *i = make_new("f");
	unsigned arrived = distant_applies(&far);

	far.does_first = crash == BEFORE_IT_WAS_ANSWERED;
	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "hello");
	struct timespec shown = shown_mtime(i);

	distant_close(&far, i);
	if (crash != BEFORE_IT_LEFT)
		distant_await_applies(&far, arrived + 1);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	sync_all();
	expect_there("f", 0644, shown);
	distant_expect_text(&far, "f", "hello");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(pending_set, the_time_is_there_after_a_crash)
{
	expect_time_after(BEFORE_IT_LEFT);
}

Test(pending_set, the_time_is_there_after_a_crash_when_the_change_had_left)
{
	expect_time_after(BEFORE_IT_ARRIVED);
}

Test(pending_set, the_time_is_there_after_a_crash_when_the_change_was_done)
{
	expect_time_after(BEFORE_IT_WAS_ANSWERED);
}

Test(pending_set, what_has_left_is_not_added_to)
{
	struct inode *i = distant_make(&far, "f");

	distant_close(&far, i);
	sync_all();
	distant_hold_applies(&far, true);
	unsigned arrived = distant_applies(&far);

	set_mode(i, 0600);
	distant_await_applies(&far, arrived + 1);
	set_mode(i, 0640);
	set_mtime(i);
	distant_hold_applies(&far, false);
	sync_all();
	expect_there("f", 0640, then);
}

/* chown(2) takes set-ID bits away, and a write sets the time. */
Test(pending_set, the_order_stays_where_it_counts)
{
	struct inode *i = distant_make(&far, "f");

	set_mode(i, 04755);
	set_owner(i, getuid(), getgid());
	set_mtime(i);
	distant_write(&far, i, 0, "hello");
	set_mode(i, 0711);
	set_mtime(i);
	distant_close(&far, i);
	sync_all();
	expect_there("f", 0711, then);
	distant_expect_text(&far, "f", "hello");
}

Test(pending_set, a_set_id_bit_goes_with_chown)
{
	struct inode *i = distant_make(&far, "f");

	set_mode(i, 04755);
	set_owner(i, getuid(), getgid());
	distant_close(&far, i);
	sync_all();
	struct stat st;

	cr_assert(eq(int, fstatat(far.scratch.fd, "f", &st, 0), 0));
	cr_expect(eq(u32, st.st_mode & 07777, 0755));
}

/* Each stands in the journal by itself. */
Test(pending_set, all_of_it_is_there_after_a_crash)
{
	distant_keep_journal(&far);
	distant_await_deciding(&far);
	struct inode *i = distant_make(&far, "f");

	distant_hold_applies(&far, true);
	set_mtime(i);
	set_mode(i, 0600);
	distant_close(&far, i);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	sync_all();
	expect_there("f", 0600, then);
	cr_expect(eq(u64, distant_failed(&far), 0));
}
