#include "cache/contents.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/invalidate.h"
#include "cache/lease/entries.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/names.h"
#include "cache/lease/validity.h"
#include "providers/base/cleanup.h"
#include "tests/cache/explored.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(validity, .init = explored_setup, .fini = explored_teardown, .timeout = 300);

/* Learns everything and then invalidates it, as after a command. */
static void invalidate(void)
{
	explored_list_all(cache_root(explored.cache));
	explored_wait_idle();
	cache_invalidate_all(explored.cache);
	explored.provider.lists = 0;
	explored.provider.entries = 0;
}

/* A reader that walks the whole tree in its own thread. */
struct asker {
	pthread_t thread;
	size_t count;
};

static void *ask(void *context)
{
	struct asker *a = context;

	a->count = explored_list_all(cache_root(explored.cache));
	return NULL;
}

/* ---- The number of calls ---- */

Test(validity, an_invalid_tree_is_one_call)
{
	explored_make_tree("", 2, 10);
	explored_start(A_MINUTE);
	invalidate();
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 110 + 1000));
	cr_expect(eq(uint, explored.provider.lists, 1));
	cr_expect(eq(ptr, explored_find("d3/d4/nothing"), NULL));
	cr_expect(eq(u64, explored_size_of("d3/d4/f5"), 4));
	cr_expect(eq(uint, explored.provider.lists, 1));
}

Test(validity, what_was_never_known_needs_no_audit)
{
	explored_make_files("", 3);
	explored_start(A_MINUTE);
	cache_invalidate_all(explored.cache);
	explored.provider.lists = 0;
	cr_expect(eq(sz, explored_count_of(cache_root(explored.cache)), 3));
	cr_expect(eq(uint, explored.provider.lists, 1));
}

Test(validity, a_tree_that_is_valid_by_then_is_not_audited_again)
{
	explored_make_files("", 2);
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	explored.provider.lists = 0;
	cr_expect(eq(int, validity_restore(explored.cache->validity, NULL, NULL), ERR_OK));
	cr_expect(eq(uint, explored.provider.lists, 0));
}

Test(validity, many_who_ask_share_one_audit)
{
	struct asker askers[8] = { 0 };

	explored_make_tree("", 1, 10);
	explored_start(A_MINUTE);
	invalidate();
	for (size_t n = 0; n < 8; n++)
		pthread_create(&askers[n].thread, NULL, ask, &askers[n]);
	for (size_t n = 0; n < 8; n++) {
		pthread_join(askers[n].thread, NULL);
		cr_expect(eq(sz, askers[n].count, 10 + 100));
	}
	cr_expect(eq(uint, explored.provider.lists, 1));
}

Test(validity, what_is_made_here_is_held_too)
{
	struct error e = { 0 };

	explored_make_dir("d");
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	struct inode *d = explored_find("d"), *root = cache_root(explored.cache);

	explored_make(d, "own", CHANGE_CREATE);
	explored_make(d, "sub", CHANGE_MKDIR);
	explored_make(explored_find("d/sub"), "deep", CHANGE_CREATE);
	cr_expect(
		eq(int, cache_rename(explored.cache, NULL, d, "own", root, "moved", 0, &e), ERR_OK),
		"%s", e.text);
	invalidate();
	cr_expect(eq(u64, explored_size_of("moved"), 0));
	cr_expect(ne(ptr, explored_find("d/sub/deep"), NULL));
	cr_expect(eq(ptr, explored_find("d/own"), NULL));
	cr_expect(eq(uint, explored.provider.lists, 1));
}

/* An invalidation arrives while the audit reads the directories that were invalid. */
Test(validity, an_invalidation_during_an_audit_is_not_lost)
{
	struct asker asker = { 0 };

	explored_make_dir("d");
	explored_make_files("d", 2);
	explored_make_dir("e");
	explored_start(A_MINUTE);
	invalidate();
	counting_provider_close_gate(&explored.provider, "e");
	pthread_create(&asker.thread, NULL, ask, &asker);
	counting_provider_await_held(&explored.provider);
	explored_write("d/f0", "longer text");
	explored_remove_path("d/f1", 0);
	cache_invalidate_all(explored.cache);
	counting_provider_open_gate(&explored.provider);
	pthread_join(asker.thread, NULL);
	cr_expect(eq(u64, explored_size_of("d/f0"), 11));
	cr_expect(eq(ptr, explored_find("d/f1"), NULL));
}

