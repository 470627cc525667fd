/*
 * Files that the sandbox sees when they are whole, and changes by others at their names meanwhile.
 */
#include "cache/session/session.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
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
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

TestSuite(staged, .init = setup, .fini = teardown, .timeout = 300);

static void setup_untold(void)
{
	distant_start_trusting(&far);
}

TestSuite(staged_untold, .init = setup_untold, .fini = teardown, .timeout = 300);

/* ---- Words ---- */

static bool is_there(const char *name)
{
	return !faccessat(far.scratch.fd, name, F_OK, 0);
}

static void expect_text(const char *name, const char *wanted)
{
	AUTO_FREE char *text = is_there(name) ? distant_text(&far, name) : strdup("nothing");

	cr_expect(eq(str, text, (char *)wanted), "%s", name);
}

static ino_t ino_of(const char *name)
{
	struct stat st;

	cr_assert(eq(int, fstatat(far.scratch.fd, name, &st, 0), 0));
	return st.st_ino;
}

static uint64_t size_of(const char *name)
{
	struct stat st;

	cr_assert(eq(int, fstatat(far.scratch.fd, name, &st, 0), 0));
	return (uint64_t)st.st_size;
}

static void put(const char *name, const char *text)
{
	scratch_write_text(&far.scratch, name, text);
}

/* Waits until the cache knows the name. The caller gives the inode back with cache_forget(). */
static struct inode *await(const char *name)
{
	int64_t end_ms = monotonic_ms() + 60000, absent_ms;
	struct cache_entry entry;

	while (cache_lookup(far.cache, NULL, cache_root(far.cache), name, &entry, &absent_ms, NULL))
		cr_assert(lt(i64, monotonic_ms(), end_ms), "%s: is never seen", name);
	return entry.inode;
}

/* Puts a file into the sandbox before any file is made here. */
static void put_first(const char *name, const char *text)
{
	put(name, text);
	cache_forget(far.cache, await(name), 1);
	distant_await_deciding(&far);
}

static enum err sync_all(void)
{
	return cache_sync(far.cache, NULL, NULL);
}

/* Makes a file as open(2) with O_CREAT and these flags does. */
static struct inode *make_in(struct inode *dir, const char *name, int flags)
{
	const struct create_args m = { .op = CHANGE_CREATE,
		.mode = 0644,
		.exclusive = flags & O_EXCL,
		.empties = flags & O_TRUNC,
		.opens = true };
	struct cache_entry entry;

	cr_assert(eq(int, cache_make(far.cache, NULL, dir, name, &m, &entry, NULL), ERR_OK));
	cr_assert(eq(int, cache_open_made(far.cache, NULL, &entry, O_RDWR | flags, NULL), ERR_OK));
	return entry.inode;
}

static struct inode *make(const char *name, int flags)
{
	return make_in(cache_root(far.cache), name, flags);
}

static uint64_t copy(struct inode *from, struct inode *to, uint64_t len)
{
	uint64_t copied = 0;

	cr_assert(eq(int, cache_copy(far.cache, NULL, from, 0, to, 0, len, &copied, NULL), ERR_OK));
	return copied;
}

/* Empties the file as O_TRUNC does. */
static void empty(struct inode *i)
{
	const struct change nothing = { .set = SET_SIZE };

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &nothing, true, NULL), ERR_OK));
}

/* Writes enough to leave at once; the text ends with `end`. */
static void write_part(struct inode *i, uint64_t offset, char end)
{
	AUTO_FREE char *bytes = calloc(1, VERB_DATA_MAX + 1);
	unsigned before = distant_applies(&far);

	memset(bytes, 'm', VERB_DATA_MAX);
	bytes[VERB_DATA_MAX - 1] = end;
	distant_write(&far, i, offset, bytes);
	distant_await_applies(&far, before + 1);
}

static void write_much(struct inode *i, char end)
{
	write_part(i, 0, end);
}

static void expect_much(const char *name, char end)
{
	AUTO_FREE char *text = distant_text(&far, name);

	cr_expect(eq(sz, strlen(text), VERB_DATA_MAX));
	cr_expect(eq(chr, text[VERB_DATA_MAX - 1], end));
}

static unsigned count_staged(void)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, ".staging", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(dup(fd));
	unsigned count = 0;

	cr_assert(dir != NULL);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += !strncmp(entry->d_name, STAGED_NEW, strlen(STAGED_NEW));
	closedir(dir);
	return count;
}

/* ---- New files ---- */

static struct timespec mtime_of(struct inode *i)
{
	struct attr attr;
	int64_t valid_ms;

