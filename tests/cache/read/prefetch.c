#include "cache/read/prefetch.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/lease/entries.h"
#include "cache/metadata.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/lease/entries.h"
#include "cache/metadata.h"
#include "cache/lease/walk_inside.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB ((size_t)1024)

static struct distant far;
static unsigned char bytes[512 * 1024];

static void setup(void)
{
	distant_start_trusting(&far);
}

static void teardown(void)
{
	distant_hold_fetches(&far, false);
	distant_stop(&far);
}

TestSuite(bulk, .init = setup, .fini = teardown, .timeout = 300);

/* ---- The tree in the sandbox ---- */

/* A file whose first bytes are its path; the rest are zeroes. */
__attribute__((format(printf, 2, 3))) static void make(size_t size, const char *format, ...)
{
	char path[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path, sizeof path, format, arguments);
	va_end(arguments);
	for (char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		*end = 0;
		mkdirat(far.scratch.fd, path, 0755);
		*end = '/';
	}
	scratch_write_text(&far.scratch, path, path);
	int fd = openat(far.scratch.fd, path, O_WRONLY);

	cr_assert(not(ftruncate(fd, (off_t)size)));
	close(fd);
}

/* Invalidates everything, after a tick: the files made so far are old enough to be valid. */
static void made(void)
{
	distant_pass_tick(&far);
	cache_invalidate_all(far.cache);
}

/* ---- Reads ---- */

static struct inode *entry_of(struct inode *dir, const char *name)
{
	struct cache_entry entry;
	struct error e = { 0 };
	int64_t absent_ms;

	cr_assert(eq(int, cache_lookup(far.cache, NULL, dir, name, &entry, &absent_ms, &e), ERR_OK),
		"%s: %s", name, e.text);
	return entry.inode;
}

/* The inode of a path, to be given back with cache_forget(). */
static struct inode *find(const char *path)
{
	struct inode *dir = cache_root(far.cache), *i;
	const char *rest = path;
	char name[256];

	for (;;) {
		snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "/"), rest);
		i = entry_of(dir, name);
		if (dir != cache_root(far.cache))
			cache_forget(far.cache, dir, 1);
		rest += strlen(name);
		if (!*rest++)
			return i;
		dir = i;
	}
}

static enum err read_inode(const struct call *call, struct inode *i, size_t *got, struct error *e)
{
	bool keep;
	enum err kind = cache_open(far.cache, call, i, O_RDONLY, &keep, e);

	if (kind)
		return kind;
	kind = cache_read(far.cache, call, i, 0, bytes, sizeof bytes, got, e);
	cache_close(far.cache, i);
	return kind;
}

static enum err try_read(const struct call *call, const char *path, size_t *got)
{
	struct error e = { 0 };
	struct inode *i = find(path);
	enum err kind = read_inode(call, i, got, &e);

	cache_forget(far.cache, i, 1);
	return kind;
}

static void expect_path(const char *path)
{
	cr_expect(not(memcmp(bytes, path, strlen(path))), "%s: other bytes", path);
}

__attribute__((format(printf, 1, 2))) static size_t read_file(const char *format, ...)
{
	char path[256];
	size_t got = 0;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path, sizeof path, format, arguments);
	va_end(arguments);
	cr_assert(eq(int, try_read(NULL, path, &got), ERR_OK), "%s", path);
	expect_path(path);
	return got;
}

/* Walks the tree as grep -r does, or ls -R. Returns the number of files. */
static unsigned walk(struct inode *dir, bool reads)
{
	struct tree_entry *entries;
	struct error e = { 0 };
	unsigned files = 0;
	size_t count, got;

	cr_assert(eq(int, cache_entries(far.cache, NULL, dir, &entries, &count, &e), ERR_OK), "%s",
		e.text);
	for (size_t n = 0; n < count; n++) {
		struct inode *i = entry_of(dir, entries[n].name);

		if (S_ISDIR(i->attr.mode))
			files += walk(i, reads);
		else
			files += !reads || !read_inode(NULL, i, &got, &e);
		cache_forget(far.cache, i, 1);
	}
	cache_entries_free(far.cache, entries, count);
	return files;
}

