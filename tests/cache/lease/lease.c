#include "cache/session/clocks.h"
#include "cache/session/session.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/write/writeback_inside.h"
#include "cache/lease/walk.h"
#include "providers/base/cleanup.h"
#include "tests/cache/explored.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* How long answers are valid without a stream. */
#define WITHOUT_MS  100
#define PATIENCE_MS 60000

/* The machine's time awake and asleep, as the test sets it. */
static _Atomic int64_t awake_ms, asleep_ms;

static int64_t tell_awake(void *context)
{
	(void)context;
	return awake_ms;
}

static int64_t tell_all(void *context)
{
	(void)context;
	return awake_ms + asleep_ms;
}

static const struct clocks clocks = { .awake_ms = tell_awake, .all_ms = tell_all };

static void setup(void)
{
	explored_setup();
	explored.clocks = &clocks;
	explored.provider.has_watch = true;
}

/* Uses the mount `ms` later. */
static void use_after(int64_t ms)
{
	awake_ms += ms;
	cache_used(explored.cache);
}

TestSuite(lease, .init = setup, .fini = explored_teardown, .timeout = 300);

static unsigned calls(void)
{
	return explored.provider.lists + explored.provider.watches;
}

/* A tree "d" of files, known, under a stream; calls are counted from here on. */
static struct inode *known_tree(void)
{
	explored_make_dir("d");
	explored_make_files("d", 5);
	explored_start(WITHOUT_MS);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 6));
	cr_expect(eq(uint, explored.provider.watches, 1));
	cr_expect(eq(uint, explored.provider.lists, 0));
	explored.provider.watches = 0;
	return explored_find("d");
}

static bool has(const char *path)
{
	return explored_find(path) != NULL;
}

static void await(bool (*is_so)(const char *), const char *path, bool wanted)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	while (is_so(path) != wanted) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "%s: never seen", path);
		usleep(1000);
	}
}

/* Waits until the stream has reported all changes so far. The calls for that are not counted. */
static void await_all_events(void)
{
	explored_make_file("marker");
	await(has, "marker", true);
	explored_list_all(cache_root(explored.cache));
	explored.provider.lists = explored.provider.watches = 0;
}

static bool is_long(const char *path)
{
	return explored_size_of(path) > 4;
}

static void write_here(const char *path, const char *contents)
{
	struct inode *i = explored_find(path);
	struct error e = { 0 };
	bool keep;

	cr_assert(eq(int, cache_open(explored.cache, NULL, i, O_RDWR, &keep, &e), ERR_OK), "%s",
		e.text);
	cr_assert(
		eq(int, cache_write(explored.cache, NULL, i, 0, contents, strlen(contents), 0, &e),
			ERR_OK),
		"%s", e.text);
	cr_assert(eq(int, cache_flush(explored.cache, NULL, i, &e), ERR_OK), "%s", e.text);
	cache_close(explored.cache, i);
}

/* ---- The number of calls ---- */

static uint64_t counted(enum stats_counter counter)
{
	return atomic_load(&explored.cache->stats.counters[counter]);
}

Test(lease, what_is_known_is_not_asked_again)
{
	known_tree();
	usleep(3 * WITHOUT_MS * 1000);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 6));
	cr_expect(not(has("d/none")));
	cr_expect(eq(u64, explored_size_of("d/f1"), 4));
	cr_expect(eq(uint, calls(), 0));
}

Test(lease, what_is_changed_here_costs_the_changes_only)
{
	struct inode *d = known_tree(), *root = cache_root(explored.cache);
	struct error e = { 0 };

	explored_make(d, "made", CHANGE_CREATE);
	explored_make(explored_make(d, "dir", CHANGE_MKDIR), "deep", CHANGE_CREATE);
	write_here("d/f0", "longer text");
	cr_expect(eq(int, cache_unlink(explored.cache, NULL, d, "f1", &e), ERR_OK), "%s", e.text);
	cr_expect(
		eq(int, cache_rename(explored.cache, NULL, d, "f2", root, "moved", 0, &e), ERR_OK),
		"%s", e.text);
	cr_expect(eq(uint, calls(), 0));
	await_all_events();
	usleep(3 * WITHOUT_MS * 1000);
	cr_expect(has("d/made"));
	cr_expect(has("d/dir/deep"));
	cr_expect(has("moved"));
	cr_expect(not(has("d/f1")));
	cr_expect(not(has("d/f2")));
	cr_expect(eq(u64, explored_size_of("d/f0"), 11));
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 9));
	cr_expect(eq(uint, calls(), 0));
}