	cr_assert(eq(int, cache_attr(far.cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
	return attr.mtime;
}

Test(staged, a_closed_file_keeps_the_mtime_that_was_shown_when_the_sandbox_has_it)
{
	struct inode *i = make("f", O_EXCL);

	distant_hold_applies(&far, true);
	write_much(i, 'z');
	distant_close(&far, i);
	i = await("f");
	struct timespec shown = mtime_of(i);

	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cache_invalidate_all(far.cache);
	struct timespec there = mtime_of(i);

	cr_expect(eq(i64, there.tv_sec, shown.tv_sec));
	cr_expect(eq(i64, there.tv_nsec, shown.tv_nsec));
	cache_forget(far.cache, i, 1);
}

Test(staged, of_parts_that_arrive_in_another_order_the_close_keeps_the_mtime_that_was_shown)
{
	put_first("f", "old");
	struct inode *i = distant_open(&far, "f");
	unsigned first = distant_applies(&far) + 1;

	distant_hold_applies(&far, true);
	write_much(i, 'y');
	struct timespec earlier = mtime_of(i);

	write_part(i, VERB_DATA_MAX, 'z');
	struct timespec shown = mtime_of(i);

	cr_assert(not(time_equals(shown, earlier)));
	distant_close(&far, i);
	distant_pass_apply(&far, first + 1);
	distant_await_over(&far);
	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cache_invalidate_all(far.cache);
	i = await("f");
	cr_expect(time_equals(mtime_of(i), shown));
	cache_forget(far.cache, i, 1);
}

static bool is_anything_held_back(void)
{
	struct writeback *p = far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	bool is = !TAILQ_EMPTY(&p->deferred);

	pthread_mutex_unlock(&p->lock);
	return is;
}

Test(staged, a_new_file_is_not_seen_before_it_is_closed)
{
	struct inode *i = make("f", O_EXCL);

	write_much(i, 'z');
	cr_expect(not(is_there("f")));
	cr_expect(is_anything_held_back());
	distant_close(&far, i);
	cr_expect(not(is_anything_held_back()), "it waits for nothing else");
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_much("f", 'z');
	cr_expect(eq(uint, count_staged(), 0));
}

/*
 * Waits for the event of the directory that was made: a later event would invalidate it once more.
 */
static void await_event(void)
{
	int64_t end_ms = monotonic_ms() + 60000;

	while (!far.cache->stats.counters[STATS_EVENTS]) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "the stream tells nothing");
		usleep(1000);
	}
}

Test(staged, a_new_file_in_an_unlisted_directory_is_not_seen_before_it_is_closed)
{
	cr_assert(eq(int, mkdirat(far.scratch.fd, "d", 0755), 0));
	await_event();
	struct inode *dir = await("d"), *i = make_in(dir, "f", O_EXCL);

	write_much(i, 'z');
	cr_expect(not(is_there("d/f")));
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_much("d/f", 'z');
	cache_forget(far.cache, dir, 1);
}

Test(staged, a_file_that_is_there_already_in_an_unlisted_directory_is_no_new_one)
{
	const struct create_args m = { .op = CHANGE_CREATE, .mode = 0644, .exclusive = true };
	struct cache_entry entry;

	/* The directory appears together with its file: no event reports one before the other. */
	cr_assert(eq(int, mkdirat(far.scratch.fd, ".staging/d", 0755), 0));
	put(".staging/d/f", "theirs");
	cr_assert(eq(int, renameat(far.scratch.fd, ".staging/d", far.scratch.fd, "d"), 0));
	struct inode *dir = await("d");

	cr_expect(eq(int, cache_make(far.cache, NULL, dir, "f", &m, &entry, NULL), ERR_EXISTS));
	expect_text("d/f", "theirs");
	cache_forget(far.cache, dir, 1);
}

Test(staged, a_small_new_file_is_one_call)
{
	struct inode *i = make("f", O_EXCL);

	distant_write(&far, i, 0, "hello, ");
	distant_write(&far, i, 7, "world");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("f", "hello, world");
	cr_expect(eq(uint, distant_applies(&far), 1));
}

Test(staged, a_lost_answer_is_reported_by_the_name_of_the_file)
{
	struct inode *i = make("f", O_EXCL);
	struct cache_status status;

	far.lose_next = 1;
	distant_write(&far, i, 0, "text");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cache_get_status(far.cache, &status);
	cr_assert(ge(sz, status.errors_count, 1));
	for (size_t n = 0; n < status.errors_count; n++)
		cr_expect(eq(str, status.errors[n].path, "f"));
}

Test(staged, a_new_file_that_is_open_and_synced_is_there_with_what_was_written)
{
	struct inode *i = make("f", O_EXCL);

	distant_write(&far, i, 0, "one");
	cr_assert(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	expect_text("f", "one");
	distant_write(&far, i, 3, " two");
	cr_assert(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	expect_text("f", "one two");
	distant_close(&far, i);
}

/* How long the kernel may keep the attributes of the directory. */
static int64_t root_valid_ms(void)
{
	struct attr attr;
	int64_t valid_ms;

	cr_assert(
		eq(int, cache_attr(far.cache, NULL, cache_root(far.cache), &attr, &valid_ms, NULL),
			ERR_OK));
	return valid_ms;
}

Test(staged, the_times_of_a_directory_are_not_final_while_a_new_file_in_it_is_open)
{
	struct inode *i = make("f", O_EXCL);

	cr_expect(eq(i64, root_valid_ms(), 0));
	write_much(i, 'z');
	cr_expect(eq(i64, root_valid_ms(), 0), "a part of it has arrived");
	cr_expect(not(is_there("f")));
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cr_expect(root_valid_ms() > 0);
}

Test(staged, a_barrier_of_everything_shows_what_is_open)
{
	struct inode *i = make("f", O_EXCL);

	distant_write(&far, i, 0, "so far");
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("f", "so far");
	distant_close(&far, i);
}

/* The next file that is made counts as left open after `ms`. */
static void leave_open_after(int64_t ms)
{
	struct writeback *p = far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	p->open_ms = ms;
	pthread_mutex_unlock(&p->lock);
}

static void await_text(const char *name, const char *wanted)
{
	int64_t end_ms = monotonic_ms() + 60000;

	for (;;) {
		AUTO_FREE char *text =
			is_there(name) ? distant_text(&far, name) : strdup("nothing");

		if (!strcmp(text, wanted))
			return;
		cr_assert(lt(i64, monotonic_ms(), end_ms), "%s is %s", name, text);
		usleep(1000);
	}
}

Test(staged, a_file_that_stays_open_is_seen_and_so_is_what_is_added_to_it)
{
	leave_open_after(1);
	struct inode *i = make("log", O_EXCL);

	distant_write(&far, i, 0, "one");
	await_text("log", "one");
	distant_write(&far, i, 3, " two");
	await_text("log", "one two");
	cr_expect(eq(uint, count_staged(), 0));
	distant_close(&far, i);
}

Test(staged, an_emptied_file_that_stays_open_is_seen)
{
	put_first("log", "of yesterday");
	leave_open_after(1);
	struct inode *i = distant_open(&far, "log");

	empty(i);
	distant_write(&far, i, 0, "of today");
	await_text("log", "of today");
	distant_close(&far, i);
}

/* Does with open files what a sender does when their time has come. */
static int64_t look_at_open_files(void)
{
	struct writeback *p = far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	int64_t next_ms = writeback_release_open_locked(p, monotonic_ms() + 2 * WRITEBACK_OPEN_MS);

	pthread_mutex_unlock(&p->lock);
	return next_ms;
}

Test(staged, a_file_that_stays_open_since_it_is_being_copied_is_not_seen)
{
	struct inode *i = make("copy", O_EXCL);

	write_much(i, 'z');
	cr_expect(lt(i64, look_at_open_files(), INT64_MAX));
	cr_expect(eq(i64, look_at_open_files(), INT64_MAX), "nothing was added since");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_much("copy", 'z');
}

static void set_reachable(bool is_reachable)
{
	struct writeback *p = far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	p->failure.kind = is_reachable ? ERR_OK : ERR_UNREACHABLE;
	pthread_mutex_unlock(&p->lock);
}

Test(staged, a_file_whose_writer_may_be_held_up_by_the_sandbox_is_not_seen)
{
	struct inode *i = make("copy", O_EXCL);

	distant_write(&far, i, 0, "a part");
	set_reachable(false);
	cr_expect(lt(i64, look_at_open_files(), INT64_MAX));
	set_reachable(true);
	cr_expect(eq(i64, look_at_open_files(), INT64_MAX));
	distant_close(&far, i);
}

Test(staged, a_new_file_that_is_removed_while_open_leaves_nothing)
{
	struct inode *i = make("f", O_EXCL);

	write_much(i, 'z');
	cr_assert(eq(int, cache_unlink(far.cache, NULL, cache_root(far.cache), "f", NULL), ERR_OK));
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cr_expect(not(is_there("f")));
	cr_expect(eq(uint, count_staged(), 0));
}

Test(staged, a_new_file_that_is_moved_while_open_is_there_by_its_new_name)
{
	struct inode *root = cache_root(far.cache), *i = make("f", O_EXCL);

	distant_write(&far, i, 0, "one");
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "f", root, "g", 0, NULL), ERR_OK));
	distant_write(&far, i, 3, " two");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cr_expect(not(is_there("f")));
	expect_text("g", "one two");
}

