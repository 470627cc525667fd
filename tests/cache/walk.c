#include "cache/contents.h"
#include "cache/names.h"
#include "providers/base/cleanup.h"
#include "tests/support/counting_provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define A_MINUTE 60000
#define BRIEF_MS 30

static struct shown shown;
static struct counting_provider provider;
static struct cache *cache;

static void setup(void)
{
	shown_make(&shown, false);
	counting_provider_init(&provider, &shown);
	cache = NULL;
}

static void teardown(void)
{
	cache_free(cache);
	counting_provider_release(&provider);
	shown_remove(&shown);
}

TestSuite(walk, .init = setup, .fini = teardown, .timeout = 120);

/* ---- The tree in the sandbox ---- */

__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
{
	va_list arguments;
	char *made;

	va_start(arguments, format);
	cr_assert(ge(int, vasprintf(&made, format, arguments), 0));
	va_end(arguments);
	return made;
}

static char *child_of(const char *dir, char letter, unsigned n)
{
	return text("%s%s%c%u", dir, *dir ? "/" : "", letter, n);
}

static void make_file(const char *path)
{
	AUTO_FREE char *in_tree = text("tree/%s", path);

	scratch_write_text(&shown.scratch, in_tree, "text");
}

static void make_dir(const char *path)
{
	AUTO_FREE char *in_tree = text("tree/%s", path);

	scratch_mkdir(&shown.scratch, in_tree, 0755);
}

static void make_files(const char *dir, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		AUTO_FREE char *path = child_of(dir, 'f', n);

		make_file(path);
	}
}

/* Ten directories of ten directories each, and so on, with `files` in each of the last ones. */
static void make_tree(const char *top, unsigned levels, unsigned files)
{
	if (!levels) {
		make_files(top, files);
		return;
	}
	for (unsigned n = 0; n < 10; n++) {
		AUTO_FREE char *path = child_of(top, 'd', n);

		make_dir(path);
		make_tree(path, levels - 1, files);
	}
}

static void remove_path(const char *path, int flags)
{
	AUTO_FREE char *in_tree = text("tree/%s", path);

	cr_assert(eq(int, unlinkat(shown.scratch.fd, in_tree, flags), 0), "%s", path);
}

/* ---- The mount's side ---- */

static void start(int64_t believed_ms)
{
	const struct cache_options options = { .attr_ms = believed_ms,
		.entry_ms = believed_ms,
		.progress_ms = 20000,
		.is_remote = true };
	struct error e = { 0 };

	cr_assert(eq(int, cache_new(&cache, &provider.base, &options, NULL, &e), ERR_OK), "%s",
		e.text);
	provider.lists = 0;
	provider.entries = 0;
}

/* The inode that `path` leads to, by one lookup for each name; NULL: there is none. Nobody forgets it. */
static struct inode *find(const char *path)
{
	AUTO_FREE char *own = text("%s", path);
	char *rest = own;
	struct inode *i = cache_root(cache);

	for (char *name; i && (name = strsep(&rest, "/"));) {
		struct cache_entry entry;
		struct error e = { 0 };
		int64_t negative_ms;
		enum err kind = cache_lookup(cache, NULL, i, name, &entry, &negative_ms, &e);

		cr_assert(kind == ERR_OK || kind == ERR_NOT_FOUND, "%s: %s", path, e.text);
		i = kind ? NULL : entry.inode;
	}
	return i;
}

/* How many entries `dir` has. */
static size_t count_of(struct inode *dir)
{
	struct tree_entry *entries;
	size_t count;
	struct error e = { 0 };

	cr_assert(eq(int, cache_entries(cache, NULL, dir, &entries, &count, &e), ERR_OK), "%s",
		e.text);
	cache_entries_free(cache, entries, count);
	return count;
}

