#include "cache/contents.h"
#include "cache/names.h"
#include "providers/base/cleanup.h"
#include "tests/cache/explored.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(walk, .init = explored_setup, .fini = explored_teardown, .timeout = 300);

#define A_SECOND 1000

/*
 * Waits until the attributes of `i` have expired and were asked for again. Returns the time before
 * that request.
 */
static int64_t expire(struct inode *i)
{
	struct attr attr;
	int64_t valid_ms;

	for (;;) {
		unsigned before = explored.provider.lists;
		int64_t asked_ms = monotonic_ms();

		cr_assert(eq(
			int, cache_attr(explored.cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
		if (explored.provider.lists != before)
			return asked_ms;
		usleep(1000);
	}
}

/*
 * A busy machine may take longer than an answer is valid: then the test says nothing, and is done
 * again.
 */
static bool was_valid_since(int64_t asked_ms)
{
	return monotonic_ms() < asked_ms + A_SECOND;
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

	r->kind = cache_entries(explored.cache, &r->call, r->dir, &entries, &r->count, NULL);
	if (!r->kind)
		cache_entries_free(explored.cache, entries, r->count);
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
		AUTO_FREE char *name = explored_child_of("", 's', n);

		explored_make_dir(name);
		explored_make_tree(name, 1, 10);
	}
	explored_start(A_MINUTE);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 20 + 200 + 2000));
	cr_expect(le(uint, explored.provider.lists, 4));
	explored.provider.lists = 0;
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 20 + 200 + 2000));
	cr_expect(eq(uint, explored.provider.lists, 0), "asked again for what is believed");
}

Test(walk, a_tree_beyond_the_first_bound_is_one_call_more)
{
	explored_make_tree("", 3, 10);
	explored_start(A_MINUTE);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 1110 + 10000));
	cr_expect(le(uint, explored.provider.lists, 2));
	cr_expect(le(uint, explored.provider.entries, 1110 + 10000 + 10), "listed twice");
}

Test(walk, names_that_do_not_exist_cost_nothing_in_a_listed_directory)
{
	explored_make_dir("d");
	explored_make_files("d", 3);
	explored_start(A_MINUTE);
	explored_list_all(cache_root(explored.cache));
	explored.provider.lists = 0;
	cr_expect(eq(ptr, explored_find("nothing"), NULL));
	cr_expect(eq(ptr, explored_find("d/nothing"), NULL));
	cr_expect(eq(uint, explored.provider.lists, 0));
}

Test(walk, many_names_of_one_directory_are_two_calls)
{
	explored_make_dir("d");
	explored_make_dir("d/e");
	explored_make_files("d/e", 100);
	explored_start(A_MINUTE);
	struct inode *e = explored_find("d/e");

	explored.provider.lists = 0;
	cr_expect(ne(ptr, e, NULL));
	for (unsigned n = 0; n < 100; n++) {
		AUTO_FREE char *path = explored_child_of("d/e", 'f', n);

		cr_expect(ne(ptr, explored_find(path), NULL));
	}
	cr_expect(le(uint, explored.provider.lists, 2));
}

Test(walk, the_first_lookup_of_all_brings_the_whole_path)
{
	explored_make_dir("a");
	explored_make_dir("a/b");
	explored_make_dir("a/b/c");
	explored_make_file("a/b/c/d");
	explored_start(A_MINUTE);
	cr_expect(ne(ptr, explored_find("a/b/c/d"), NULL));
	cr_expect(eq(uint, explored.provider.lists, 1));
}

Test(walk, a_huge_directory_is_listed_alone)
{
	explored_make_files("", 4500);
	explored_make_dir("z");
	explored_start(A_MINUTE);
	cr_expect(eq(sz, explored_count_of(cache_root(explored.cache)), 4501));
	cr_expect(eq(uint, explored.provider.lists, 2));
	explored.provider.lists = 0;
	cr_expect(eq(sz, explored_count_of(cache_root(explored.cache)), 4501));
	cr_expect(eq(uint, explored.provider.lists, 0));
}

/* ---- Freshness ---- */

Test(walk, facts_from_connecting_are_not_asked_for_again)
{
	struct attr attr;
	int64_t valid_ms;

	explored_start(A_MINUTE);
	cr_expect(eq(int,
		cache_attr(
			explored.cache, NULL, cache_root(explored.cache), &attr, &valid_ms, NULL),
		ERR_OK));
	cr_expect(eq(uint, explored.provider.lists, 0));
}