/* ---- The changes that an audit reports ---- */

Test(validity, every_change_of_others_is_seen)
{
	explored_make_dir("d");
	explored_make_dir("d/e");
	explored_make_files("d/e", 3);
	explored_make_files("d", 3);
	explored_start(A_MINUTE);
	invalidate();
	explored_make_file("d/e/new");
	explored_remove_path("d/f0", 0);
	explored_write("d/e/f1", "longer text");
	explored_make_dir("d/dir");
	explored_make_file("d/dir/in");
	cr_expect(ne(ptr, explored_find("d/e/new"), NULL));
	cr_expect(eq(ptr, explored_find("d/f0"), NULL));
	cr_expect(eq(u64, explored_size_of("d/e/f1"), 11));
	cr_expect(eq(uint, explored.provider.lists, 1));
	cr_expect(ne(ptr, explored_find("d/dir/in"), NULL));
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 1 + 4 + 4 + 1));
}

/* ---- More directories than a request can name ---- */

/* A number of directories that have more names than one list is sent. */
#define MANY 600

/* Invalidates after a tick: files made so far are older than the time from which an audit asks. */
static void invalidate_after_a_tick(void)
{
	struct timespec first, now;

	invalidate();
	clock_gettime(CLOCK_REALTIME, &first);
	do
		clock_gettime(CLOCK_REALTIME, &now);
	while (now.tv_sec == first.tv_sec || now.tv_nsec < 20000000);
	const struct tree_listing listing = { .seen = tree_seen(explored.cache->tree), .now = now };

	validity_began(explored.cache->validity, &listing);
	cache_invalidate_all(explored.cache);
}

static struct inode *known_child(const char *name)
{
	struct tree_entry *entries;
	size_t count;
	struct inode *found = NULL;

	cr_assert(tree_entries(
		explored.cache->tree, cache_root(explored.cache), 0, true, &entries, &count));
	for (size_t n = 0; n < count; n++)
		if (!strcmp(entries[n].name, name))
			found = entries[n].inode;
	tree_entries_free(explored.cache->tree, entries, count);
	cr_assert(ne(ptr, found, NULL));
	return found;
}

static void await_moved(const char *path)
{
	int64_t end_ms = monotonic_ms() + A_MINUTE;

	while (faccessat(explored.shown.scratch.fd, path, F_OK, 0))
		cr_assert(lt(i64, monotonic_ms(), end_ms), "%s: never moved", path);
}

static bool is_there(unsigned n, const char *name)
{
	AUTO_FREE char *path = explored_long_path(n, name);

	return explored_find(path);
}

Test(validity, an_audit_of_any_number_of_directories_is_one_call)
{
	AUTO_FREE char *written = explored_long_path(1, "f");
	AUTO_FREE char *removed = explored_long_path(2, "f");
	AUTO_FREE char *made = explored_long_path(3, "new");
	AUTO_FREE char *moved = explored_long_path(4, "");
	AUTO_FREE char *closed = explored_long_path(5, "");

	explored_make_long_dirs(MANY);
	explored_start(A_MINUTE);
	invalidate_after_a_tick();
	explored_write(written, "longer text");
	explored_remove_path(removed, 0);
	explored_make_file(made);
	explored_rename(moved, "moved");
	cr_expect(eq(u64, explored_size_of(written), 11));
	cr_expect(not(is_there(2, "f")));
	cr_expect(is_there(3, "new"));
	cr_expect(not(is_there(4, "f")));
	cr_expect(is_there(MANY - 1, "f"));
	cr_expect(lt(uint, explored.provider.entries, MANY + 20), "of what did not change");
	cr_expect(eq(uint, explored.provider.lists, 1));
	cr_expect(ne(ptr, explored_find("moved/f"), NULL));
}

/* The entries of the directory are asked for again, and everything below it. */
Test(validity, what_such_an_audit_cannot_read_is_not_valid)
{
	explored_make_long_dirs(MANY);
	explored_make_dir("d");
	explored_make_dir("d/e");
	explored_make_file("d/e/f");
	explored_start(A_MINUTE);
	invalidate_after_a_tick();
	explored.provider.closed = "d";
	cr_expect(is_there(1, "f"));
	cr_expect(eq(uint, explored.provider.lists, 1));
	explored.provider.closed = NULL;
	explored_write("d/e/f", "longer text");
	cr_expect(eq(u64, explored_size_of("d/e/f"), 11));
}

