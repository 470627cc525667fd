/* Changes that are decided here, and what becomes of them where the sandbox refuses some or others come in between. */
#include "cache/cache_inside.h"
#include "cache/lease.h"
#include "cache/pending_inside.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <unistd.h>

static struct distant far;

static void setup(void)
{
	distant_start_telling(&far);
	distant_await_deciding(&far);
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(decide, .init = setup, .fini = teardown, .timeout = 120);

static enum err sync_all(void)
{
	return cache_sync(far.cache, NULL, NULL);
}

static bool is_there(const char *name)
{
	return !faccessat(far.scratch.fd, name, F_OK, 0);
}

/* A file that the sandbox has; the next batch is held. */
static struct inode *make_and_hold(const char *name)
{
	struct inode *i = distant_make(&far, name);

	cr_assert(eq(int, sync_all(), ERR_OK));
	distant_hold_applies(&far, true);
	return i;
}

Test(decide, a_file_whose_writing_was_refused_can_be_removed)
{
	struct inode *root = cache_root(far.cache), *i = make_and_hold("f");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	distant_close(&far, i);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_NO_SPACE));
	cr_expect(not(is_there("f")));
}

Test(decide, a_refused_write_of_many_parts_is_parked_whole)
{
	struct inode *i = make_and_hold("f");
	uint64_t entries, bytes, parked;

	distant_refuse(&far, ERR_NO_SPACE);
	for (uint64_t n = 0; n < 10; n++)
		distant_write(&far, i, n, "x");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_NO_SPACE));
	distant_close(&far, i);
	sync_all();
	journal_usage(far.cache->pending->journal, &entries, &bytes, &parked);
	cr_expect(eq(u64, entries, 0), "nothing is owed");
	cr_expect(ge(u64, parked, 10));
}

Test(decide, a_file_that_was_gone_before_the_answer_came_is_not_waited_for)
{
	struct inode *root = cache_root(far.cache), *i;
	struct cache_entry entry;
	struct error e = { 0 };
	int64_t absent_ms;

	distant_hold_applies(&far, true);
	i = distant_make(&far, "f");
	atomic_store(&far.tells_no_attrs, true);
	distant_hold_applies(&far, false);
	sync_all();
	atomic_store(&far.tells_no_attrs, false);
	distant_close(&far, i);
	cr_expect(eq(int, cache_lookup(far.cache, NULL, root, "f", &entry, &absent_ms, &e), ERR_OK),
		"%s", e.text);
	cr_expect(not(tree_is_provisional(far.cache->tree, entry.inode)));
	cache_forget(far.cache, entry.inode, 1);
}

Test(decide, what_was_refused_is_not_exchanged_for_another_file)
{
	struct inode *root = cache_root(far.cache), *old = distant_make(&far, "old");
	struct inode *i = distant_make(&far, "new");

	distant_write(&far, old, 0, "precious");
	cr_assert(eq(int, sync_all(), ERR_OK));
	distant_hold_applies(&far, true);
	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_assert(eq(int,
		cache_rename(far.cache, NULL, root, "old", root, "new", CHANGE_EXCHANGE, NULL),
		ERR_OK));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_NO_SPACE));
	AUTO_FREE char *text = distant_text(&far, "old");

	cr_expect(eq(str, text, "precious"));
	distant_close(&far, old);
	distant_close(&far, i);
}

/* ---- What only the sandbox can decide, and what is decided meanwhile ---- */

static void setup_silent(void)
{
	distant_start(&far, false);
}

TestSuite(decide_silent, .init = setup_silent, .fini = teardown, .timeout = 120);

static void *move_dir(void *context)
{
	struct inode *root = cache_root(far.cache);

	(void)context;
	cache_rename(far.cache, NULL, root, "d", root, "e", 0, NULL);
	return NULL;
}

static struct inode *make_in(const char *dir, const char *name)
{
	const struct making mkdir = { .op = CHANGE_MKDIR, .mode = 0755 };
	const struct making create = { .op = CHANGE_CREATE, .mode = 0644 };
	struct cache_entry above, entry;

	cr_assert(eq(int,
		cache_make(far.cache, NULL, cache_root(far.cache), dir, &mkdir, &above, NULL),
		ERR_OK));
	cr_assert(eq(int, cache_make(far.cache, NULL, above.inode, name, &create, &entry, NULL),
		ERR_OK));
	cr_assert(eq(int, cache_open_made(far.cache, NULL, &entry, O_RDWR, NULL), ERR_OK));
	cache_forget(far.cache, above.inode, 1);
	return entry.inode;
}

/* A writer that cannot wait: it tries again when the move is over. */
Test(decide_silent, what_is_written_while_a_directory_moves_arrives)
{
	struct inode *i = make_in("d", "f");
	struct cancel thrown;
	struct call hasty = { .cancel = &thrown };
	pthread_t mover;

	cr_assert(eq(int, cancel_init(&thrown, NULL), ERR_OK));
	cancel_throw(&thrown);
	unsigned applies = distant_applies(&far);

	distant_hold_applies(&far, true);
	cr_assert(eq(int, pthread_create(&mover, NULL, move_dir, NULL), 0));
	distant_await_applies(&far, applies + 1);
	enum err kind = cache_write(far.cache, &hasty, i, 0, "hello", 5, 0, NULL);

	distant_hold_applies(&far, false);
	pthread_join(mover, NULL);
	if (kind == ERR_INTERRUPTED)
		distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	AUTO_FREE char *text = distant_text(&far, "e/f");

	cr_expect(eq(str, text, "hello"));
	distant_close(&far, i);
	cancel_release(&thrown);
}