static unsigned read_all(void)
{
	return walk(cache_root(far.cache), true);
}

static void list_all(void)
{
	walk(cache_root(far.cache), false);
}

/* ---- Which files come along ---- */

Test(bulk, a_file_brings_the_others_of_its_directory)
{
	for (int n = 0; n < 10; n++)
		make(5000, "d/f%d", n);
	made();
	for (int n = 0; n < 10; n++)
		cr_expect(eq(sz, read_file("d/f%d", n), 5000));
	cr_expect(eq(uint, distant_fetches(&far), 1));
	cr_expect(eq(uint, distant_items(&far), 10));
}

Test(bulk, a_walk_through_everything_takes_three_calls)
{
	for (int d = 0; d < 200; d++)
		for (int n = 0; n < 10; n++)
			make(8 * KIB, "tree/d%d/f%d", d, n);
	made();
	cr_expect(eq(uint, read_all(), 2000));
	cr_expect(le(uint, distant_fetches(&far), 2));
	cr_expect(le(uint, distant_lists(&far), 2)); /* one was for mounting */
	cr_expect(eq(uint, distant_items(&far), 2000));
	read_all();
	cr_expect(eq(uint, distant_items(&far), 2000), "what is here is asked for again");
}

Test(bulk, a_walk_through_one_project_brings_little_of_another)
{
	enum { OTHERS = 40 };

	for (int d = 0; d < 8; d++)
		for (int n = 0; n < 10; n++)
			make(KIB, "a/d%d/f%d", d, n);
	for (int n = 0; n < OTHERS; n++)
		make(256 * KIB, "b/f%d", n);
	made();
	list_all();
	cr_expect(eq(uint, walk(entry_of(cache_root(far.cache), "a"), true), 80));
	distant_await_items(&far, 80 + 8);
	cr_expect(le(uint, distant_items(&far), 80 + 8)); /* 2 MiB */
	cr_expect(le(uint, distant_fetches(&far), 2));
	cr_expect(eq(uint, read_all(), 80 + OTHERS));
}

/* A walk, as three calls in a row of which all was read are. */
Test(bulk, a_walk_goes_on_behind_a_file_that_stands_nowhere)
{
	size_t got;
	bool keep;

	for (int d = 0; d < 10; d++)
		make(KIB, "d%d/f", d);
	made();
	list_all();
	struct inode *dir = entry_of(cache_root(far.cache), "d3"), *i = entry_of(dir, "f");

	cr_assert(not(cache_open(far.cache, NULL, i, O_RDONLY, &keep, NULL)));
	cr_assert(not(cache_unlink(far.cache, NULL, dir, "f", NULL)));
	for (int d = 0; d < 3; d++)
		read_file("d%d/f", d);
	cr_assert(not(cache_read(far.cache, NULL, i, 0, bytes, sizeof bytes, &got, NULL)));
	expect_path("d3/f");
	for (int d = 4; d < 10; d++)
		read_file("d%d/f", d);
	cr_expect(le(uint, distant_fetches(&far), 5));
	cache_close(far.cache, i);
	cache_forget(far.cache, i, 1);
	cache_forget(far.cache, dir, 1);
}

/* No gap ends the walk, however long this process stands still on a busy machine. */
static void hold_walk(void)
{
	struct walk *w = far.cache->walk;

	pthread_mutex_lock(&w->lock);
	w->last_ms = monotonic_ms() + 3600000;
	pthread_mutex_unlock(&w->lock);
}

/*
 * This holds also for names in any order: git status looks at a tree that is larger than the first
 * listings.
 */
