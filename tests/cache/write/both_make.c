/* Files that both sides make by one name at the same moment. */
#include "cache/session/session.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/write/remote.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
	distant_keep_journal(&far);
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(both_make, .init = setup, .fini = teardown, .timeout = 300);

/* ---- Words ---- */

static bool is_there(const char *path)
{
	return !faccessat(far.scratch.fd, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static void expect_text(const char *path, const char *wanted)
{
	AUTO_FREE char *text = is_there(path) ? distant_text(&far, path) : strdup("nothing");

	cr_expect(eq(str, text, (char *)wanted), "%s", path);
}

static void expect_link(const char *path, const char *wanted)
{
	char text[64] = "";

	cr_expect(ge(i64, readlinkat(far.scratch.fd, path, text, sizeof text - 1), 0), "%s", path);
	cr_expect(eq(str, text, (char *)wanted), "%s", path);
}

static uint32_t mode_of(const char *path)
{
	struct stat st;

	cr_assert(eq(int, fstatat(far.scratch.fd, path, &st, AT_SYMLINK_NOFOLLOW), 0), "%s", path);
	return st.st_mode & 07777;
}

static enum err sync_all(void)
{
	return cache_sync(far.cache, NULL, NULL);
}

static struct inode *make(struct inode *dir, const char *name, const struct create_args *m)
{
	struct cache_entry entry;

	cr_assert(eq(int, cache_make(far.cache, NULL, dir, name, m, &entry, NULL), ERR_OK));
	return entry.inode;
}

static struct inode *make_dir(struct inode *dir, const char *name)
{
	return make(dir, name, &(struct create_args){ .op = CHANGE_MKDIR, .mode = 0755 });
}

/* Makes a file and closes it, so that nothing defers it. */
static void make_file(struct inode *dir, const char *name, const char *text)
{
	const struct create_args m = {
		.op = CHANGE_CREATE, .mode = 0644, .exclusive = true, .opens = true
	};
	struct cache_entry entry;

	cr_assert(eq(int, cache_make(far.cache, NULL, dir, name, &m, &entry, NULL), ERR_OK));
	cr_assert(eq(int, cache_open_made(far.cache, NULL, &entry, O_RDWR | O_EXCL, NULL), ERR_OK));
	distant_write(&far, entry.inode, 0, text);
	distant_close(&far, entry.inode);
}

static bool is_seen(struct inode *dir, const char *name)
{
	struct cache_entry entry;
	int64_t absent_ms;

	if (cache_lookup(far.cache, NULL, dir, name, &entry, &absent_ms, NULL))
		return false;
	cache_forget(far.cache, entry.inode, 1);
	return true;
}

static void expect_nothing_refused(void)
{
	cr_expect(eq(int, sync_all(), ERR_OK));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* ---- Directories ---- */

struct made {
	struct inode *dir, *sub;
};

/* d, d/mine, d/sub, d/sub/deep, none of which is sent before the applies are let go. */
static struct made make_ours(void)
{
	struct made m;

	distant_hold_applies(&far, true);
	m.dir = make_dir(cache_root(far.cache), "d");
	make_file(m.dir, "mine", "ours");
	m.sub = make_dir(m.dir, "sub");
	make_file(m.sub, "deep", "ours");
	return m;
}

static void forget(const struct made *m)
{
	cache_forget(far.cache, m->sub, 1);
	cache_forget(far.cache, m->dir, 1);
}

static void make_theirs(void)
{
	scratch_mkdir(&far.scratch, "d", 0711);
	cr_assert(eq(int, fchmodat(far.scratch.fd, "d", 0711, 0), 0));
	scratch_write_text(&far.scratch, "d/theirs", "theirs");
}

static void expect_both(void)
{
	expect_text("d/mine", "ours");
	expect_text("d/sub/deep", "ours");
	expect_text("d/theirs", "theirs");
	cr_expect(eq(u32, mode_of("d"), 0711), "the mode is not theirs");
}

Test(both_make, a_directory_that_others_made_meanwhile_takes_what_is_put_into_ours)
{
	struct made ours = make_ours();

	cr_expect(not(is_seen(ours.dir, "theirs")));
	make_theirs();
	distant_hold_applies(&far, false);
	expect_nothing_refused();
	expect_both();
	cr_expect(is_seen(ours.dir, "theirs"), "what they put into it is not seen here");
	cr_expect(is_seen(ours.dir, "mine"));
	forget(&ours);
}

Test(both_make, a_directory_that_others_made_takes_ours_where_the_answer_was_lost)
{
	struct made ours = make_ours();

	far.lose_next = 1;
	make_theirs();
	distant_hold_applies(&far, false);
	expect_nothing_refused();
	expect_both();
	cr_expect(is_seen(ours.dir, "theirs"));
	forget(&ours);
}

Test(both_make, a_directory_that_others_made_takes_ours_after_a_kill_before_sending)
{
	struct made ours = make_ours();

	forget(&ours);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	make_theirs();
	distant_remount(&far, NULL);
	expect_nothing_refused();
	expect_both();
}

Test(both_make, a_directory_that_others_made_takes_ours_after_a_kill_before_the_answer)
{
	unsigned before = distant_applies(&far);
	struct made ours = make_ours();

	make_theirs();
	far.does_first = true;
	forget(&ours);
	distant_await_applies(&far, before + 1);
	distant_break_off(&far);
	far.does_first = false;
	distant_hold_applies(&far, false);
	distant_remount(&far, NULL);
	expect_nothing_refused();
	expect_both();
}

Test(both_make, a_file_in_it_that_both_made_stays_twice)
{
	struct made ours = make_ours();

	make_theirs();
	scratch_write_text(&far.scratch, "d/mine", "not ours");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_CONFLICT));
	expect_text("d/mine", "not ours");
	expect_text("d/mine.sandboxfs-conflict", "ours");
	expect_text("d/sub/deep", "ours");
	cr_expect(eq(u64, distant_failed(&far), 0));
	forget(&ours);
}

Test(both_make, a_directory_does_not_go_where_others_made_a_link_to_one)
{
	struct made ours = make_ours();

	scratch_mkdir(&far.scratch, "other", 0755);
	cr_assert(eq(int, symlinkat("other", far.scratch.fd, "d"), 0));
	distant_hold_applies(&far, false);
	cr_expect(ne(int, sync_all(), ERR_OK));
	cr_expect(not(is_there("other/mine")));
	cr_expect(ne(u64, distant_failed(&far), 0));
	forget(&ours);
}

Test(both_make, who_asks_the_sandbox_to_make_a_directory_hears_that_it_is_there)
{
	const struct create_args m = { .op = CHANGE_MKDIR, .mode = 0755 };
	struct cache_entry entry;

	far.tells_changes = false;
	distant_remount(&far, NULL);
	scratch_mkdir(&far.scratch, "d", 0711);
	cr_expect(eq(int, cache_make(far.cache, NULL, cache_root(far.cache), "d", &m, &entry, NULL),
		ERR_EXISTS));
}

/* ---- Links ---- */

static void make_symlink(const char *name, const char *text)
{
	const struct create_args m = { .op = CHANGE_SYMLINK, .mode = 0777, .text = text };

	cache_forget(far.cache, make(cache_root(far.cache), name, &m), 1);
}

static void expect_symlinks(void)
{
	expect_link("l", "theirs");
	expect_link("l.sandboxfs-conflict", "ours");
	cr_expect(not(is_there("l.sandboxfs-conflict-2")));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(both_make, of_a_symbolic_link_both_stay)
{
	distant_hold_applies(&far, true);
	make_symlink("l", "ours");
	cr_assert(eq(int, symlinkat("theirs", far.scratch.fd, "l"), 0));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_CONFLICT), "nobody is told");
	cr_expect(eq(int, sync_all(), ERR_OK));
	expect_symlinks();
}