/* The echo of our own changes says nothing that was not known. */
Test(lease, echoes_leave_a_directory_known)
{
	struct inode *d = known_tree();

	await_all_events();
	for (unsigned n = 0; n < 50; n++) {
		AUTO_FREE char *name = explored_text("own%u", n);

		explored_make(d, name, CHANGE_CREATE);
	}
	cr_assert(eq(int, cache_sync(explored.cache, NULL, NULL), ERR_OK));
	explored_make_dir("last");
	await(has, "last", true);
	explored.provider.lists = 0;
	cr_expect(eq(sz, explored_count_of(d), 55));
	cr_expect(eq(uint, calls(), 0));
	cr_expect(ge(u64, counted(STATS_EVENTS), 50));
	cr_expect(lt(u64, counted(STATS_FOREIGN_EVENTS), 10), "of what the others made alone");
}

/* ---- Changes by others ---- */

Test(lease, contents_that_others_change_are_seen)
{
	known_tree();
	explored_write("d/f1", "longer text");
	await(is_long, "d/f1", true);
	cr_expect(eq(uint, calls(), 0), "the stream told all of it");
}

Test(lease, names_that_come_and_go_are_seen)
{
	known_tree();
	explored_make_file("d/new");
	await(has, "d/new", true);
	explored_remove_path("d/f1", 0);
	await(has, "d/f1", false);
	explored_rename("d/f2", "d/f3");
	await(has, "d/f2", false);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 1 + 4));
}

Test(lease, a_directory_that_moves_takes_its_entries_along)
{
	known_tree();
	explored_rename("d", "e");
	await(has, "e/f4", true);
	cr_expect(not(has("d")));
	explored_make_file("e/new");
	await(has, "e/new", true);
}

Test(lease, what_went_from_a_directory_that_was_away_is_not_shown)
{
	known_tree();
	explored_rename("d", "e");
	explored_remove_path("e/f1", 0);
	explored_rename("e", "d");
	await(has, "d/f1", false);
	cr_expect(has("d/f4"));
}

Test(lease, changes_by_others_along_with_ours_are_seen)
{
	struct inode *d = known_tree();

	for (unsigned n = 0; n < 20; n++) {
		AUTO_FREE char *own = explored_text("own%u", n);
		AUTO_FREE char *foreign = explored_text("d/foreign%u", n);

		explored_make(d, own, CHANGE_CREATE);
		explored_make_file(foreign);
	}
	await(has, "d/foreign19", true);
	for (unsigned n = 0; n < 20; n++) {
		AUTO_FREE char *foreign = explored_text("d/foreign%u", n);

		await(has, foreign, true);
	}
	cr_expect(eq(sz, explored_count_of(d), 45));
}

/* ---- Invalidation ---- */

Test(lease, after_an_invalidation_one_audit_restores_everything)
{
	known_tree();
	cache_invalidate_all(explored.cache);
	explored_write("d/f1", "longer text");
	explored_remove_path("d/f2", 0);
	cr_expect(eq(u64, explored_size_of("d/f1"), 11));
	cr_expect(not(has("d/f2")));
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 5));
	cr_expect(eq(uint, explored.provider.watches, 0));
	usleep(3 * WITHOUT_MS * 1000);
	unsigned before = explored.provider.lists;

	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 5));
	cr_expect(eq(uint, explored.provider.lists, before), "trust without end");
	cr_expect(eq(u64, counted(STATS_AUDITS), 1));
	cr_expect(eq(u64, counted(STATS_STREAMS_LOST), 0));
}

static bool is_known(const char *path)
{
	unsigned before = calls();

	has(path);
	return calls() == before;
}

/* Asks for "f0" until the stream has begun: only use brings it about. */
static void await_stream(unsigned count)
{
	for (int64_t end_ms = monotonic_ms() + PATIENCE_MS; explored.provider.watches < count;) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "no other stream");
		has("d/f0");
		usleep(1000);
	}
}