Test(walk, a_deep_path_that_expired_is_two_calls)
{
	int64_t asked_ms;

	explored_make_dir("a");
	explored_make_dir("a/b");
	explored_make_dir("a/b/c");
	explored_make_file("a/b/c/d");
	explored_start(A_SECOND);
	explored_list_all(cache_root(explored.cache));
	do {
		asked_ms = expire(cache_root(explored.cache));
		explored.provider.lists = 0;
		cr_expect(ne(ptr, explored_find("a/b/c/d"), NULL));
	} while (!was_valid_since(asked_ms));
	cr_expect(le(uint, explored.provider.lists, 1), "the root was the first of the two");
}

Test(walk, what_others_change_appears_after_the_time)
{
	explored_make_dir("d");
	explored_make_files("d", 3);
	explored_start(BRIEF_MS);
	explored_list_all(cache_root(explored.cache));
	explored_make_file("d/new");
	explored_remove_path("d/f0", 0);
	for (size_t tries = 0; !explored_find("d/new") || explored_find("d/f0"); tries++) {
		cr_assert(lt(sz, tries, 60000), "never appears");
		usleep(1000);
	}
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 4));
}

static void know_attrs(struct inode *const *files, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		struct attr attr;
		int64_t valid_ms;

		cr_expect(
			eq(int, cache_attr(explored.cache, NULL, files[n], &attr, &valid_ms, NULL),
				ERR_OK));
	}
}

Test(walk, what_expired_is_refreshed_together)
{
	static struct inode *files[100];
	int64_t asked_ms;

	explored_make_dir("d");
	explored_make_files("d", 100);
	explored_start(A_SECOND);
	for (unsigned n = 0; n < 100; n++) {
		AUTO_FREE char *path = explored_child_of("d", 'f', n);

		files[n] = explored_find(path);
	}
	do {
		asked_ms = expire(files[0]);
		explored.provider.lists = 0;
		know_attrs(files, 100);
	} while (!was_valid_since(asked_ms));
	cr_expect(le(uint, explored.provider.lists, 2));
}

/* The answer about "d" was on its way from `held_ms` to `given_ms`, at least. */
static void expect_valid_by_its_time(int64_t held_ms, int64_t given_ms)
{
	const int64_t took_ms = given_ms - held_ms;
	/* No answer is valid for more than a minute. */
	const int64_t until_ms = held_ms + 10 * (took_ms < A_SECOND ? took_ms : A_SECOND);
	struct attr attr;
	int64_t valid_ms;

	cr_expect(eq(int,
		cache_attr(explored.cache, NULL, explored_find("d/f"), &attr, &valid_ms, NULL),
		ERR_OK));
	cr_expect(ge(i64, valid_ms, until_ms - monotonic_ms()));
	/* On a busy machine the validity may be over. */
	if (monotonic_ms() < until_ms)
		cr_expect(eq(uint, explored.provider.lists, 0));
}

Test(walk, an_answer_is_valid_ten_times_as_long_as_it_took)
{
	struct reader reader = { 0 };
	int64_t held_ms, given_ms;

	explored_make_dir("d");
	explored_make_file("d/f");
	explored_make_dir("e");
	explored_start(BRIEF_MS);
	counting_provider_close_gate(&explored.provider, "d");
	reader_start(&reader, cache_root(explored.cache));
	cr_expect(eq(sz, reader_end(&reader), 2));
	counting_provider_await_held(&explored.provider);
	struct inode *d = explored_find("d");

	held_ms = monotonic_ms();
	while (monotonic_ms() < held_ms + 500)
		usleep(10000);
	explored.provider.lists = 0;
	reader_start(&reader, d);
	explored_await_waiter(d);
	given_ms = monotonic_ms();
	counting_provider_open_gate(&explored.provider);
	cr_expect(eq(sz, reader_end(&reader), 1));
	expect_valid_by_its_time(held_ms, given_ms);
}

Test(walk, who_believes_nothing_gets_his_own_answer)
{
	explored_make_dir("d");
	explored_make_file("d/f");
	explored_start(0);
	cr_expect(eq(sz, explored_count_of(explored_find("d")), 1));
	explored_make_file("d/g");
	explored.provider.lists = 0;
	cr_expect(eq(sz, explored_count_of(explored_find("d")), 2));
	cr_expect(eq(uint, explored.provider.lists, 2), "a name and a directory");
}