Test(both_make, both_versions_stay_where_the_mount_was_killed)
{
	distant_hold_applies(&far, true);
	make_symlink("l", "ours");
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	cr_assert(eq(int, symlinkat("theirs", far.scratch.fd, "l"), 0));
	distant_remount(&far, NULL);
	cr_expect(eq(int, sync_all(), ERR_CONFLICT), "nobody is told");
	expect_symlinks();
}

Test(both_make, of_a_second_name_of_a_file_both_stay_and_what_follows_arrives)
{
	struct cache_entry entry;

	make_file(cache_root(far.cache), "f", "ours");
	cr_assert(eq(int, sync_all(), ERR_OK));
	struct inode *i = distant_open(&far, "f");

	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_link(far.cache, NULL, i, cache_root(far.cache), "l", &entry, NULL),
		ERR_OK));
	cache_forget(far.cache, entry.inode, 1);
	scratch_write_text(&far.scratch, "l", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_CONFLICT), "nobody is told");
	cr_expect(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_CONFLICT));
	distant_write(&far, i, 4, ", more");
	distant_close(&far, i);
	cr_expect(eq(int, sync_all(), ERR_OK));
	expect_text("l", "theirs");
	expect_text("f", "ours, more");
	expect_text("l.sandboxfs-conflict", "ours, more");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* ---- Changes that are reported as failed ---- */

static size_t count_failed(void)
{
	static struct cache_failed_change all[64];

	return writeback_failed(far.cache->writeback, all, 64);
}

/* d, mine, sub and deep are one refusal each, of however many entries of the journal. */
Test(both_make, what_was_refused_is_counted_alike_by_status_and_by_the_next_mount)
{
	struct made ours = make_ours();

	scratch_write_text(&far.scratch, "d", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, sync_all(), ERR_OK));
	forget(&ours);
	cr_expect(eq(u64, distant_failed(&far), 4));
	cr_expect(eq(sz, count_failed(), 4));
	distant_remount(&far, NULL);
	cr_expect(eq(u64, distant_failed(&far), 4));
	cr_expect(eq(sz, count_failed(), 4));
}