/* The answer of the audit names an entry by its path. */
Test(validity, a_directory_that_is_moved_here_during_such_an_audit_is_not_valid)
{
	struct asker asker = { 0 };
	struct error e = { 0 };

	explored_make_long_dirs(MANY);
	explored_make_dir("a");
	explored_make_dir("a/b");
	explored_make_dir("a/b/c");
	explored_make_file("a/b/c/f");
	explored_start(A_MINUTE);
	invalidate_after_a_tick();
	explored_make_file("new");
	counting_provider_close_gate(&explored.provider, "");
	pthread_create(&asker.thread, NULL, ask, &asker);
	counting_provider_await_held(&explored.provider);
	struct inode *a = known_child("a");

	cr_expect(eq(int, cache_rename(explored.cache, NULL, a, "b", a, "moved", 0, &e), ERR_OK),
		"%s", e.text);
	await_moved("tree/a/moved");
	explored_write("a/moved/c/f", "longer text");
	counting_provider_open_gate(&explored.provider);
	pthread_join(asker.thread, NULL);
	cr_expect(eq(u64, explored_size_of("a/moved/c/f"), 11));
}

/* The second from which an audit asks, where the directories were listed at `now`. */
static int64_t asks_since(struct timespec now)
{
	const struct tree_listing listing = { .seen = tree_seen(explored.cache->tree), .now = now };

	validity_began(explored.cache->validity, &listing);
	cache_invalidate_all(explored.cache);
	explored.provider.lists = 0;
	cr_expect(ne(ptr, explored_find("f0"), NULL));
	cr_expect(eq(uint, explored.provider.lists, 1));
	cr_expect(zero(i64, explored.provider.since_ns % 1000000000));
	return explored.provider.since_ns / 1000000000;
}

static const long a_tick_ns = 20000000, a_second_ns = 1000000000;

/* A change just before `now` may have the stamp of the second before. */
Test(validity, an_audit_from_less_than_a_tick_into_a_second_asks_since_the_second_before)
{
	explored_make_files("", 1);
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	const time_t s = cache_clock(explored.cache).tv_sec;

	cr_expect(eq(i64, asks_since((struct timespec){ s, 0 }), s - 1));
	cr_expect(eq(i64, asks_since((struct timespec){ s, a_tick_ns - 1 }), s - 1));
}

Test(validity, an_audit_from_a_tick_or_more_into_a_second_asks_since_that_second)
{
	explored_make_files("", 1);
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	const time_t s = cache_clock(explored.cache).tv_sec;

	cr_expect(eq(i64, asks_since((struct timespec){ s, a_tick_ns }), s));
	cr_expect(eq(i64, asks_since((struct timespec){ s, a_second_ns - 1 }), s));
}

Test(validity, a_directory_that_others_moved_is_found_at_its_new_place_only)
{
	explored_make_dir("d");
	explored_make_dir("d/sub");
	explored_make_file("d/sub/f");
	explored_start(A_MINUTE);
	invalidate();
	struct inode *old = explored_find("d/sub");

	cache_invalidate_all(explored.cache);
	explored_rename("d", "e");
	explored_make_dir("d");
	explored_make_dir("d/sub");
	cr_expect(ne(ptr, explored_find("e/sub/f"), NULL));
	cr_expect(ne(ptr, explored_find("d/sub"), old));
	cr_expect(eq(ptr, explored_find("d/sub/f"), NULL));
}

Test(validity, a_file_that_others_replaced_is_another_inode)
{
	explored_make_files("", 2);
	explored_start(A_MINUTE);
	invalidate();
	struct inode *old = explored_find("f0");

	cache_invalidate_all(explored.cache);
	explored_rename("f1", "f0");
	cr_expect(ne(ptr, explored_find("f0"), old));
	cr_expect(eq(ptr, explored_find("f1"), NULL));
}

Test(validity, validity_ends_without_an_invalidation)
{
	explored_make_dir("d");
	explored_make_files("d", 3);
	explored_start(BRIEF_MS);
	explored_list_all(cache_root(explored.cache));
	explored_write("d/f0", "longer text");
	explored_remove_path("d/f1", 0);
	for (size_t tries = 0; explored_find("d/f1") || explored_size_of("d/f0") == 4; tries++) {
		cr_assert(lt(sz, tries, 60000), "never seen");
		usleep(1000);
	}
}