/* As `ls -lR` does it: returns how many entries there are. */
static size_t list_all(struct inode *dir)
{
	struct tree_entry *entries;
	size_t count, below = 0;
	struct error e = { 0 };

	cr_assert(eq(int, cache_entries(cache, NULL, dir, &entries, &count, &e), ERR_OK), "%s",
		e.text);
	for (size_t n = 0; n < count; n++) {
		struct attr attr;
		int64_t valid_ms;

		cr_expect(eq(int, cache_attr(cache, NULL, entries[n].inode, &attr, &valid_ms, &e),
			ERR_OK));
		if (S_ISDIR(attr.mode))
			below += list_all(entries[n].inode);
	}
	cache_entries_free(cache, entries, count);
	return count + below;
}

/* Until what was learned of `i` so far is believed no more, and has been asked for again. */
static void expire(struct inode *i)
{
	struct attr attr;
	int64_t valid_ms;

	for (;;) {
		unsigned before = provider.lists;

		cr_assert(eq(int, cache_attr(cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
		if (provider.lists != before)
			return;
		usleep(1000);
	}
}

static struct inode *make(struct inode *dir, const char *name, enum change_op op)
{
	struct making making = { .op = op, .mode = 0755 };
	struct cache_entry entry;
	struct error e = { 0 };

	cr_assert(eq(int, cache_make(cache, NULL, dir, name, &making, &entry, &e), ERR_OK), "%s",
		e.text);
	return entry.inode;
}

/* A reader of one directory in a thread of its own. */
struct reader {
	pthread_t thread;
	struct inode *dir;
	struct call call;
	size_t count;
	enum err kind;
};

static void *read_dir(void *context)
{
	struct reader *r = context;
	struct tree_entry *entries;

	r->kind = cache_entries(cache, &r->call, r->dir, &entries, &r->count, NULL);
	if (!r->kind)
		cache_entries_free(cache, entries, r->count);
	return NULL;
}

static void reader_start(struct reader *r, struct inode *dir)
{
	r->dir = dir;
	cr_assert(eq(int, pthread_create(&r->thread, NULL, read_dir, r), 0));
}

static size_t reader_end(struct reader *r)
{
	pthread_join(r->thread, NULL);
	return r->count;
}

/* ---- How many calls ---- */

Test(walk, two_thousand_files_in_two_hundred_directories_are_few_calls)
{
	for (unsigned n = 0; n < 20; n++) {
		AUTO_FREE char *name = child_of("", 's', n);

		make_dir(name);
		make_tree(name, 1, 10);
	}
	start(A_MINUTE);
	cr_expect(eq(sz, list_all(cache_root(cache)), 20 + 200 + 2000));
	cr_expect(le(uint, provider.lists, 4));
	provider.lists = 0;
	cr_expect(eq(sz, list_all(cache_root(cache)), 20 + 200 + 2000));
	cr_expect(eq(uint, provider.lists, 0), "asked again for what is believed");
}

Test(walk, a_tree_beyond_the_first_bound_is_one_call_more)
{
	make_tree("", 3, 10);
	start(A_MINUTE);
	cr_expect(eq(sz, list_all(cache_root(cache)), 1110 + 10000));
	cr_expect(le(uint, provider.lists, 2));
	cr_expect(le(uint, provider.entries, 1110 + 10000 + 10), "listed twice");
}

Test(walk, names_that_do_not_exist_cost_nothing_in_a_listed_directory)
{
	make_dir("d");
	make_files("d", 3);
	start(A_MINUTE);
	list_all(cache_root(cache));
	provider.lists = 0;
	cr_expect(eq(ptr, find("nothing"), NULL));
	cr_expect(eq(ptr, find("d/nothing"), NULL));
	cr_expect(eq(uint, provider.lists, 0));
}

Test(walk, many_names_of_one_directory_are_two_calls)
{
	make_dir("d");
	make_dir("d/e");
	make_files("d/e", 100);
	start(A_MINUTE);
	struct inode *e = find("d/e");

	provider.lists = 0;
	cr_expect(ne(ptr, e, NULL));
	for (unsigned n = 0; n < 100; n++) {
		AUTO_FREE char *path = child_of("d/e", 'f', n);

		cr_expect(ne(ptr, find(path), NULL));
	}
	cr_expect(le(uint, provider.lists, 2));
}

Test(walk, the_first_lookup_of_all_brings_the_whole_path)
{
	make_dir("a");
	make_dir("a/b");
	make_dir("a/b/c");
	make_file("a/b/c/d");
	start(A_MINUTE);
	cr_expect(ne(ptr, find("a/b/c/d"), NULL));
	cr_expect(eq(uint, provider.lists, 1));
}

Test(walk, a_huge_directory_is_listed_alone)
{
	make_files("", 4500);
	make_dir("z");
	start(A_MINUTE);
	cr_expect(eq(sz, count_of(cache_root(cache)), 4501));
	cr_expect(eq(uint, provider.lists, 2));
	provider.lists = 0;
	cr_expect(eq(sz, count_of(cache_root(cache)), 4501));
	cr_expect(eq(uint, provider.lists, 0));
}

/* ---- Freshness ---- */

Test(walk, what_connecting_told_is_not_asked_again)
{
	struct attr attr;
	int64_t valid_ms;

	start(A_MINUTE);
	cr_expect(eq(
		int, cache_attr(cache, NULL, cache_root(cache), &attr, &valid_ms, NULL), ERR_OK));
	cr_expect(eq(uint, provider.lists, 0));
}

Test(walk, a_deep_path_that_expired_is_two_calls)
{
	make_dir("a");
	make_dir("a/b");
	make_dir("a/b/c");
	make_file("a/b/c/d");
	start(A_MINUTE / 60);
	list_all(cache_root(cache));
	expire(cache_root(cache));
	provider.lists = 0;
	cr_expect(ne(ptr, find("a/b/c/d"), NULL));
	cr_expect(le(uint, provider.lists, 1), "the root was the first of the two");
}

Test(walk, what_others_change_appears_after_the_time)
{
	make_dir("d");
	make_files("d", 3);
	start(BRIEF_MS);
	list_all(cache_root(cache));
	make_file("d/new");
	remove_path("d/f0", 0);
	for (size_t tries = 0; !find("d/new") || find("d/f0"); tries++) {
		cr_assert(lt(sz, tries, 10000), "never appears");
		usleep(1000);
	}
	cr_expect(eq(sz, list_all(cache_root(cache)), 4));
}

Test(walk, what_expired_is_refreshed_together)
{
	static struct inode *files[100];

	make_dir("d");
	make_files("d", 100);
	start(A_MINUTE / 60);
	for (unsigned n = 0; n < 100; n++) {
		AUTO_FREE char *path = child_of("d", 'f', n);

		files[n] = find(path);
	}
	expire(files[0]);
	provider.lists = 0;
	for (unsigned n = 0; n < 100; n++) {
		struct attr attr;
		int64_t valid_ms;

		cr_expect(
			eq(int, cache_attr(cache, NULL, files[n], &attr, &valid_ms, NULL), ERR_OK));
	}
	cr_expect(le(uint, provider.lists, 2));
}

Test(walk, an_answer_is_believed_ten_times_as_long_as_it_took)
{
	struct reader reader = { 0 };
	struct attr attr;
	int64_t valid_ms, begun_ms;

	make_dir("d");
	make_file("d/f");
	make_dir("e");
	start(BRIEF_MS);
	counting_provider_close_gate(&provider, "d");
	begun_ms = monotonic_ms();
	reader_start(&reader, cache_root(cache));
	cr_expect(eq(sz, reader_end(&reader), 2));
	counting_provider_await_held(&provider);
	struct inode *d = find("d");

	while (monotonic_ms() < begun_ms + 500)
		usleep(10000);
	provider.lists = 0;
	reader_start(&reader, d);
	counting_provider_open_gate(&provider);
	cr_expect(eq(sz, reader_end(&reader), 1));
	cr_expect(eq(int, cache_attr(cache, NULL, find("d/f"), &attr, &valid_ms, NULL), ERR_OK));
	cr_expect(gt(long, (long)valid_ms, 2000));
	cr_expect(eq(uint, provider.lists, 0));
}

Test(walk, who_believes_nothing_gets_his_own_answer)
{
	make_dir("d");
	make_file("d/f");
	start(0);
	cr_expect(eq(sz, count_of(find("d")), 1));
	make_file("d/g");
	provider.lists = 0;
	cr_expect(eq(sz, count_of(find("d")), 2));
	cr_expect(eq(uint, provider.lists, 2), "a name and a directory");
}

/* ---- While a listing is under way ---- */

Test(walk, a_reader_does_not_wait_for_what_is_below)
{
	struct reader reader = { 0 };

	make_dir("d");
	make_files("d", 3);
	start(A_MINUTE);
	counting_provider_close_gate(&provider, "d");
	cr_expect(eq(sz, count_of(cache_root(cache)), 1));
	counting_provider_await_held(&provider);
	struct inode *d = find("d");

	reader_start(&reader, d);
	counting_provider_open_gate(&provider);
	cr_expect(eq(sz, reader_end(&reader), 3));
	cr_expect(eq(uint, provider.lists, 1), "two who want the same directory share its listing");
}

Test(walk, an_interrupted_reader_leaves_the_listing_to_the_others)
{
	struct reader first = { 0 }, second = { 0 };
	struct cancel cancel;

	cr_assert(eq(int, cancel_init(&cancel, NULL), ERR_OK));
	make_files("", 3);
	start(A_MINUTE);
	counting_provider_close_gate(&provider, "");
	first.call.cancel = &cancel;
	reader_start(&first, cache_root(cache));
	counting_provider_await_held(&provider);
	reader_start(&second, cache_root(cache));
	cancel_throw(&cancel);
	reader_end(&first);
	cr_expect(eq(int, first.kind, ERR_INTERRUPTED));
	counting_provider_open_gate(&provider);
	cr_expect(eq(sz, reader_end(&second), 3));
	cr_expect(eq(uint, provider.lists, 1));
	cancel_release(&cancel);
}

Test(walk, the_end_does_not_wait_for_a_listing)
{
	make_dir("d");
	start(A_MINUTE);
	counting_provider_close_gate(&provider, "d");
	count_of(cache_root(cache));
	counting_provider_await_held(&provider);
	cache_free(cache);
	cache = NULL;
}

Test(walk, own_changes_during_a_listing_are_kept)
{
	struct reader reader = { 0 };
	struct error e = { 0 };

	make_dir("d");
	make_files("d", 3);
	start(A_MINUTE);
	counting_provider_close_gate(&provider, "d");
	count_of(cache_root(cache));
	counting_provider_await_held(&provider);
	struct inode *d = find("d");

	make(d, "own", CHANGE_CREATE);
	cr_expect(eq(int, cache_unlink(cache, NULL, d, "f0", &e), ERR_OK), "%s", e.text);
	reader_start(&reader, d);
	counting_provider_open_gate(&provider);
	cr_expect(eq(sz, reader_end(&reader), 3));
	cr_expect(ne(ptr, find("d/own"), NULL));
	cr_expect(eq(ptr, find("d/f0"), NULL));
}

Test(walk, a_directory_renamed_here_during_a_listing_keeps_its_entries)
{
	struct reader reader = { 0 };
	struct error e = { 0 };

	make_dir("d");
	make_files("d", 3);
	start(A_MINUTE);
	counting_provider_close_gate(&provider, "d");
	count_of(cache_root(cache));
	counting_provider_await_held(&provider);
	struct inode *d = find("d"), *root = cache_root(cache);

	cr_expect(eq(int, cache_rename(cache, NULL, root, "d", root, "e", 0, &e), ERR_OK), "%s",
		e.text);
	reader_start(&reader, d);
	counting_provider_open_gate(&provider);
	cr_expect(eq(sz, reader_end(&reader), 3));
	cr_expect(eq(ptr, find("e"), d));
	cr_expect(eq(ptr, find("d"), NULL));
	cr_expect(eq(sz, list_all(root), 4));
}

Test(walk, a_directory_removed_by_others_during_a_listing_is_gone)
{
	struct reader reader = { 0 };

	make_dir("d");
	make_dir("e");
	make_file("e/f");
	start(BRIEF_MS);
	counting_provider_close_gate(&provider, "d");
	count_of(cache_root(cache));
	counting_provider_await_held(&provider);
	struct inode *d = find("d");

	remove_path("d", AT_REMOVEDIR);
	reader_start(&reader, d);
	counting_provider_open_gate(&provider);
	reader_end(&reader);
	cr_expect(any(eq(int, reader.kind, ERR_STALE), eq(int, reader.kind, ERR_NOT_FOUND)));
	cr_expect(ne(ptr, find("e/f"), NULL));
}

Test(walk, a_directory_replaced_by_a_file_is_a_file)
{
	struct attr attr;
	int64_t valid_ms;

	make_dir("d");
	make_file("d/f");
	start(BRIEF_MS);
	counting_provider_close_gate(&provider, "d");
	count_of(cache_root(cache));
	counting_provider_await_held(&provider);
	remove_path("d/f", 0);
	remove_path("d", AT_REMOVEDIR);
	make_file("d");
	counting_provider_open_gate(&provider);
	for (size_t tries = 0;; tries++) {
		struct inode *d = find("d");

		if (d && !cache_attr(cache, NULL, d, &attr, &valid_ms, NULL) && S_ISREG(attr.mode))
			break;
		cr_assert(lt(sz, tries, 10000), "never appears");
		usleep(1000);
	}
	cr_expect(eq(sz, list_all(cache_root(cache)), 1));
}

/* ---- What goes wrong ---- */

static int list_with_one_closed(struct shown *s)
{
	struct error e = { 0 };
	size_t count;
	struct tree_entry *entries;

	(void)s;
	start(A_MINUTE);
	bool ok = list_all(find("open")) == 3 && count_of(cache_root(cache)) == 2 &&
		provider.lists == 1 &&
		cache_entries(cache, NULL, find("closed"), &entries, &count, &e) == ERR_DENIED;

	cache_free(cache);
	cache = NULL;
	return ok ? 0 : 1;
}

Test(walk, a_directory_that_may_not_be_read_leaves_the_others)
{
	make_dir("closed");
	fchmodat(shown.scratch.fd, "tree/closed", 0, 0);
	make_dir("open");
	make_files("open", 3);
	shown_as_nobody(&shown, list_with_one_closed);
}

Test(walk, an_error_of_the_call_reaches_who_asked)
{
	struct tree_entry *entries;
	size_t count;
	struct error e = { 0 };

	start(A_MINUTE);
	provider.fails_with = ERR_UNREACHABLE;
	cr_expect(eq(int, cache_entries(cache, NULL, cache_root(cache), &entries, &count, &e),
		ERR_UNREACHABLE));
	cr_expect(eq(str, e.text, "as the test wants it"));
	provider.fails_with = ERR_OK;
	cr_expect(eq(sz, count_of(cache_root(cache)), 0));
}

/* ---- Many at once ---- */

#define READERS 8

static void *walk_about(void *context)
{
	unsigned seed = (unsigned)(uintptr_t)context;

	for (unsigned n = 0; n < 200; n++) {
		unsigned d = (unsigned)rand_r(&seed) % 10;
		AUTO_FREE char *path = text("d%u/d%u", d, (d + n) % 10);

		if (n % 3 == 0)
			find(path);
		else if (n % 3 == 1)
			count_of(cache_root(cache));
		else
			cache_doubt_all(cache);
	}
	return NULL;
}

Test(walk, many_readers_see_one_tree)
{
	pthread_t threads[READERS];

	make_tree("", 2, 5);
	start(5);
	for (uintptr_t n = 0; n < READERS; n++)
		pthread_create(&threads[n], NULL, walk_about, (void *)n);
	for (size_t n = 0; n < READERS; n++)
		pthread_join(threads[n], NULL);
	cr_expect(eq(sz, list_all(cache_root(cache)), 110 + 500));
}