Test(staged, a_new_file_of_which_a_part_was_refused_is_not_there)
{
	struct inode *i = make("f", O_EXCL);

	write_much(i, 'z');
	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, VERB_DATA_MAX, "more");
	distant_close(&far, i);
	cr_expect(eq(int, sync_all(), ERR_NO_SPACE));
	cr_expect(not(is_there("f")));
	cr_expect(eq(int, sync_all(), ERR_OK));
	cr_expect(eq(uint, count_staged(), 0));
}

/* ---- Files that are written anew ---- */

Test(staged, an_emptied_file_stays_what_it_was_until_it_is_closed)
{
	put_first("f", "before");
	ino_t ino = ino_of("f");
	struct inode *i = distant_open(&far, "f");

	empty(i);
	write_much(i, 'z');
	cr_expect(eq(u64, distant_size(&far, i), VERB_DATA_MAX));
	expect_text("f", "before");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_much("f", 'z');
	cr_expect(eq(u64, ino_of("f"), ino));
	cr_expect(eq(uint, count_staged(), 0));
}

Test(staged, an_emptied_file_whose_mode_is_set_is_there_with_both)
{
	const struct change mode = { .set = SET_MODE, .mode = 0751 };
	struct stat st;

	put_first("f", "before");
	struct inode *i = distant_open(&far, "f");

	empty(i);
	distant_write(&far, i, 0, "after");
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, true, NULL), ERR_OK));
	distant_write(&far, i, 5, "wards");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("f", "afterwards");
	fstatat(far.scratch.fd, "f", &st, 0);
	cr_expect(eq(uint, st.st_mode & 07777, 0751));
}

Test(staged, an_emptied_file_of_which_a_part_was_refused_stays_what_it_was)
{
	put_first("f", "before");
	struct inode *i = distant_open(&far, "f");

	empty(i);
	write_much(i, 'z');
	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, VERB_DATA_MAX, "more");
	distant_close(&far, i);
	cr_expect(eq(int, sync_all(), ERR_NO_SPACE));
	expect_text("f", "before");
	cr_expect(eq(int, sync_all(), ERR_OK));
	cr_expect(eq(uint, count_staged(), 0));
}

/* ---- Changes by others meanwhile ---- */