/* ---- In parallel with our own changes ---- */

Test(validity, changes_by_others_during_an_audit_are_seen)
{
	struct asker asker = { 0 };

	explored_make_dir("d");
	explored_make_files("d", 2);
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	struct inode *d = explored_find("d");

	invalidate();
	counting_provider_close_gate(&explored.provider, "d");
	pthread_create(&asker.thread, NULL, ask, &asker);
	counting_provider_await_held(&explored.provider);
	explored_make(d, "own", CHANGE_CREATE);
	explored_make_file("d/foreign");
	explored_remove_path("d/f0", 0);
	counting_provider_open_gate(&explored.provider);
	pthread_join(asker.thread, NULL);
	cr_expect(ne(ptr, explored_find("d/own"), NULL));
	cr_expect(ne(ptr, explored_find("d/foreign"), NULL));
	cr_expect(eq(ptr, explored_find("d/f0"), NULL));
}

/* ---- Failures ---- */

static bool is_size(const char *path, uint64_t size)
{
	return explored_size_of(path) == size;
}

static void await_size(const char *path, uint64_t size)
{
	int64_t end_ms = monotonic_ms() + A_MINUTE;

	while (!is_size(path, size))
		cr_assert(lt(i64, monotonic_ms(), end_ms), "%s: what is there is never seen", path);
}

static void make_and_invalidate(int64_t valid_ms)
{
	explored_make_files("", 2);
	explored_make_dir("d");
	explored_start(valid_ms);
	explored_list_all(cache_root(explored.cache));
	explored_wait_idle();
	cache_invalidate_all(explored.cache);
	explored_write("f0", "longer text");
}

/* Makes every audit fail from now on. */
static void fail_audits(enum err kind)
{
	make_and_invalidate(A_MINUTE);
	explored.provider.fails_with = kind;
}

Test(validity, what_is_known_is_shown_while_nobody_answers)
{
	fail_audits(ERR_UNREACHABLE);
	cr_expect(eq(u64, explored_size_of("f0"), 4));
	cr_expect(eq(sz, explored_count_of(cache_root(explored.cache)), 3));
	cr_expect(eq(ptr, explored_find("nothing"), NULL));
	explored.provider.fails_with = ERR_OK;
	await_size("f0", 11);
}

Test(validity, what_is_known_is_shown_while_the_sandbox_is_too_busy)
{
	fail_audits(ERR_BUSY);
	cr_expect(eq(u64, explored_size_of("f0"), 4));
	explored.provider.fails_with = ERR_OK;
	cache_invalidate_all(explored.cache);
	await_size("f0", 11);
}

/* The way to `.sandbox` leads through the root, which is shown as it was: no operation failed. */
Test(validity, a_late_answer_about_the_root_is_no_error_to_report)
{
	struct cache_status status;
	struct attr attr;
	int64_t valid_ms;

	explored_start(0);
	explored.provider.fails_with = ERR_TIMEOUT;
	cr_expect(eq(int,
		cache_attr(
			explored.cache, NULL, cache_root(explored.cache), &attr, &valid_ms, NULL),
		ERR_OK));
	cache_get_status(explored.cache, &status);
	cr_expect(eq(sz, status.errors_count, 0));
	explored.provider.fails_with = ERR_UNREACHABLE;
	cr_expect(eq(int,
		cache_attr(
			explored.cache, NULL, cache_root(explored.cache), &attr, &valid_ms, NULL),
		ERR_OK));
	cache_get_status(explored.cache, &status);
	cr_expect(eq(sz, status.errors_count, 1));
	explored.provider.fails_with = ERR_OK;
}

/* The changes of a command are not known, so what is known is not shown. */
Test(validity, what_is_known_is_not_shown_after_a_command)
{
	struct attr attr;
	int64_t valid_ms;

	make_and_invalidate(A_MINUTE);
	struct inode *f = explored_find("f0");

	explored_wait_idle();
	cache_command_ended(explored.cache);
	explored.provider.fails_with = ERR_UNREACHABLE;
	cr_expect(eq(
		int, cache_attr(explored.cache, NULL, f, &attr, &valid_ms, NULL), ERR_UNREACHABLE));
	explored.provider.fails_with = ERR_OK;
	cr_expect(eq(u64, explored_size_of("f0"), 11));
	cache_invalidate_all(explored.cache);
	explored.provider.fails_with = ERR_UNREACHABLE;
	cr_expect(eq(u64, explored_size_of("f0"), 11));
	explored.provider.fails_with = ERR_OK;
}

