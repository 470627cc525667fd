#include "cache/session/session.h"
#include "cache/read/background_fetch.h"
#include "cache/blocks/block_store.h"
#include "cache/tree/tree.h"
#include "cache/lease/invalidate.h"
#include "cache/contents.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <unistd.h>

#define MIB       ((size_t)1024 * 1024)
#define FILE_SIZE (20 * MIB)

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
	far.fetch_ms = 40;
}

static void teardown(void)
{
	distant_hold_fetches(&far, false);
	distant_stop(&far);
}

TestSuite(fill, .init = setup, .fini = teardown, .timeout = 300);

/* Opens a file in which every MiB begins with its offset. The file is old enough to be valid. */
static struct inode *open_file(const char *name)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, name, O_WRONLY | O_CREAT, 0644);

	cr_assert(not(ftruncate(fd, FILE_SIZE)));
	for (uint64_t at = 0; at < FILE_SIZE; at += MIB)
		cr_assert(eq(int, (int)pwrite(fd, &at, sizeof at, (off_t)at), sizeof at));
	distant_pass_tick(&far);
	cache_invalidate_all(far.cache);
	return distant_open(&far, name);
}

/* 4 KiB of a MiB, chosen so that no read follows another. */
static void read_scattered(struct inode *i, unsigned n)
{
	uint64_t at = n * 7 % 20 * MIB, mark;
	unsigned char bytes[4096];
	struct error e = { 0 };
	size_t got;

	cr_assert(
		eq(int, cache_read(far.cache, NULL, i, at, bytes, sizeof bytes, &got, &e), ERR_OK),
		"%s", e.text);
	memcpy(&mark, bytes, sizeof mark);
	cr_assert(eq(u64, mark, at));
}

static bool is_stored(struct inode *i)
{
	struct attr version;

	return tree_version(far.cache->tree, i, monotonic_ms(), &version) &&
		stored_whole(far.cache->block_store, &version);
}

Test(fill, a_file_that_is_read_here_and_there_is_soon_all_here)
{
	struct inode *i = open_file("f");
	int64_t end_ms = monotonic_ms() + 60000;

	for (unsigned n = 0; !is_stored(i); n++) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "never comes");
		read_scattered(i, n);
	}
	unsigned fetches = distant_fetches(&far);

	for (unsigned n = 0; n < 20; n++)
		read_scattered(i, n);
	cr_expect(eq(uint, distant_fetches(&far), fetches));
	distant_close(&far, i);
}

Test(fill, a_few_reads_bring_nothing_else)
{
	struct inode *i = open_file("f");

	for (unsigned n = 0; n < 7; n++)
		read_scattered(i, n);
	cr_expect(eq(uint, distant_fetches(&far), 7));
	cr_expect(eq(uint, distant_items(&far), 7));
	distant_close(&far, i);
}

Test(fill, reads_that_take_no_time_bring_nothing_else)
{
	struct inode *i = open_file("f");

	far.fetch_ms = 14;
	for (unsigned n = 0; n < 20; n++)
		read_scattered(i, n);
	cr_expect(eq(uint, distant_items(&far), 20));
	distant_close(&far, i);
}

Test(fill, who_reads_no_more_is_brought_no_more)
{
	struct inode *i = open_file("f");

	for (unsigned n = 0; n < 7; n++)
		read_scattered(i, n);
	distant_hold_fetches(&far, true);
	background_fetch_note(far.cache->background_fetch, i, 40);
	distant_await_fetches(&far, 8);
	far.now_ms += 1001;
	distant_hold_fetches(&far, false);
	distant_await_items(&far, 8);
	distant_close(&far, i);
	background_fetch_free(take(far.cache->background_fetch));
	cr_expect(le(uint, distant_items(&far), 9));
}

Test(fill, a_file_that_changes_is_left_alone)
{
	struct inode *i = open_file("f");

	for (unsigned n = 0; n < 7; n++)
		read_scattered(i, n);
	distant_hold_fetches(&far, true);
	background_fetch_note(far.cache->background_fetch, i, 40);
	distant_await_fetches(&far, 8);
	distant_write(&far, i, 8, "mine");
	distant_hold_fetches(&far, false);
	distant_await_items(&far, 8);
	distant_close(&far, i);
	background_fetch_free(take(far.cache->background_fetch));
	cr_expect(eq(uint, distant_items(&far), 8));
}