/* Through the cache. */
static void expect_read(const char *name, const char *want)
{
	struct inode *i = distant_open(&far, name);
	char text[16] = "";
	size_t got;

	cr_assert(
		eq(int, cache_read(far.cache, NULL, i, 0, text, sizeof text, &got, NULL), ERR_OK));
	cr_expect(eq(str, text, (char *)want));
	distant_close(&far, i);
}

static void set_mtime(const char *name, time_t to)
{
	const struct change what = { .set = SET_MTIME, .mtime = { .tv_sec = to } };
	struct inode *i = await(name);

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &what, false, NULL), ERR_OK));
	cache_forget(far.cache, i, 1);
}

static void rename_to(const char *name, const char *to)
{
	struct inode *root = cache_root(far.cache);

	cr_assert(eq(int, cache_rename(far.cache, NULL, root, name, root, to, 0, NULL), ERR_OK));
}

static void make_with(const char *name, const char *text)
{
	struct inode *i = make(name, O_EXCL);

	distant_write(&far, i, 0, text);
	distant_close(&far, i);
}

Test(staged, what_was_written_here_is_read_here_whatever_else_was_done_to_the_file)
{
	distant_gather_for(&far, AN_HOUR_MS);
	make_with("f", "ours");
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_read("f", "ours");
	set_mtime("f", 1000);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_read("f", "ours");
	rename_to("f", "g");
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_read("g", "ours");
	cr_expect(eq(uint, distant_fetches(&far), 0));
}

static void read_back(const char *name, size_t size, char end)
{
	AUTO_FREE char *got = malloc(size);
	struct inode *i = await(name);
	size_t len = 0;

	cr_assert(got != NULL);
	cr_assert(eq(int, cache_read(far.cache, NULL, i, 0, got, size, &len, NULL), ERR_OK));
	cr_expect(eq(sz, len, size));
	cr_expect(eq(chr, got[size - 1], end));
	cache_forget(far.cache, i, 1);
}

Test(staged, what_was_written_here_in_many_changes_is_read_here)
{
	struct inode *i = make("f", O_EXCL);

	write_much(i, 'a');
	distant_write(&far, i, VERB_DATA_MAX, "b");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	read_back("f", VERB_DATA_MAX + 1, 'b');
	i = distant_open(&far, "f");
	distant_write(&far, i, VERB_DATA_MAX + 1, "c");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	read_back("f", VERB_DATA_MAX + 2, 'c');
	cr_expect(eq(uint, distant_fetches(&far), 0));
}

/* The contents differ, but the file has the time of our version again. */
Test(staged, what_others_wrote_before_a_time_was_set_here_is_read)
{
	make_with("f", "ours");
	cr_assert(eq(int, sync_all(), ERR_OK));
	put("f", "them");
	set_mtime("f", 1000);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_read("f", "them");
}

/* Others write g once, as soon as it exists. */
static void others_write_g(struct distant *d, const struct list_request *request)
{
	static const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
	static atomic_bool is_written;

	(void)request;
	if (!is_there("g") || atomic_exchange(&is_written, true))
		return;
	put("g", "them");
	cr_assert(zero(int, utimensat(d->scratch.fd, "g", times, 0)));
}

/*
 * Sends both changes in one batch, whose first request does not arrive. Before the second one the
 * mount asks for the state of the files.
 */
static void send_twice(void (*change)(void))
{
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_gather_for(&far, AN_HOUR_MS);
	change();
	rename_to("f", "g");
	distant_gather_for(&far, WRITEBACK_WAIT_MS);
	distant_await_applies(&far, before + 1);
	distant_time_out_apply(&far, before + 1);
	distant_await_applies(&far, before + 2);
	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_read("g", "them");
}

static void make_f(void)
{
	make_with("f", "ours");
	set_mtime("f", 1000);
}

static void set_time_of_f(void)
{
	set_mtime("f", 2000);
}

Test(staged, what_others_write_behind_a_file_that_was_made_and_moved_by_a_repeated_batch_is_read)
{
	far.meanwhile = others_write_g;
	send_twice(make_f);
}

Test(staged, what_others_write_behind_a_time_that_was_set_by_a_repeated_batch_is_read)
{
	far.meanwhile = others_write_g;
	make_f();
	cr_assert(eq(int, sync_all(), ERR_OK));
	send_twice(set_time_of_f);
}

static bool keeps_pages(struct inode *i)
{
	bool keeps;

	cr_assert(eq(int, cache_open(far.cache, NULL, i, O_RDONLY, &keeps, NULL), ERR_OK));
	cache_close(far.cache, i);
	return keeps;
}

/* No stream reports changes, and the kernel cannot see them by the time that it set. */
Test(staged_untold, pages_of_what_others_wrote_before_a_time_was_set_here_are_not_kept)
{
	make_with("f", "ours");
	set_mtime("f", 1000);
	cr_assert(eq(int, sync_all(), ERR_OK));
	struct inode *i = await("f");

	keeps_pages(i);
	set_mtime("f", 2000);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cr_expect(keeps_pages(i), "nobody was at it");
	put("f", "them");
	set_mtime("f", 3000);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cr_expect(not(keeps_pages(i)));
	cache_forget(far.cache, i, 1);
}

/*
 * A file that is closed before the sandbox receives it, while others make one by that name there.
 */
static void make_both(const char *name, int flags)
{
	struct inode *i = make(name, flags);

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "ours");
	distant_close(&far, i);
	put(name, "theirs");
	distant_hold_applies(&far, false);
}

