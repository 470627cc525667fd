/* Changes on their way when the journal fails. */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct distant far;

static void setup(void)
{
	distant_start_watched(&far);
	distant_keep_journal(&far);
	distant_await_deciding(&far);
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(writeback_journal, .init = setup, .fini = teardown, .timeout = 300);

static struct cache_status status(void)
{
	struct cache_status status;

	cache_get_status(far.cache, &status);
	return status;
}

/* A file that the sandbox has. */
static struct inode *make(const char *name)
{
	struct inode *i = distant_make(&far, name);

	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	return i;
}

static void damage(const char *text)
{
	static const char segment[] = "journal/segment-00000001";
	size_t len, text_len = strlen(text);
	AUTO_FREE char *bytes = scratch_read(&far.journal, segment, &len);
	const char *found = memmem(bytes, len, text, text_len);
	AUTO_CLOSE int fd = openat(far.journal.fd, segment, O_WRONLY);

	cr_assert(ne(ptr, (void *)found, NULL));
	cr_assert(eq(int, (int)pwrite(fd, "#", 1, found - bytes), 1));
}

Test(writeback_journal, of_a_batch_only_damaged_entries_and_their_dependants_fail)
{
	struct inode *root = cache_root(far.cache), *one = make("one"), *two = make("two");
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	struct inode *first = distant_make(&far, "first");

	distant_await_applies(&far, before + 1);
	distant_gather_for(&far, AN_HOUR_MS);
	distant_write(&far, one, 0, "unreadable");
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "one", root, "new", 0, NULL), 0));
	distant_write(&far, two, 0, "sound");
	damage("unreadable");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_IO));
	distant_expect_text(&far, "two", "sound");
	distant_expect_text(&far, "one", "");
	cr_expect(eq(u64, status().failed_changes, 2));
	cr_expect(eq(u64, status().pending_changes, 0));
	distant_close(&far, first);
	distant_close(&far, one);
	distant_close(&far, two);
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	cr_assert(not(getrlimit(RLIMIT_FSIZE, &limit)));
	limit.rlim_cur = size;
	cr_assert(not(setrlimit(RLIMIT_FSIZE, &limit)));
}

static void append(struct inode *i, uint64_t at, const char *text)
{
	cr_assert(
		eq(int, cache_write(far.cache, NULL, i, at, text, strlen(text), WRITE_APPEND, NULL),
			ERR_OK));
}

/* The first is done and waits to be answered, the second waits for that. */
Test(writeback_journal, an_entry_that_cannot_be_recorded_as_sent_leaves_when_it_can)
{
	struct inode *i = make("f");
	const struct call hasty = { .progress_ms = 10 };
	unsigned before = distant_applies(&far);

	signal(SIGXFSZ, SIG_IGN);
	far.does_first = true;
	distant_hold_applies(&far, true);
	append(i, 0, "one ");
	distant_await_applies(&far, before + 1);
	append(i, 4, "two");
	limit_files(1);
	distant_hold_applies(&far, false);
	while (writeback_drain(far.cache->writeback, &hasty, i, NULL) != ERR_NO_SPACE)
		continue;
	limit_files(RLIM_INFINITY);
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "one two");
	cr_expect(eq(u64, status().failed_changes, 0));
	distant_close(&far, i);
}

/* A change that a crash would lose is not acknowledged. A change whose call failed is not sent. */
Test(writeback_journal, what_it_does_not_take_is_refused_and_not_sent)
{
	struct inode *i = make("f");
	const struct call hasty = { .progress_ms = 10 };
	struct error e = { 0 };

	signal(SIGXFSZ, SIG_IGN);
	limit_files(1);
	cr_expect(eq(int, cache_write(far.cache, &hasty, i, 0, "lost", 4, 0, &e), ERR_NO_SPACE),
		"%s", e.text);
	limit_files(RLIM_INFINITY);
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "");
	append(i, 0, "kept");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	distant_expect_text(&far, "f", "kept");
	distant_close(&far, i);
}