Test(bulk, after_git_read_its_own_all_that_it_keeps_is_one_listing)
{
	make(30, ".git/HEAD");
	for (int d = 0; d < 60; d++)
		for (int n = 0; n < 100; n++)
			make(1, "d%d/f%d", d, n);
	made();
	read_file(".git/HEAD");
	unsigned before = distant_lists(&far);

	for (int d = 59; d >= 0; d--) {
		char path[40];

		snprintf(path, sizeof path, "d%d/f7", d);
		hold_walk();
		cache_forget(far.cache, find(path), 1);
	}
	cr_expect(le(uint, distant_lists(&far), before + 1));
}

Test(bulk, a_walk_through_directories_of_one_file_grows_too)
{
	for (int d = 0; d < 100; d++)
		make(KIB, "tree/d%d/f", d);
	made();
	cr_expect(eq(uint, read_all(), 100));
	cr_expect(le(uint, distant_fetches(&far), 6));
}

Test(bulk, the_first_read_of_a_large_directory_brings_a_few)
{
	for (int n = 0; n < 500; n++)
		make(10 * KIB, "d/f%d", n);
	made();
	read_file("d/f7");
	distant_await_items(&far, 52);
	cr_expect(le(uint, distant_items(&far), 52)); /* 512 KiB, and the one that was asked for */
}

Test(bulk, of_a_distant_sandbox_the_first_read_brings_more)
{
	for (int n = 0; n < 60; n++)
		make(50 * KIB, "d/f%d", n);
	made();
	bandwidth_note(&far.cache->bandwidth, 100000, 12500000, 1000000); /* 100 ms, 100 Mbit/s */
	read_file("d/f7");
	distant_await_items(&far, 25);
	cr_expect(le(uint, distant_items(&far), 25)); /* 1.25 MB, and the one that was asked for */
}

Test(bulk, a_large_directory_of_which_all_is_read_takes_few_calls)
{
	for (int n = 0; n < 300; n++)
		make(10 * KIB, "d/f%d", n);
	made();
	cr_expect(eq(uint, read_all(), 300));
	cr_expect(le(uint, distant_fetches(&far), 3));
	cr_expect(eq(uint, distant_items(&far), 300));
}

Test(bulk, whoever_reads_one_file_of_each_directory_gets_no_others)
{
	for (int d = 0; d < 20; d++)
		for (int n = 0; n < 20; n++)
			make(KIB, "d%d/f%d", d, n);
	made();
	for (int d = 0; d < 20; d++)
		read_file("d%d/f3", d);
	distant_await_items(&far, 20 + 19);
	cr_expect(eq(uint, distant_fetches(&far), 20));
	cr_expect(eq(uint, distant_items(&far), 20 + 19));
}

static const char *const quiet[] = { "node_modules", "target", "__pycache__", ".venv", "venv",
	"dist", "build", ".git" };

Test(bulk, what_is_seldom_read_as_a_whole_is_not_entered)
{
	for (size_t n = 0; n < sizeof quiet / sizeof *quiet; n++)
		make(KIB, "p/%s/inside", quiet[n]);
	make(KIB, "p/main");
	make(KIB, "p/src/part");
	made();
	read_file("p/main");
	read_file("p/src/part");
	cr_expect(eq(uint, distant_items(&far), 2));
}

Test(bulk, a_package_brings_only_its_own_files)
{
	for (int d = 0; d < 20; d++)
		for (int n = 0; n < 5; n++)
			make(KIB, "node_modules/p%d/f%d", d, n);
	made();
	for (int n = 0; n < 5; n++)
		read_file("node_modules/p3/f%d", n);
	cr_expect(eq(uint, distant_items(&far), 5));
	read_file("node_modules/p9/f1");
	cr_expect(eq(uint, distant_fetches(&far), 2));
	distant_await_items(&far, 10);
	cr_expect(eq(uint, distant_items(&far), 10));
}