Test(staged, a_name_that_others_took_stays_theirs_and_ours_gets_another)
{
	struct stat st;

	make_both("f", O_EXCL);
	cr_expect(eq(int, sync_all(), ERR_CONFLICT));
	cr_expect(eq(int, sync_all(), ERR_OK));
	expect_text("f", "theirs");
	expect_text("f.sandboxfs-conflict", "ours");
	cr_assert(eq(int, fstatat(far.scratch.fd, "f.sandboxfs-conflict", &st, 0), 0));
	cr_expect(eq(u32, st.st_mode & 07777, 0644));
	cr_expect(eq(uint, count_staged(), 0));
	cr_expect(eq(u64, distant_failed(&far), 0));
	expect_read("f", "theirs");
}

Test(staged, a_write_behind_one_that_goes_to_a_conflict_name_is_not_for_theirs)
{
	struct inode *i = make("f", O_EXCL), *again;

	distant_hold_applies(&far, true);
	unsigned before = distant_applies(&far);

	distant_write(&far, i, 0, "ours");
	distant_close(&far, i);
	distant_await_applies(&far, before + 1);
	again = distant_open(&far, "f");
	distant_write(&far, again, 4, ", more");
	put("f", "theirs");
	distant_hold_applies(&far, false);
	distant_close(&far, again);
	sync_all();
	sync_all();
	expect_text("f", "theirs");
	expect_text("f.sandboxfs-conflict", "ours");
	cr_expect(ne(u64, distant_failed(&far), 0));
}

/* A file leaves in one change only where no call waits for it, and nothing else was done to it. */
Test(staged, changes_of_a_new_file_other_than_its_contents_are_distinguished)
{
	struct inode *i = make("f", O_EXCL);
	const struct change mode = { .set = SET_MODE, .mode = 0600 };
	struct stat st;

	distant_write(&far, i, 0, "one");
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, true, NULL), ERR_OK));
	distant_write(&far, i, 3, " two");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("f", "one two");
	cr_assert(eq(int, fstatat(far.scratch.fd, "f", &st, 0), 0));
	cr_expect(eq(u32, st.st_mode & 07777, 0600));
}

Test(staged, a_small_file_that_is_sent_at_once_is_read_while_it_is_pending)
{
	struct inode *i = make("f", O_EXCL), *again;
	char text[16] = "";
	size_t got;

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "one");
	distant_close(&far, i);
	again = distant_open(&far, "f");
	distant_write(&far, again, 3, " two");
	cr_assert(eq(
		int, cache_read(far.cache, NULL, again, 0, text, sizeof text, &got, NULL), ERR_OK));
	cr_expect(eq(str, text, "one two"));
	distant_hold_applies(&far, false);
	distant_close(&far, again);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("f", "one two");
}

Test(staged, names_of_conflicts_are_counted)
{
	put_first("f.sandboxfs-conflict", "old");
	put_first("f.sandboxfs-conflict-2", "older");
	make_both("f", 0);
	sync_all();
	sync_all();
	expect_text("f.sandboxfs-conflict", "old");
	expect_text("f.sandboxfs-conflict-2", "older");
	expect_text("f.sandboxfs-conflict-3", "ours");
}

Test(staged, what_others_make_at_the_same_moment_is_emptied_by_who_asked_for_that)
{
	make_both("f", O_TRUNC);
	cr_expect(eq(int, sync_all(), ERR_OK));
	expect_text("f", "ours");
	cr_expect(not(is_there("f.sandboxfs-conflict")));
}

/* ---- The ops that a mount leaves ---- */

static void setup_kept(void)
{
	distant_start_trusting(&far);
	distant_keep_journal(&far);
	far.tells_changes = true;
	distant_remount(&far, NULL);
	distant_await_deciding(&far);
}

TestSuite(staged_left, .init = setup_kept, .fini = teardown, .timeout = 300);

static void break_off(void)
{
	distant_break_off(&far);
	distant_hold_applies(&far, false);
}