Test(lease, a_stream_that_breaks_invalidates_and_is_begun_again)
{
	known_tree();
	explored.provider.breaks_watch = true;
	explored_write("d/f1", "longer text");
	await(is_long, "d/f1", true);
	explored_make_file("d/new");
	await(has, "d/new", true);
	use_after(1000); /* the pause */
	await_stream(1);
	await(is_known, "d/f0", true);
	usleep(3 * WITHOUT_MS * 1000);
	cr_expect(is_known("d/f0"));
	cr_expect(eq(uint, explored.provider.watches, 1));
	cr_expect(eq(u64, counted(STATS_STREAMS_LOST), 1));
}

/* ---- Changes that no stream reports ---- */

/* Changes the file by another name, outside the shown tree, which the stream does not watch. */
static void change_unseen(const char *name)
{
	struct scratch *s = &explored.shown.scratch;

	cr_assert(eq(int, linkat(s->fd, name, s->fd, "outside/other", 0), 0));
	scratch_write_text(s, "outside/other", "longer text");
}

Test(lease, use_after_a_minute_of_silence_audits_once)
{
	known_tree();
	explored_wait_idle();
	change_unseen("tree/d/f1");
	use_after(59000);
	cr_expect(eq(u64, explored_size_of("d/f1"), 4));
	cr_expect(eq(uint, calls(), 0));
	use_after(1000);
	cr_expect(eq(u64, explored_size_of("d/f1"), 11));
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 6));
	use_after(59000);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 6));
	cr_expect(eq(uint, explored.provider.lists, 1));
	cr_expect(eq(uint, explored.provider.watches, 0), "the stream lives on");
}

Test(lease, an_event_ends_the_silence)
{
	known_tree();
	explored_wait_idle();
	awake_ms += 59000;
	explored_write("d/f1", "longer text");
	await(is_long, "d/f1", true);
	change_unseen("tree/d/f2");
	use_after(59000);
	cr_expect(eq(u64, explored_size_of("d/f2"), 4));
	cr_expect(eq(uint, calls(), 0));
}

static _Atomic bool was_lost;

static void note_lost(void *context, enum watch_kind kind, const char *path, bool is_dir)
{
	(void)context, (void)is_dir;
	if (kind == WATCH_LOST && !*path)
		was_lost = true;
}

static bool is_reported_lost(const char *path)
{
	(void)path;
	return was_lost;
}

static void lose(const char *dir)
{
	pthread_mutex_lock(&explored.provider.lock);
	explored.provider.loses = dir;
	pthread_mutex_unlock(&explored.provider.lock);
}

Test(lease, when_something_was_lost_everything_is_audited)
{
	struct cache_observer observer = { .changed = note_lost };

	known_tree();
	cache_observe(explored.cache, &observer);
	lose("");
	explored_write("d/f1", "longer text");
	await(is_long, "d/f1", true);
	cr_expect(eq(uint, explored.provider.lists, 1));
	cr_expect(eq(uint, explored.provider.watches, 0), "the stream lives on");
	await(is_reported_lost, "d/f1", true);
	cache_observe(explored.cache, NULL);
}

/* WATCH_LOST comes where a directory may not be read, or one more cannot be watched. */
Test(lease, a_directory_that_cannot_be_watched_is_valid_for_a_time)
{
	explored_make_tree("", 1, 2);
	explored_start(WITHOUT_MS);
	explored_list_all(cache_root(explored.cache));
	change_unseen("tree/d1/f1");
	lose("d1");
	explored_make_file("d1/new");
	await(has, "d1/new", true);
	await(is_long, "d1/f1", true);
	unsigned before = calls();

	cr_expect(eq(u64, explored_size_of("d2/f1"), 4));
	cr_expect(eq(uint, calls(), before), "what is watched is held");
	explored_remove_path("d1/new", 0);
	await(has, "d1/new", false);
}

/* ---- The end of a stream ---- */

static void await_end(void)
{
	for (int64_t end_ms = monotonic_ms() + PATIENCE_MS; !explored.provider.watches_over;) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "the stream lives on");
		usleep(1000);
	}
}

Test(lease, after_the_machine_slept_nothing_is_valid)
{
	known_tree();
	change_unseen("tree/d/f1");
	asleep_ms += 3000;
	use_after(1000);
	cr_expect(eq(u64, explored_size_of("d/f1"), 11));
	await_end();
	await_stream(1);
}

static void set_xattr_unseen(const char *path)
{
	AUTO_FREE char *full = explored_text("%s/%s", explored.shown.scratch.path, path);

	cr_assert(eq(int, setxattr(full, "user.a", "b", 1, 0), 0), "%s", path);
}