/* ---- While a listing is under way ---- */

Test(walk, a_reader_does_not_wait_for_what_is_below)
{
	struct reader reader = { 0 };

	explored_make_dir("d");
	explored_make_files("d", 3);
	explored_start(A_MINUTE);
	counting_provider_close_gate(&explored.provider, "d");
	cr_expect(eq(sz, explored_count_of(cache_root(explored.cache)), 1));
	counting_provider_await_held(&explored.provider);
	struct inode *d = explored_find("d");

	reader_start(&reader, d);
	counting_provider_open_gate(&explored.provider);
	cr_expect(eq(sz, reader_end(&reader), 3));
	cr_expect(eq(uint, explored.provider.lists, 1),
		"two who want the same directory share its listing");
}

Test(walk, an_interrupted_reader_leaves_the_listing_to_the_others)
{
	struct reader first = { 0 }, second = { 0 };
	struct cancel cancel;

	cr_assert(eq(int, cancel_init(&cancel, NULL), ERR_OK));
	explored_make_files("", 3);
	explored_start(A_MINUTE);
	counting_provider_close_gate(&explored.provider, "");
	first.call.cancel = &cancel;
	reader_start(&first, cache_root(explored.cache));
	counting_provider_await_held(&explored.provider);
	reader_start(&second, cache_root(explored.cache));
	cancel_throw(&cancel);
	reader_end(&first);
	cr_expect(eq(int, first.kind, ERR_INTERRUPTED));
	counting_provider_open_gate(&explored.provider);
	cr_expect(eq(sz, reader_end(&second), 3));
	cr_expect(eq(uint, explored.provider.lists, 1));
	cancel_release(&cancel);
}

Test(walk, the_end_does_not_wait_for_a_listing)
{
	explored_make_dir("d");
	explored_start(A_MINUTE);
	counting_provider_close_gate(&explored.provider, "d");
	explored_count_of(cache_root(explored.cache));
	counting_provider_await_held(&explored.provider);
	/* The gate stays closed. */
	explored_end();
	cr_expect(eq(uint, explored.provider.held, 1));
	cr_expect(eq(uint, explored.provider.cancelled, 1));
}

Test(walk, own_changes_during_a_listing_are_kept)
{
	struct reader reader = { 0 };
	struct error e = { 0 };

	explored_make_dir("d");
	explored_make_files("d", 3);
	explored_start(A_MINUTE);
	counting_provider_close_gate(&explored.provider, "d");
	explored_count_of(cache_root(explored.cache));
	counting_provider_await_held(&explored.provider);
	struct inode *d = explored_find("d");

	explored_make(d, "own", CHANGE_CREATE);
	cr_expect(eq(int, cache_unlink(explored.cache, NULL, d, "f0", &e), ERR_OK), "%s", e.text);
	reader_start(&reader, d);
	counting_provider_open_gate(&explored.provider);
	cr_expect(eq(sz, reader_end(&reader), 3));
	cr_expect(ne(ptr, explored_find("d/own"), NULL));
	cr_expect(eq(ptr, explored_find("d/f0"), NULL));
}

Test(walk, a_directory_renamed_here_during_a_listing_keeps_its_entries)
{
	struct reader reader = { 0 };
	struct error e = { 0 };

	explored_make_dir("d");
	explored_make_files("d", 3);
	explored_start(A_MINUTE);
	counting_provider_close_gate(&explored.provider, "d");
	explored_count_of(cache_root(explored.cache));
	counting_provider_await_held(&explored.provider);
	struct inode *d = explored_find("d"), *root = cache_root(explored.cache);

	cr_expect(eq(int, cache_rename(explored.cache, NULL, root, "d", root, "e", 0, &e), ERR_OK),
		"%s", e.text);
	reader_start(&reader, d);
	counting_provider_open_gate(&explored.provider);
	cr_expect(eq(sz, reader_end(&reader), 3));
	cr_expect(eq(ptr, explored_find("e"), d));
	cr_expect(eq(ptr, explored_find("d"), NULL));
	cr_expect(eq(sz, explored_list_all(root), 4));
}