Test(bulk, a_repository_brings_its_small_objects)
{
	make(30, ".git/HEAD");
	make(40, ".git/refs/heads/main");
	make(400 * KIB, ".git/index");
	make(300, ".git/objects/ab/commit");
	make(20 * KIB, ".git/objects/cd/contents");
	make(100, "file");
	made();
	list_all();
	read_file(".git/HEAD");
	read_file(".git/refs/heads/main");
	read_file(".git/index");
	read_file(".git/objects/ab/commit");
	cr_expect(eq(uint, distant_fetches(&far), 1));
	cr_expect(eq(uint, distant_items(&far), 4));
}

/* 20,000 files. Small ones come first, also where there are many of them. */
Test(bulk, a_repository_brings_a_large_index_too)
{
	make(30, ".git/HEAD");
	make(2048 * KIB, ".git/index");
	for (int n = 0; n < 100; n++)
		make(KIB, ".git/objects/ab/%d", n);
	made();
	list_all();
	read_file(".git/HEAD");
	cr_expect(eq(sz, read_file(".git/index"), sizeof bytes));
	cr_expect(eq(uint, distant_fetches(&far), 1));
}

Test(bulk, a_large_index_that_is_read_first_comes_whole)
{
	make(30, ".git/HEAD");
	make(2048 * KIB, ".git/index");
	made();
	list_all();
	read_file(".git/index");
	read_file(".git/HEAD");
	cr_expect(eq(uint, distant_fetches(&far), 1));
	cr_expect(eq(uint, distant_items(&far), 2));
}

Test(bulk, other_large_files_do_not_come_along)
{
	make(30, ".git/HEAD");
	make(5 * 1024 * KIB, ".git/index");
	make(600 * KIB, ".git/hooks/large");
	make(30, "d/small");
	make(600 * KIB, "d/large");
	made();
	list_all();
	read_file(".git/HEAD");
	read_file("d/small");
	distant_await_items(&far, 2);
	cr_expect(eq(uint, distant_items(&far), 2));
}

Test(bulk, what_is_stored_stays_and_others_come_in_its_place)
{
	struct scratch disk;

	for (int n = 0; n < 300; n++)
		make(KIB, "d/f%d", n);
	scratch_make(&disk);
	distant_remount(&far, disk.path);
	made();
	cr_expect(eq(uint, read_all(), 300));
	for (int n = 0; n < 30; n++)
		make(KIB + 1, "d/f%d", n * 10);
	distant_remount(&far, disk.path);
	made();
	unsigned items = distant_items(&far), fetches = distant_fetches(&far);

	for (int n = 0; n < 30; n++)
		cr_expect(eq(sz, read_file("d/f%d", n * 10), KIB + 1));
	cr_expect(eq(uint, distant_items(&far) - items, 30));
	cr_expect(eq(uint, distant_fetches(&far) - fetches, 1));
	distant_remount(&far, NULL);
	scratch_remove(&disk);
}

/* ---- Files next to the one that is read ---- */

/* Expects `text` at `offset` of a file. */
static void expect_at(const char *path, uint64_t offset, const char *text)
{
	struct inode *i = find(path);
	struct error e = { 0 };
	bool keep;
	size_t got;

	cr_assert(eq(int, cache_open(far.cache, NULL, i, O_RDONLY, &keep, &e), ERR_OK), "%s: %s",
		path, e.text);
	cr_assert(eq(int, cache_read(far.cache, NULL, i, offset, bytes, 4096, &got, &e), ERR_OK),
		"%s: %s", path, e.text);
	cr_expect(ge(sz, got, strlen(text)), "%s: ends before", path);
	cr_expect(not(memcmp(bytes, text, strlen(text))), "%s: other bytes", path);
	cache_close(far.cache, i);
	cache_forget(far.cache, i, 1);
}

static void write_at(const char *path, uint64_t offset, const char *text)
{
	int fd = openat(far.scratch.fd, path, O_WRONLY);

	cr_assert(eq(long, pwrite(fd, text, strlen(text), (off_t)offset), (long)strlen(text)));
	close(fd);
}