static enum err xattr_names(struct inode *i, struct buf *out)
{
	buf_reset(out);
	return cache_xattr(explored.cache, NULL, i, NULL, out, NULL);
}

Test(lease, a_file_that_has_no_xattrs_is_not_asked_for_them)
{
	AUTO_BUF struct buf out = BUF_INIT(1000);
	struct inode *dir = known_tree();
	struct inode *f = explored_find("d/f0");

	cr_expect(eq(int, xattr_names(dir, &out), ERR_OK));
	cr_expect(eq(int, xattr_names(f, &out), ERR_OK));
	cr_expect(eq(sz, out.len, 0));
	cr_expect(
		eq(int, cache_xattr(explored.cache, NULL, f, "user.a", &out, NULL), ERR_NO_XATTR));
	struct inode *made = explored_make(dir, "new", CHANGE_CREATE);

	cr_expect(eq(int, xattr_names(made, &out), ERR_OK));
	cr_expect(eq(uint, calls(), 0));
	set_xattr_unseen("tree/d/f0");
	await_all_events();
	cr_expect(eq(int, xattr_names(f, &out), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&out), (char *)"user.a"));
	cr_expect(eq(int, xattr_names(explored_find("d/f1"), &out), ERR_OK));
	cr_expect(eq(uint, calls(), 1));
}

/* A stream on a link of which nothing comes any more would be silent. */
Test(lease, after_a_call_that_nobody_answered_nothing_is_valid)
{
	AUTO_BUF struct buf names = BUF_INIT(1000);

	known_tree();
	struct inode *f = explored_find("d/f0");

	set_xattr_unseen("tree/d/f0");
	await_all_events();
	explored.provider.fails_with = ERR_UNREACHABLE;
	cr_expect(
		eq(int, cache_xattr(explored.cache, NULL, f, NULL, &names, NULL), ERR_UNREACHABLE));
	explored.provider.fails_with = ERR_OK;
	change_unseen("tree/d/f1");
	cr_expect(eq(u64, explored_size_of("d/f1"), 11));
	await_end();
	await_stream(1);
}

Test(lease, an_unused_stream_is_let_go)
{
	explored.stream_idle_ms = 50;
	explored_make_dir("d");
	explored_make_files("d", 5);
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	await_end();
	change_unseen("tree/d/f1");
	await(is_long, "d/f1", true);
	await_stream(2);
}

Test(lease, a_stream_begins_again_however_much_is_known)
{
	AUTO_FREE char *written = explored_long_path(1, "f");
	AUTO_FREE char *removed = explored_long_path(2, "f");

	explored.stream_idle_ms = 50;
	explored_make_long_dirs(100);
	explored_start(WITHOUT_MS);
	cr_expect(ge(sz, explored_list_all(cache_root(explored.cache)), 200));
	await_end();
	explored_write(written, "longer text");
	explored_remove_path(removed, 0);
	await(is_long, written, true);
	cr_expect(not(has(removed)));
	await_stream(2);
	await(is_known, written, true);
}

/* ---- Every way to have no stream, and back ---- */

static struct cache_status status(void)
{
	struct cache_status s;

	cache_get_status(explored.cache, &s);
	return s;
}

static void await_stream_state(enum cache_stream state)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	while (status().stream != state) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "the stream is %d", status().stream);
		usleep(1000);
	}
}

Test(lease, the_reason_of_a_broken_stream_is_shown_until_there_is_another)
{
	known_tree();
	await_stream_state(CACHE_STREAM_LIVE);
	explored.provider.breaks_watch = true;
	explored_make_file("d/new");
	await_end();
	await_stream_state(CACHE_STREAM_BROKEN);
	cr_expect(eq(str, status().stream_why, "broken off"));
	use_after(1000);
	await_stream(1);
	await_stream_state(CACHE_STREAM_LIVE);
	cr_expect(eq(str, status().stream_why, ""));
}

Test(lease, a_stream_that_was_let_go_is_shown_as_idle)
{
	explored.stream_idle_ms = 50;
	explored_make_dir("d");
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	await_end();
	await_stream_state(CACHE_STREAM_IDLE);
	cr_expect(eq(str, status().stream_why, ""));
}