Test(staged_left, a_file_that_was_open_is_there_with_what_was_written)
{
	struct inode *i = make("f", O_EXCL);

	distant_write(&far, i, 0, "one");
	distant_write(&far, i, 3, " two");
	break_off();
	cr_expect(not(is_there("f")));
	distant_remount(&far, NULL);
	expect_text("f", "one two");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* Notes a failure of op `number` in the journal that the mount left. */
static void note_failed(uint64_t number)
{
	AUTO_FREE char *dir = NULL;
	struct journal *journal;
	struct error e = { 0 };

	cr_assert(asprintf(&dir, "%s/journal", far.journal.path) > 0);
	const struct journal_options options = { .dir = dir, .mount = "here" };

	cr_assert(eq(int, journal_open(&journal, &options, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, journal_note_failed(journal, number, ERR_DENIED, "no", NULL), ERR_OK));
	journal_close(journal);
}

Test(staged_left, a_file_that_was_refused_is_not_put_there_in_part)
{
	struct inode *i = make("f", O_EXCL);
	unsigned before = distant_applies(&far);

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "all of it");
	distant_close(&far, i);
	distant_await_applies(&far, before + 1);
	break_off();
	note_failed(1);
	distant_remount(&far, NULL);
	sync_all();
	cr_expect(not(is_there("f")));
	uint64_t failed = distant_failed(&far);
	struct cache_status status;

	cr_expect(eq(u64, failed, 1), "as many as are told of");
	cache_get_status(far.cache, &status);
	cr_assert(eq(sz, status.failed_count, 1));
	cr_expect(eq(str, status.failed[0].path, "f"));
	distant_remount(&far, NULL);
	cr_expect(eq(u64, distant_failed(&far), failed));
}

Test(staged_left, a_file_of_which_a_part_had_arrived_is_whole)
{
	struct inode *i = make("f", O_EXCL);

	write_much(i, 'z');
	distant_hold_applies(&far, true);
	distant_write(&far, i, VERB_DATA_MAX - 1, "y");
	break_off();
	cr_expect(not(is_there("f")));
	distant_remount(&far, NULL);
	expect_much("f", 'y');
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(staged_left, an_overwrite_that_was_cut_is_whole_again)
{
	put_first("f", "before");
	struct inode *i = distant_open(&far, "f");

	empty(i);
	write_much(i, 'z');
	distant_hold_applies(&far, true);
	distant_write(&far, i, VERB_DATA_MAX - 1, "y");
	break_off();
	expect_text("f", "before");
	distant_remount(&far, NULL);
	expect_much("f", 'y');
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/* The text that was written here is "ours"; others write while the mount is gone. */
static void expect_both_stay(const char *theirs)
{
	break_off();
	put("f", theirs);
	distant_remount(&far, NULL);
	expect_text("f", theirs);
	expect_text("f.sandboxfs-conflict", "ours");
}

Test(staged_left, both_versions_of_an_overwritten_file_stay)
{
	put_first("f", "before");
	struct inode *i = distant_open(&far, "f");

	empty(i);
	distant_write(&far, i, 0, "ours");
	expect_both_stay("theirs, and longer");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(staged_left, a_name_that_others_took_since_stays_theirs_whatever_was_asked_for)
{
	struct inode *i = make("f", O_TRUNC);

	distant_write(&far, i, 0, "ours");
	expect_both_stay("theirs");
}

/* Saves as an editor does. */
static void save(const char *tmp, const char *name, const char *text)
{
	struct inode *root = cache_root(far.cache), *i = make(tmp, O_EXCL);

	distant_write(&far, i, 0, text);
	distant_close(&far, i);
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, tmp, root, name, 0, NULL), ERR_OK));
}

Test(staged_left, a_save_over_a_file_that_others_changed_since_gets_a_conflict_name)
{
	put_first("f", "before");
	distant_close(&far, distant_open(&far, "f"));
	distant_hold_applies(&far, true);
	save("tmp", "f", "ours");
	save("tmp2", "new", "ours, too");
	break_off();
	put("f", "theirs, and longer");
	put("new", "theirs");
	distant_remount(&far, NULL);
	expect_text("f", "theirs, and longer");
	expect_text("f.sandboxfs-conflict", "ours");
	expect_text("new", "theirs");
	expect_text("new.sandboxfs-conflict", "ours, too");
	cr_expect(not(is_there("tmp")));
}

/* ---- Groups ---- */

Test(staged, a_file_keeps_the_group_it_was_given_though_its_directory_gives_another)
{
	struct inode *i = make("f", O_EXCL);
	const struct change group = { .set = SET_GID, .gid = 12345 };
	struct stat st;

	if (geteuid())
		cr_skip("only root gives files away");
	cr_assert(eq(int, fchmod(far.scratch.fd, 02755), 0));
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &group, true, NULL), ERR_OK));
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cr_assert(eq(int, fstatat(far.scratch.fd, "f", &st, 0), 0));
	cr_expect(eq(u32, st.st_gid, 12345));
}

/*
 * Empties and writes the file again while the sandbox commits the first contents. The file is
 * closed before or after the answer to that.
 */
static void save_twice_and_lose_the_second(bool closes_first)
{
	put_first("f", "before");
	struct inode *i = distant_open(&far, "f");
	unsigned arrived = distant_applies(&far);

	far.cache->writeback->pause_ms = 10;
	distant_hold_applies(&far, true);
	empty(i);
	distant_write(&far, i, 0, "once");
	writeback_release(far.cache->writeback, i);
	distant_await_applies(&far, arrived + 1);
	empty(i);
	distant_write(&far, i, 0, "twice");
	if (closes_first)
		writeback_release(far.cache->writeback, i);
	uint64_t answers = distant_answers(&far);

	distant_pass_apply(&far, arrived + 1);
	distant_await_answers(&far, answers + 1);
	distant_close(&far, i);
	distant_await_applies(&far, arrived + 2);
	distant_time_out_apply(&far, arrived + 2);
	distant_await_applies(&far, arrived + 3);
	expect_text("f", "once");
}

static void expect_both_versions(void)
{
	put("f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_CONFLICT));
	expect_text("f", "theirs");
	expect_text("f.sandboxfs-conflict", "twice");
}

Test(staged, what_others_wrote_between_two_versions_of_ours_stays)
{
	save_twice_and_lose_the_second(true);
	expect_both_versions();
}

Test(staged, what_others_wrote_stays_where_our_second_version_was_not_whole)
{
	save_twice_and_lose_the_second(false);
	expect_both_versions();
}

Test(staged, the_second_of_two_versions_arrives_where_nobody_else_wrote)
{
	save_twice_and_lose_the_second(true);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_OK));
	expect_text("f", "twice");
}

/* ---- New files whose names the sandbox decides ---- */

static void setup_asking(void)
{
	distant_start_trusting(&far);
}

TestSuite(staged_asked, .init = setup_asking, .fini = teardown, .timeout = 300);

