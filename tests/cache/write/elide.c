#include "cache/session/session.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/names.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/lease/lease.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static struct distant far;
static struct inode *top;

/* Names are decided here once there is a stream of changes and the directory is known. */
static void setup(void)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;
	struct cache_entry entry;
	int64_t absent_ms;

	distant_start_watched(&far);
	top = cache_root(far.cache);
	cr_assert(eq(int, cache_lookup(far.cache, NULL, top, "none", &entry, &absent_ms, NULL),
		ERR_NOT_FOUND));
	while (!lease_is_live(far.cache->lease)) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "no stream of changes");
		usleep(1000);
	}
	/*
	 * A name that was learned before the stream is not leased, so the test looks it up again.
	 */
	cr_assert(eq(int, cache_lookup(far.cache, NULL, top, "none", &entry, &absent_ms, NULL),
		ERR_NOT_FOUND));
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	far.applies = far.changes = 0;
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(cancel, .init = setup, .fini = teardown, .timeout = 300);

static void expect_gone(const char *name)
{
	struct cache_entry entry;
	int64_t absent_ms;
	struct stat st;

	cr_expect(eq(int, cache_lookup(far.cache, NULL, top, name, &entry, &absent_ms, NULL),
		ERR_NOT_FOUND));
	cr_expect(ne(int, fstatat(far.scratch.fd, name, &st, 0), 0));
}

/*
 * Each batch sets the time of the directory, too. Of elided ops only that is left, for the next
 * batch.
 */
static void expect_pending(uint64_t changes)
{
	struct cache_status status;

	cache_get_status(far.cache, &status);
	cr_expect(eq(u64, status.pending_changes, changes));
	cr_expect(eq(u64, status.failed_changes, 0));
}

static void unlink_it(const char *name)
{
	cr_expect(eq(int, cache_unlink(far.cache, NULL, top, name, NULL), ERR_OK));
}

/* Holds a change of another file on its way, so that nothing leaves before the test allows it. */
static struct inode *hold_up(void)
{
	distant_hold_applies(&far, true);
	struct inode *i = distant_make(&far, "other");

	distant_await_applies(&far, 1);
	return i;
}

static void let_go(struct inode *other)
{
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_close(&far, other);
}

Test(cancel, of_a_lock_that_was_made_written_and_removed_the_sandbox_hears_nothing)
{
	struct inode *other = hold_up();
	struct inode *i = distant_make(&far, "lock");

	distant_write(&far, i, 0, "hello");
	distant_write(&far, i, 100, "again");
	distant_close(&far, i);
	unlink_it("lock");
	expect_pending(3);
	let_go(other);
	cr_expect(eq(uint, far.changes, 3));
	expect_gone("lock");
}

Test(cancel, a_file_that_is_closed_after_its_removal_leaves_nothing)
{
	struct inode *other = hold_up();
	struct inode *i = distant_make(&far, "lock");

	distant_write(&far, i, 0, "hello");
	unlink_it("lock");
	distant_write(&far, i, 5, " you");
	distant_close(&far, i);
	expect_pending(3);
	let_go(other);
	cr_expect(eq(uint, far.changes, 3));
	expect_gone("lock");
}

Test(cancel, the_name_can_be_taken_again)
{
	struct inode *other = hold_up();

	distant_close(&far, distant_make(&far, "lock"));
	unlink_it("lock");
	struct inode *i = distant_make(&far, "lock");

	distant_write(&far, i, 0, "second");
	let_go(other);
	AUTO_FREE char *text = distant_text(&far, "lock");

	cr_expect(eq(str, text, "second"));
	distant_close(&far, i);
}

Test(cancel, what_was_moved_over_another_file_still_removes_that)
{
	distant_close(&far, distant_make(&far, "f"));
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	far.applies = far.changes = 0;
	struct inode *other = hold_up();

	distant_close(&far, distant_make(&far, "new"));
	cr_expect(eq(int, cache_rename(far.cache, NULL, top, "new", top, "f", 0, NULL), ERR_OK));
	unlink_it("f");
	let_go(other);
	expect_gone("new");
	expect_gone("f");
}

Test(cancel, what_has_left_is_removed_there)
{
	distant_hold_applies(&far, true);
	distant_close(&far, distant_make(&far, "lock"));
	distant_await_applies(&far, 1);
	unlink_it("lock");
	expect_pending(3);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cr_expect(eq(uint, far.changes, 4));
	expect_gone("lock");
}

/* Sets how long an op waits that is not worth a request of its own. */
static void wait_lazily_for(int64_t ms)
{
	struct writeback *p = far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	p->may_wait_ms = ms;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

/*
 * An event cannot be told from an echo of the op in the same directory before the sandbox has
 * applied everything.
 */
Test(cancel, files_that_others_make_next_to_it_are_seen)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS, absent_ms;
	struct cache_entry entry;

	wait_lazily_for(AN_HOUR_MS);
	distant_gather_for(&far, AN_HOUR_MS);
	distant_close(&far, distant_make(&far, "lock"));
	unlink_it("lock");
	expect_pending(1);
	distant_gather_for(&far, WRITEBACK_WAIT_MS);
	wait_lazily_for(0);
	scratch_write_text(&far.scratch, "theirs", "");
	while (cache_lookup(far.cache, NULL, top, "theirs", &entry, &absent_ms, NULL)) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "it is never seen");
		usleep(1000);
	}
	cache_forget(far.cache, entry.inode, 1);
	expect_pending(0);
}