Test(walk, a_directory_removed_by_others_during_a_listing_is_gone)
{
	struct reader reader = { 0 };

	explored_make_dir("d");
	explored_make_dir("e");
	explored_make_file("e/f");
	explored_start(BRIEF_MS);
	counting_provider_close_gate(&explored.provider, "d");
	explored_count_of(cache_root(explored.cache));
	counting_provider_await_held(&explored.provider);
	struct inode *d = explored_find("d");

	explored_remove_path("d", AT_REMOVEDIR);
	reader_start(&reader, d);
	counting_provider_open_gate(&explored.provider);
	reader_end(&reader);
	cr_expect(any(eq(int, reader.kind, ERR_STALE), eq(int, reader.kind, ERR_NOT_FOUND)));
	cr_expect(ne(ptr, explored_find("e/f"), NULL));
}

Test(walk, a_directory_replaced_by_a_file_is_a_file)
{
	struct attr attr;
	int64_t valid_ms;

	explored_make_dir("d");
	explored_make_file("d/f");
	explored_start(BRIEF_MS);
	counting_provider_close_gate(&explored.provider, "d");
	explored_count_of(cache_root(explored.cache));
	counting_provider_await_held(&explored.provider);
	explored_remove_path("d/f", 0);
	explored_remove_path("d", AT_REMOVEDIR);
	explored_make_file("d");
	counting_provider_open_gate(&explored.provider);
	for (size_t tries = 0;; tries++) {
		struct inode *d = explored_find("d");

		if (d && !cache_attr(explored.cache, NULL, d, &attr, &valid_ms, NULL) &&
			S_ISREG(attr.mode))
			break;
		cr_assert(lt(sz, tries, 60000), "never appears");
		usleep(1000);
	}
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 1));
}

/* ---- Failures ---- */

static int list_with_one_closed(struct shown *s)
{
	struct error e = { 0 };
	size_t count;
	struct tree_entry *entries;

	(void)s;
	explored_start(A_MINUTE);
	bool ok = explored_list_all(explored_find("open")) == 3 &&
		explored_count_of(cache_root(explored.cache)) == 2 &&
		explored.provider.lists == 1 &&
		cache_entries(explored.cache, NULL, explored_find("closed"), &entries, &count,
			&e) == ERR_DENIED;

	cache_free(explored.cache);
	explored.cache = NULL;
	return ok ? 0 : 1;
}

Test(walk, a_directory_that_may_not_be_read_leaves_the_others)
{
	explored_make_dir("closed");
	fchmodat(explored.shown.scratch.fd, "tree/closed", 0, 0);
	explored_make_dir("open");
	explored_make_files("open", 3);
	shown_as_nobody(&explored.shown, list_with_one_closed);
}

Test(walk, an_error_of_the_call_reaches_who_asked)
{
	struct tree_entry *entries;
	size_t count;
	struct error e = { 0 };

	explored_start(A_MINUTE);
	explored.provider.fails_with = ERR_UNREACHABLE;
	cr_expect(eq(int,
		cache_entries(
			explored.cache, NULL, cache_root(explored.cache), &entries, &count, &e),
		ERR_UNREACHABLE));
	cr_expect(eq(str, e.text, "as the test wants it"));
	explored.provider.fails_with = ERR_OK;
	cr_expect(eq(sz, explored_count_of(cache_root(explored.cache)), 0));
}

/* ---- Many at once ---- */

#define READERS 8

static void *walk_about(void *context)
{
	unsigned seed = (unsigned)(uintptr_t)context;

	for (unsigned n = 0; n < 60; n++) {
		unsigned d = (unsigned)rand_r(&seed) % 10;
		AUTO_FREE char *path = explored_text("d%u/d%u", d, (d + n) % 10);

		if (n % 3 == 0)
			explored_find(path);
		else if (n % 3 == 1)
			explored_count_of(cache_root(explored.cache));
		else
			cache_invalidate_all(explored.cache);
	}
	return NULL;
}

Test(walk, many_readers_see_one_tree)
{
	pthread_t threads[READERS];

	explored_make_tree("", 2, 2);
	explored_start(5);
	for (uintptr_t n = 0; n < READERS; n++)
		pthread_create(&threads[n], NULL, walk_about, (void *)n);
	for (size_t n = 0; n < READERS; n++)
		pthread_join(threads[n], NULL);
	cr_expect(eq(sz, explored_list_all(cache_root(explored.cache)), 110 + 200));
}