/* There is no stream where the helper could not run, or the system had no room for one more. */
Test(lease, where_there_is_no_stream_it_is_looked_for_again_after_a_minute)
{
	explored.provider.has_watch = false;
	explored_make_dir("d");
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	await_stream_state(CACHE_STREAM_BROKEN);
	cr_expect(eq(str, status().stream_why, "no stream of changes"));
	explored.provider.has_watch = true;
	use_after(59000);
	cache_invalidate_all(explored.cache);
	cr_expect(not(has("none")));
	cr_expect(eq(uint, explored.provider.watches, 0));
	use_after(1000);
	cache_invalidate_all(explored.cache);
	cr_expect(not(has("none")));
	cr_expect(eq(uint, explored.provider.watches, 1));
	await_stream_state(CACHE_STREAM_LIVE);
}

/* A stream begins late where the watches of all directories take long. */
Test(lease, a_stream_that_begins_late_is_not_waited_for)
{
	/*
	 * A quarter is waited for the stream; the rest is left to the list that is asked for then.
	 */
	explored.progress_ms = 8000;
	explored.provider.holds_ready = true;
	explored_make_dir("d");
	explored_start(WITHOUT_MS);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 1));
	cr_expect(ge(uint, explored.provider.lists, 1));
	explored.provider.holds_ready = false;
	await_stream_state(CACHE_STREAM_LIVE);
	cache_invalidate_all(explored.cache);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 1));
	cr_expect(has("d"));
	explored_wait_idle();
	usleep(3 * WITHOUT_MS * 1000);
	cr_expect(is_known("d"));
}

Test(lease, however_many_directories_are_not_watched_the_others_are)
{
	explored.provider.unwatched = 2000;
	explored_make_dir("u7");
	explored_make_file("u7/f");
	explored_make_dir("d");
	explored_make_files("d", 5);
	explored_start(WITHOUT_MS);
	explored_list_all(cache_root(explored.cache));
	await_stream_state(CACHE_STREAM_LIVE);
	cr_expect(eq(u64, status().unwatched_dirs, 2000));
	unsigned before = calls();

	usleep(3 * WITHOUT_MS * 1000);
	cr_expect(eq(u64, explored_size_of("d/f1"), 4));
	cr_expect(eq(uint, calls(), before), "what is watched is held");
	change_unseen("tree/u7/f");
	await(is_long, "u7/f", true);
}

static void tell_next(const char **what, const char *dir)
{
	pthread_mutex_lock(&explored.provider.lock);
	*what = dir;
	pthread_mutex_unlock(&explored.provider.lock);
}

Test(lease, a_directory_that_is_watched_again_is_held_again)
{
	explored_make_tree("", 1, 2);
	explored_start(WITHOUT_MS);
	explored_list_all(cache_root(explored.cache));
	tell_next(&explored.provider.loses, "d1");
	explored_make_file("d1/new");
	await(has, "d1/new", true);
	cr_expect(eq(u64, status().unwatched_dirs, 1));
	tell_next(&explored.provider.finds, "d1");
	explored_make_file("d2/other");
	explored_make_file("d2/last");
	await(has, "d2/last", true);
	cr_expect(eq(u64, status().unwatched_dirs, 0));
	explored_list_all(cache_root(explored.cache));
	usleep(3 * WITHOUT_MS * 1000);
	cr_expect(is_known("d1/new"));
}

/* ---- A sandbox that was paused ---- */

static void await_refusals(unsigned count)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	while (explored.provider.refusals < count) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "nothing was tried");
		usleep(1000);
	}
}

static void await_paused(void)
{
	for (int64_t end_ms = monotonic_ms() + PATIENCE_MS; !explored.provider.is_paused;) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "nothing was sent");
		usleep(1000);
	}
}

/* A change is cut off on its way by the pause, and so is the stream. */
static void pause_after(int64_t ms)
{
	known_tree();
	explored_wait_idle();
	struct inode *d = explored_find("d");

	use_after(ms);
	explored_make_file("told");
	await(has, "told", true);
	explored.provider.pauses_at_apply = true;
	explored_make(d, "made", CHANGE_CREATE);
	await_paused();
	explored.provider.breaks_watch = true;
	explored_make_file("d/breaks");
	await_end();
	await_refusals(1);
	cr_expect(zero(uint, explored.provider.wakes), "%lld ms after use", (long long)ms);
}