/* The command ends while an audit is under way that was asked for before. */
Test(validity, what_is_known_is_not_shown_after_a_command_during_an_earlier_audit)
{
	struct asker asker = { 0 };
	struct attr attr;
	int64_t valid_ms;

	make_and_invalidate(A_MINUTE);
	struct inode *f = explored_find("f0");

	explored_wait_idle();
	cache_invalidate_all(explored.cache);
	counting_provider_close_gate(&explored.provider, "d");
	pthread_create(&asker.thread, NULL, ask, &asker);
	counting_provider_await_held(&explored.provider);
	validity_must_ask(explored.cache->validity);
	counting_provider_open_gate(&explored.provider);
	pthread_join(asker.thread, NULL);
	explored.provider.fails_with = ERR_UNREACHABLE;
	cache_invalidate_all(explored.cache);
	cr_expect(eq(
		int, cache_attr(explored.cache, NULL, f, &attr, &valid_ms, NULL), ERR_UNREACHABLE));
	explored.provider.fails_with = ERR_OK;
}

Test(validity, a_sandbox_that_is_gone_shows_nothing)
{
	struct attr attr;
	int64_t valid_ms;
	struct error e = { 0 };

	fail_audits(ERR_OK);
	struct inode *f = explored_find("f0");

	cache_invalidate_all(explored.cache);
	explored.provider.fails_with = ERR_GONE;
	cr_expect(eq(int, cache_attr(explored.cache, NULL, f, &attr, &valid_ms, &e), ERR_GONE));
	cr_expect(eq(str, e.text, "as the test wants it"));
}

/*
 * The entries before the cut do not count as the whole: a file in an unreported directory may have
 * changed, too.
 */
static void cut_an_audit(enum err kind)
{
	explored_make_tree("", 1, 10);
	explored_start(A_MINUTE);
	invalidate();
	explored_write("d0/f0", "longer text");
	explored_write("d9/f9", "longer text");
	explored_remove_path("d5/f5", 0);
	explored_make_file("d5/new");
	explored.provider.cut_with = kind;
	explored.provider.cut_after = 2;
	cr_expect(eq(u64, explored_size_of("d0/f0"), 11));
	cr_expect(eq(u64, explored_size_of("d9/f9"), 11));
	cr_expect(eq(ptr, explored_find("d5/f5"), NULL));
	cr_expect(ne(ptr, explored_find("d5/new"), NULL));
	cr_expect(eq(uint, explored.provider.cut_after, 0), "it was cut");
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 10 + 100));
}

Test(validity, an_audit_that_breaks_off_is_asked_again)
{
	cut_an_audit(ERR_UNREACHABLE);
	cr_expect(eq(uint, explored.provider.lists, 2));
}

Test(validity, an_audit_without_an_end_counts_for_nothing)
{
	cut_an_audit(ERR_OK);
	cr_expect(explored.provider.lists > 1);
}

Test(validity, an_audit_that_is_refused_in_the_middle_counts_for_nothing)
{
	cut_an_audit(ERR_PROTOCOL);
	cr_expect(explored.provider.lists > 1);
}

/* The time stamps of such an audit do not show what changed since the last one. */
Test(validity, an_audit_counts_for_nothing_after_the_clock_of_the_sandbox_was_set_back)
{
	explored_make_files("", 2);
	explored_start(A_MINUTE);
	invalidate();
	explored.provider.behind_s = 100000;
	cr_expect(ne(ptr, explored_find("f0"), NULL));
	cr_expect(eq(u64, explored.cache->stats.counters[STATS_AUDITS], 0));
}

Test(validity, who_cannot_tell_what_changed_is_asked_anew)
{
	struct attr attr;
	int64_t valid_ms;

	explored_make_files("", 2);
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	struct inode *f = explored_find("f0");

	cache_invalidate_all(explored.cache);
	explored_write("f0", "longer text");
	explored.provider.fails_with = ERR_UNSUPPORTED;
	cr_expect(ne(int, cache_attr(explored.cache, NULL, f, &attr, &valid_ms, NULL), ERR_OK));
	explored.provider.fails_with = ERR_OK;
	cr_expect(eq(u64, explored_size_of("f0"), 11));
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 2));
}