static uint64_t shown_ino(struct inode *i)
{
	struct attr attr;
	int64_t valid_ms;

	cr_assert(eq(int, cache_attr(far.cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
	return attr.ino;
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	cr_assert(eq(int, fstatat(far.scratch.fd, name, &st, 0), 0));
	return st.st_mode & 07777;
}

static void expect_seen_whole(int flags)
{
	struct inode *i = make("f", flags);
	uint64_t shown = shown_ino(i);
	ino_t made = ino_of("f");

	write_much(i, 'z');
	cr_expect(eq(u64, size_of("f"), 0));
	writeback_release(far.cache->writeback, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_much("f", 'z');
	cr_expect(ne(u64, ino_of("f"), made), "it was not copied over");
	cr_expect(eq(uint, mode_of("f"), 0644));
	cr_expect(eq(u64, shown_ino(i), shown));
	cr_expect(eq(uint, count_staged(), 0));
	distant_close(&far, i);
}

Test(staged_asked, a_name_that_must_be_free_is_taken_at_once_and_seen_whole)
{
	expect_seen_whole(O_EXCL);
}

Test(staged_asked, a_name_that_would_be_emptied_is_taken_at_once_and_seen_whole)
{
	expect_seen_whole(O_TRUNC);
}

Test(staged_asked, a_name_that_would_be_appended_to_is_taken_at_once_and_seen_whole)
{
	expect_seen_whole(0);
}

Test(staged_asked, a_file_of_others_that_is_there_keeps_its_inode)
{
	put("f", "");
	ino_t theirs = ino_of("f");
	struct inode *i = make("f", O_TRUNC);

	distant_write(&far, i, 0, "ours");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("f", "ours");
	cr_expect(eq(u64, ino_of("f"), theirs));
}

Test(staged_asked, a_file_to_which_nothing_is_written_stays_as_it_was_made)
{
	struct inode *i = make("f", O_EXCL), *other = make("g", O_EXCL);
	struct stat before, after;

	cr_assert(eq(int, fstatat(far.scratch.fd, "f", &before, 0), 0));
	usleep(20000);
	write_much(other, 'z');
	distant_close(&far, i);
	distant_close(&far, other);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cr_assert(eq(int, fstatat(far.scratch.fd, "f", &after, 0), 0));
	cr_expect(eq(u64, after.st_ino, before.st_ino));
	cr_expect(eq(i64, after.st_mtim.tv_sec, before.st_mtim.tv_sec));
	cr_expect(eq(i64, after.st_mtim.tv_nsec, before.st_mtim.tv_nsec));
	cr_expect(eq(i64, after.st_ctim.tv_nsec, before.st_ctim.tv_nsec));
	cr_expect(eq(uint, count_staged(), 0));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

/*
 * The attributes that the sandbox reported when the file was made have expired. The sandbox could
 * only report that the file is empty.
 */
Test(staged_asked, a_file_that_is_looked_up_before_it_is_whole_is_not_seen_sooner)
{
	struct attr attr;
	int64_t valid_ms;

	far.belief_ms = 1;
	distant_remount(&far, NULL);
	struct inode *i = make("f", O_EXCL);

	write_much(i, 'y');
	usleep(20000);
	cr_assert(eq(int, cache_attr(far.cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
	cr_expect(eq(u64, attr.size, VERB_DATA_MAX));
	cr_expect(eq(u64, size_of("f"), 0));
	cache_forget(far.cache, await("f"), 1);
	cr_expect(eq(u64, size_of("f"), 0));
	write_much(i, 'z');
	cr_expect(eq(u64, size_of("f"), 0));
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_much("f", 'z');
}

Test(staged_asked, no_other_file_is_shown_with_its_number)
{
	struct inode *i = make("f", O_EXCL);
	ino_t made = ino_of("f");

	cr_expect(ne(u64, shown_ino(i), made), "the sandbox may give that to another one");
	distant_close(&far, i);
}

Test(staged_asked, what_is_done_to_it_behind_its_close_is_done_to_what_took_its_place)
{
	const struct change mode = { .set = SET_MODE, .mode = 0751 };
	struct inode *root = cache_root(far.cache), *i = make("f", O_EXCL);
	struct cache_entry entry;

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "one");
	writeback_release(far.cache->writeback, i);
	distant_write(&far, i, 3, " two");
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, true, NULL), ERR_OK));
	empty(i);
	distant_write(&far, i, 0, "three");
	writeback_release(far.cache->writeback, i);
	distant_write(&far, i, 5, " four");
	distant_hold_applies(&far, false);
	cr_assert(eq(int, cache_link(far.cache, NULL, i, root, "g", &entry, NULL), ERR_OK));
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "f", root, "h", 0, NULL), ERR_OK));
	distant_write(&far, i, 10, " five");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("g", "three four five");
	expect_text("h", "three four five");
	cr_expect(eq(uint, mode_of("g"), 0751));
	cr_expect(eq(u64, distant_failed(&far), 0));
	cache_forget(far.cache, entry.inode, 1);
}

Test(staged_asked, a_file_whose_answer_was_lost_is_whole)
{
	struct inode *i = make("f", O_EXCL);

	far.cache->writeback->pause_ms = 10;
	distant_write(&far, i, 0, "one");
	far.lose_next = 1;
	writeback_release(far.cache->writeback, i);
	distant_write(&far, i, 3, " two");
	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("f", "one two");
	cr_expect(eq(u64, distant_failed(&far), 0));
	cr_expect(eq(uint, count_staged(), 0));
}

Test(staged_asked, a_file_that_is_looked_up_all_the_time_stays_the_same)
{
	struct inode *root = cache_root(far.cache);

	for (int round = 0; round < 50; round++) {
		struct inode *i = make("f", O_EXCL);

		distant_write(&far, i, 0, "text");
		writeback_release(far.cache->writeback, i);
		for (int look = 0; look < 20; look++) {
			struct cache_entry entry;
			int64_t absent_ms;

			tree_invalidate(far.cache->tree, i);
			tree_invalidate(far.cache->tree, root);
			cr_assert(eq(int,
				cache_lookup(far.cache, NULL, root, "f", &entry, &absent_ms, NULL),
				ERR_OK));
			cr_assert(entry.inode == i);
			cache_forget(far.cache, i, 1);
		}
		distant_close(&far, i);
		cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	}
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(staged_asked, what_others_wrote_to_one_that_is_added_to_stays)
{
	struct inode *i = make("log", 0);

	distant_write(&far, i, 0, "ours");
	put("log", "theirs");
	distant_close(&far, i);
	cr_expect(eq(int, sync_all(), ERR_CONFLICT));
	expect_text("log", "theirs");
	expect_text("log.sandboxfs-conflict", "ours");
}

Test(staged, a_file_in_a_directory_that_gives_its_group_is_seen_whole)
{
	/* The directory has the set-group-id bit when it appears. */
	cr_assert(eq(int, mkdirat(far.scratch.fd, ".staging/d", 0755), 0));
	cr_assert(eq(int, fchmodat(far.scratch.fd, ".staging/d", 02755, 0), 0));
	cr_assert(eq(int, renameat(far.scratch.fd, ".staging/d", far.scratch.fd, "d"), 0));
	struct inode *dir = await("d"), *i = make_in(dir, "f", O_EXCL);

	write_much(i, 'z');
	await_text("d/f", "");
	ino_t made = ino_of("d/f");

	distant_close(&far, i);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_much("d/f", 'z');
	cr_expect(ne(u64, ino_of("d/f"), made), "it was not copied over");
	cache_forget(far.cache, dir, 1);
}

static void setup_asking_kept(void)
{
	setup_asking();
	distant_keep_journal(&far);
}

TestSuite(staged_asked_left, .init = setup_asking_kept, .fini = teardown, .timeout = 300);

Test(staged_asked_left, what_is_behind_it_is_done_to_what_took_its_place)
{
	const struct change mode = { .set = SET_MODE, .mode = 0751 };
	struct inode *i = make("f", O_EXCL);

	distant_hold_applies(&far, true);
	distant_write(&far, i, 0, "one");
	writeback_release(far.cache->writeback, i);
	distant_write(&far, i, 3, " two");
	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, true, NULL), ERR_OK));
	break_off();
	expect_text("f", "");
	distant_remount(&far, NULL);
	expect_text("f", "one two");
	cr_expect(eq(uint, mode_of("f"), 0751));
	cr_expect(eq(u64, distant_failed(&far), 0));
	cr_expect(eq(uint, count_staged(), 0));
}