Test(bulk, an_index_brings_the_ends_of_what_it_is_of)
{
	make(60 * KIB, "a.idx");
	make(8000 * KIB, "a.pack");
	make(8000 * KIB, "b.pack");
	write_at("a.pack", 7900 * KIB, "near the end");
	made();
	read_file("a.idx");
	distant_await_items(&far, 3);
	expect_at("a.pack", 0, "a.pack");
	expect_at("a.pack", 7900 * KIB, "near the end");
	expect_at("a.pack", 8000 * KIB, "");
	cr_expect(eq(uint, distant_fetches(&far), 1));
	expect_at("a.pack", 4000 * KIB, "");
	expect_at("b.pack", 0, "b.pack");
	cr_expect(eq(uint, distant_fetches(&far), 3));
}

/*
 * The latest commit is in the newest pack: git needs its index and its ends for almost every
 * command.
 */
Test(bulk, a_repository_brings_what_finds_its_latest_commit)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	make(30, ".git/HEAD");
	for (char pack = 'a'; pack <= 'c'; pack++) {
		make(60 * KIB, ".git/objects/pack/%c.idx", pack);
		make(8000 * KIB, ".git/objects/pack/%c.pack", pack);
	}
	make(KIB, ".git/objects/pack/b.rev");
	for (int n = 0; n < 100; n++)
		make(KIB, ".git/objects/ab/%d", n);
	utimensat(far.scratch.fd, ".git/objects/pack/a.idx", long_ago, 0);
	utimensat(far.scratch.fd, ".git/objects/pack/c.idx", long_ago, 0);
	write_at(".git/objects/pack/b.pack", 7900 * KIB, "near the end");
	made();
	list_all();
	read_file(".git/HEAD");
	cr_expect(eq(sz, read_file(".git/objects/pack/b.idx"), 60 * KIB));
	cr_expect(eq(sz, read_file(".git/objects/pack/b.rev"), KIB));
	expect_at(".git/objects/pack/b.pack", 0, ".git/objects/pack/b.pack");
	expect_at(".git/objects/pack/b.pack", 7900 * KIB, "near the end");
	cr_expect(eq(uint, distant_fetches(&far), 1));
	expect_at(".git/objects/pack/a.pack", 0, ".git/objects/pack/a.pack");
	cr_expect(eq(uint, distant_fetches(&far), 2));
}

Test(bulk, a_reader_of_one_file_of_each_directory_gets_its_neighbours)
{
	for (int d = 0; d < 3; d++) {
		make(KIB, "d%d/part.h", d);
		make(KIB, "d%d/part.c", d);
		make(KIB, "d%d/other", d);
	}
	for (int n = 0; n < 20; n++)
		make(KIB, "d0/f%d", n);
	made();
	for (int d = 0; d < 3; d++)
		read_file("d%d/part.c", d);
	distant_await_items(&far, 23 + 2 + 2);
	cr_expect(eq(uint, distant_items(&far), 23 + 2 + 2));
}

Test(bulk, the_ends_of_a_file_that_grows_are_fetched_again)
{
	make(KIB, "a.idx");
	make(8000 * KIB, "a.pack");
	made();
	read_file("a.idx");
	distant_await_items(&far, 3);
	write_at("a.pack", 8000 * KIB, "more");
	cache_invalidate_all(far.cache);
	expect_at("a.pack", 8000 * KIB, "more");
}

/* ---- A file that others changed ---- */

Test(bulk, what_changed_in_the_sandbox_is_fetched_again)
{
	make(100, "d/a");
	make(100, "d/b");
	made();
	read_file("d/a");
	scratch_write_text(&far.scratch, "d/b", "d/b, but new");
	cache_invalidate_all(far.cache);
	cr_expect(eq(sz, read_file("d/b"), 12));
	cr_expect(not(memcmp(bytes, "d/b, but new", 12)));
}