/* A call waits up to this long for the next attempt. */
static void wait_patiently(void)
{
	struct writeback *p = explored.cache->writeback;

	pthread_mutex_lock(&p->lock);
	p->pause_ms = PATIENCE_MS;
	pthread_mutex_unlock(&p->lock);
}

static void expect_use_wakes(void)
{
	wait_patiently();
	use_after(1000);
	cr_expect(has("d/made"));
	cr_expect(eq(int, cache_sync(explored.cache, NULL, NULL), ERR_OK));
	cr_expect(eq(uint, explored.provider.wakes, 1));
	cr_expect(zero(int, faccessat(explored.shown.scratch.fd, "tree/d/made", F_OK, 0)));
}

Test(lease, nothing_but_use_wakes_a_sandbox_that_was_paused_at_once)
{
	pause_after(0);
	expect_use_wakes();
}

Test(lease, nothing_but_use_wakes_a_sandbox_that_was_paused_after_3_s)
{
	pause_after(3000);
	expect_use_wakes();
}

Test(lease, nothing_but_use_wakes_a_sandbox_that_was_paused_after_30_s)
{
	pause_after(30000);
	expect_use_wakes();
}

Test(lease, nothing_but_use_wakes_a_sandbox_that_was_paused_after_100_s)
{
	pause_after(100000);
	expect_use_wakes();
}

/* The listener's thread looks for another stream by itself. */
Test(lease, who_listens_wakes_nobody)
{
	known_tree();
	cache_listen(explored.cache);
	explored.provider.is_paused = true;
	explored.provider.breaks_watch = true;
	explored_make_file("d/new");
	await_end();
	/* In the broken state the pause before another stream has begun. */
	await_stream_state(CACHE_STREAM_BROKEN);
	awake_ms += 2000;
	cache_listen(explored.cache);
	await_refusals(1);
	cr_expect(zero(uint, explored.provider.wakes));
	cache_unlisten(explored.cache);
	cache_unlisten(explored.cache);
}

static void *list_root(void *context)
{
	struct cache *c = explored.cache;
	struct tree_entry *entries;
	size_t count;
	enum err kind = cache_entries(c, NULL, cache_root(c), &entries, &count, context);

	if (!kind)
		cache_entries_free(c, entries, count);
	return NULL;
}

Test(lease, a_stream_whose_list_is_waited_for_is_not_unused)
{
	struct error e = { 0 };
	pthread_t asker;

	explored.stream_idle_ms = 1;
	explored_make_dir("d");
	explored_start(A_MINUTE);
	counting_provider_close_gate(&explored.provider, "");
	cr_assert(eq(int, pthread_create(&asker, NULL, list_root, &e), 0));
	counting_provider_await_held(&explored.provider);
	usleep(50000);
	counting_provider_open_gate(&explored.provider);
	pthread_join(asker, NULL);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
}

Test(lease, without_a_stream_validity_has_an_end)
{
	explored.provider.has_watch = false;
	explored_make_dir("d");
	explored_make_files("d", 5);
	explored_start(WITHOUT_MS);
	explored_list_all(cache_root(explored.cache));
	explored_write("d/f1", "longer text");
	await(is_long, "d/f1", true);
	cr_expect(eq(uint, explored.provider.watches, 0));
}

static void note_path(void *context, enum watch_kind kind, const char *path, bool is_dir)
{
	_Atomic bool *received = context;

	(void)kind, (void)is_dir;
	if (!strcmp(path, "far/away"))
		*received = true;
}

Test(lease, who_listens_hears_of_what_nobody_asked_for)
{
	_Atomic bool received = false;
	struct cache_observer observer = { .changed = note_path, .context = (void *)&received };

	explored_make_dir("far");
	explored_start(WITHOUT_MS);
	cache_observe(explored.cache, &observer);
	cache_listen(explored.cache);
	for (int64_t end_ms = monotonic_ms() + PATIENCE_MS; !atomic_load(&received);) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "nothing heard");
		explored_write("far/away", "text");
		usleep(1000);
	}
	cr_expect(eq(uint, explored.provider.watches, 1));
	cache_unlisten(explored.cache);
	cache_observe(explored.cache, NULL);
}

Test(lease, the_end_does_not_wait_for_a_stream)
{
	known_tree();
	cr_assert(eq(uint, explored.provider.watches_over, 0));
	explored_end();
	cr_expect(eq(uint, explored.provider.watches_over, 1));
}