Test(staged_asked_left, a_file_that_was_placed_without_an_answer_goes_on)
{
	struct inode *i = make("f", O_EXCL);

	distant_write(&far, i, 0, "one");
	far.does_first = true;
	unsigned arrived = distant_applies(&far);

	distant_hold_applies(&far, true);
	writeback_release(far.cache->writeback, i);
	distant_await_applies(&far, arrived + 1);
	expect_text("f", "one");
	distant_write(&far, i, 3, " two");
	break_off();
	far.does_first = false;
	distant_remount(&far, NULL);
	expect_text("f", "one two");
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(staged_asked_left, what_others_made_of_it_since_stays)
{
	struct inode *i = make("f", O_EXCL);

	distant_write(&far, i, 0, "ours");
	expect_both_stay("theirs, and longer");
}

/* ---- Copies in the sandbox ---- */

Test(staged, a_copy_leaves_with_the_file_that_it_makes)
{
	put_first("source", "what is copied");
	struct inode *from = distant_open(&far, "source"), *to = make("copy", O_EXCL);

	struct attr attr;

	far.applies = 0;
	cr_expect(eq(u64, copy(from, to, 1000), 14));
	cache_known_attr(far.cache, to, &attr);
	cr_expect(eq(u64, attr.size, 14));
	cr_expect(eq(u64, copy(from, to, 0), 0));
	cr_expect(not(is_there("copy")));
	distant_close(&far, to);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_text("copy", "what is copied");
	cr_expect(eq(uint, distant_applies(&far), 1));
	distant_close(&far, from);
}

Test(staged, what_others_make_of_a_file_before_it_is_copied_is_not_taken_for_it)
{
	put_first("source", "what is copied");
	struct inode *from = distant_open(&far, "source"), *to = make("copy", O_EXCL);

	copy(from, to, 1000);
	put("source", "something else of another length");
	distant_close(&far, to);
	cr_expect(ne(int, sync_all(), ERR_OK));
	expect_text("copy", "nothing");
	distant_close(&far, from);
}

/* The sandbox copied the file, and received the request a second time. */
Test(staged, a_copy_whose_answer_was_lost_is_whole)
{
	put_first("source", "what is copied");
	struct inode *from = distant_open(&far, "source"), *to = make("copy", O_EXCL);

	far.cache->writeback->pause_ms = 10;
	copy(from, to, 1000);
	far.lose_next = 1;
	distant_close(&far, to);
	cr_expect(eq(int, sync_all(), ERR_OK));
	expect_text("copy", "what is copied");
	cr_expect(eq(u64, distant_failed(&far), 0));
	distant_close(&far, from);
}