Test(bulk, a_file_that_changes_before_its_turn_is_read_as_it_is)
{
	for (int n = 0; n < 10; n++)
		make(5000, "f%d", n);
	made();
	far.changing = "f9";
	far.change_after = 1;
	for (int n = 0; n < 9; n++)
		read_file("f%d", n);
	size_t got;

	cr_assert(eq(int, try_read(NULL, "f9", &got), ERR_OK));
	cr_expect(eq(sz, got, 5000));
	cr_expect(not(memcmp(bytes, "NEW", 3)));
}

Test(bulk, a_file_that_grew_is_read_whole)
{
	make(100, "d/a");
	made();
	struct inode *i = find("d/a");

	make(9000, "d/a");
	cr_expect(eq(sz, read_file("d/a"), 9000));
	cr_expect(eq(uint, distant_fetches(&far), 1));
	cache_forget(far.cache, i, 1);
}

Test(bulk, a_local_write_makes_what_was_fetched_worthless)
{
	make(100, "a");
	make(100, "b");
	made();
	read_file("a");
	struct inode *i = distant_open(&far, "b");
	struct error e = { 0 };
	size_t got;

	distant_write(&far, i, 10, "mine");
	cr_assert(eq(int, cache_read(far.cache, NULL, i, 0, bytes, 100, &got, &e), ERR_OK));
	cr_expect(not(memcmp(bytes + 10, "mine", 4)));
	distant_close(&far, i);
}

Test(bulk, a_file_that_went_fails_alone)
{
	size_t got;

	for (int n = 0; n < 5; n++)
		make(100, "d/f%d", n);
	made();
	struct inode *gone = find("d/f3");

	cr_assert(not(unlinkat(far.scratch.fd, "d/f3", 0)));
	read_file("d/f0");
	read_file("d/f4");
	cr_expect(eq(uint, distant_fetches(&far), 1));
	cr_expect(ne(int, read_inode(NULL, gone, &got, NULL), ERR_OK));
	cache_forget(far.cache, gone, 1);
}

/* ---- When a call fails, or is waited for in vain ---- */

Test(bulk, after_a_call_that_broke_off_every_file_is_read)
{
	for (int n = 0; n < 10; n++)
		make(5000, "f%d", n);
	made();
	far.break_after = 4;
	for (int n = 0; n < 10; n++)
		read_file("f%d", n);
}

Test(bulk, a_sandbox_that_stalls_is_given_up_once)
{
	size_t got;

	make(100, "f");
	made();
	far.hasty_ms = 50;
	distant_hold_fetches(&far, true);
	cr_expect(eq(int, try_read(NULL, "f", &got), ERR_TIMEOUT));
	cr_expect(eq(uint, distant_fetches(&far), 1));
}

Test(bulk, who_waits_for_a_file_can_be_killed)
{
	struct cancel cancel;
	struct call call = { .cancel = &cancel };
	size_t got;

	make(100, "f");
	made();
	struct inode *i = find("f");

	cancel_init(&cancel, NULL);
	distant_hold_fetches(&far, true);
	cancel_throw(&cancel);
	cr_expect(eq(
		int, cache_read(far.cache, &call, i, 0, bytes, 100, &got, NULL), ERR_INTERRUPTED));
	distant_hold_fetches(&far, false);
	cr_expect(eq(sz, read_file("f"), 100));
	cr_expect(eq(uint, distant_fetches(&far), 1));
	cancel_release(&cancel);
	cache_forget(far.cache, i, 1);
}

Test(bulk, memory_is_bounded)
{
	for (int n = 0; n < 1000; n++)
		make(100 * KIB, "d%d/f%d", n / 10, n % 10);
	made();
	long idle_kb = distant_peak_kb();

	cr_expect(eq(uint, read_all(), 1000));
	cr_expect(lt(long, distant_peak_kb() - idle_kb, 128 * 1024));
	cr_expect(le(uint, distant_fetches(&far), 12));
}
