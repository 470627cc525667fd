/* Operations by path on a file that is replaced at every moment. */
#include "cache/session/session.h"
#include "cache/lease/retry.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
#include "cache/metadata.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct distant far;
static const struct call asked = { .progress_ms = 60000, .asker = 4711 };

static void setup(void)
{
	distant_start_trusting(&far);
	scratch_write_text(&far.scratch, "f", "first");
	scratch_write_text(&far.scratch, "g", "of ours");
}

static void teardown(void)
{
	distant_stop(&far);
}

TestSuite(retry, .init = setup, .fini = teardown, .timeout = 300);

static struct inode *look_up_as(const struct call *call, const char *name)
{
	struct cache_entry entry = { 0 };
	struct error e = { 0 };
	int64_t negative_ms;

	cr_assert(eq(int,
			  cache_lookup(far.cache, call, cache_root(far.cache), name, &entry,
				  &negative_ms, &e),
			  ERR_OK),
		"%s", e.text);
	return entry.inode;
}

static struct inode *look_up(void)
{
	return look_up_as(&asked, "f");
}

/* Replaces the file by another one. The mount receives no event of that. */
static void replace(void)
{
	scratch_write_text(&far.scratch, "new", "other");
	cr_assert(eq(int, renameat(far.scratch.fd, "new", far.scratch.fd, "f"), 0));
}

static enum err open_as(const struct call *call, struct inode *i)
{
	bool keep_pages;
	enum err kind = cache_open(far.cache, call, i, O_RDONLY, &keep_pages, NULL);

	if (!kind)
		cache_close(far.cache, i);
	return kind;
}

/* `i` was replaced, and an open of it fails with ERR_STALE. */
static void fail_to_open(struct inode *i)
{
	tree_invalidate(far.cache->tree, i);
	cr_assert(eq(int, open_as(&asked, i), ERR_STALE));
}

static struct inode *look_up_again(void)
{
	struct inode *first = look_up();

	replace();
	fail_to_open(first);
	struct inode *second = look_up();

	cr_assert(second != first);
	return second;
}

Test(retry, a_file_is_opened_though_it_is_replaced_after_the_second_lookup_too)
{
	struct inode *i = look_up_again();

	replace();
	cr_expect(eq(int, open_as(&asked, i), ERR_OK));
}

Test(retry, a_file_that_was_not_looked_up_again_is_not_opened)
{
	struct inode *i = look_up();

	replace();
	fail_to_open(i);
	cr_expect(eq(int, open_as(&asked, i), ERR_STALE));
}

/*
 * Others remove the name while it is asked for. Answers about other names are overtaken by the end
 * of a command.
 */
static void lose_while_asked(struct distant *d, const struct list_request *request)
{
	const struct watch_event event = { .kind = WATCH_REMOVED, .path = "f" };

	if (strcmp(request->starts[0], "f"))
		cache_command_ended(d->cache);
	else
		tree_apply_event(d->cache->tree, &event);
}

Test(retry, a_file_is_opened_though_each_answer_of_the_second_lookup_is_overtaken)
{
	struct inode *first = look_up();

	replace();
	fail_to_open(first);
	far.meanwhile = lose_while_asked;
	struct inode *second = look_up();

	far.meanwhile = NULL;
	replace();
	cr_expect(eq(int, open_as(&asked, second), ERR_OK));
}

Test(retry, attributes_are_those_of_the_second_lookup)
{
	struct inode *i = look_up_again();
	AUTO_BUF struct buf names = BUF_INIT(1000);
	struct attr attr = { 0 };
	int64_t valid_ms;

	replace();
	tree_invalidate(far.cache->tree, i);
	cr_expect(eq(int, cache_attr(far.cache, &asked, i, &attr, &valid_ms, NULL), ERR_OK));
	cr_expect(eq(u64, attr.size, 5));
	cr_expect(eq(int, cache_xattr(far.cache, &asked, i, NULL, &names, NULL), ERR_OK));
	cr_expect(eq(sz, names.len, 0));
}

/*
 * Replaces the file by one with an extended attribute, which only a request to the sandbox shows.
 */
static void replace_with_xattr(const char *value)
{
	scratch_write_text(&far.scratch, "new", "other");
	int fd = openat(far.scratch.fd, "new", O_RDONLY);

	if (fsetxattr(fd, "user.v", value, strlen(value), 0))
		cr_skip_test("no extended attributes here");
	close(fd);
	cr_assert(eq(int, renameat(far.scratch.fd, "new", far.scratch.fd, "f"), 0));
}

Test(retry, extended_attributes_are_those_of_the_file_that_has_the_name_by_then)
{
	AUTO_BUF struct buf value = BUF_INIT(1000);
	struct inode *first = look_up();

	replace_with_xattr("1");
	fail_to_open(first);
	struct inode *second = look_up();

	replace_with_xattr("2");
	tree_invalidate(far.cache->tree, second);
	cr_expect(eq(int, cache_xattr(far.cache, &asked, second, "user.v", &value, NULL), ERR_OK));
	cr_expect(eq(sz, value.len, 1));
	cr_expect(eq(str, (char *)buf_text(&value), "2"));
}

Test(retry, a_second_try_is_one_try)
{
	struct inode *i = look_up_again();

	replace();
	cr_assert(eq(int, open_as(&asked, i), ERR_OK));
	fail_to_open(i);
}

Test(retry, a_second_try_belongs_to_one_thread)
{
	const struct call other = { .progress_ms = 60000, .asker = 4712 };
	struct inode *i = look_up_again();

	replace();
	tree_invalidate(far.cache->tree, i);
	cr_expect(eq(int, open_as(&other, i), ERR_STALE));
	cr_expect(eq(int, open_as(NULL, i), ERR_STALE));
	cr_expect(eq(int, open_as(&asked, i), ERR_OK));
}

Test(retry, what_a_rename_here_replaces_after_the_second_lookup_is_opened_and_read)
{
	struct inode *i = look_up_again(), *root = cache_root(far.cache);
	char text[16] = { 0 };
	bool keep_pages;
	size_t got;

	look_up_as(NULL, "g");
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "g", root, "f", 0, NULL), ERR_OK));
	cr_assert(eq(int, cache_open(far.cache, &asked, i, O_RDONLY, &keep_pages, NULL), ERR_OK));
	cr_expect(eq(
		int, cache_read(far.cache, NULL, i, 0, text, sizeof text - 1, &got, NULL), ERR_OK));
	cr_expect(eq(str, text, "other"));
	cache_close(far.cache, i);
	cr_expect(ne(ptr, look_up_as(NULL, "f"), i));
}

Test(retry, that_a_file_is_gone_is_for_a_lookup_to_say)
{
	struct inode *i = look_up();
	struct cache_entry entry = { 0 };
	int64_t negative_ms;

	cr_assert(eq(int, unlinkat(far.scratch.fd, "f", 0), 0));
	fail_to_open(i);
	cr_expect(eq(int,
		cache_lookup(
			far.cache, &asked, cache_root(far.cache), "f", &entry, &negative_ms, NULL),
		ERR_NOT_FOUND));
	cr_expect(eq(uint, far.cache->retries->count, 0));
}

Test(retry, more_threads_than_there_is_room_for_take_the_room_of_those_that_never_come_back)
{
	struct inode *i = look_up();

	replace();
	for (pid_t asker = 1; asker <= 2 * RETRIES_MAX; asker++) {
		const struct call call = { .progress_ms = 60000, .asker = asker };

		tree_invalidate(far.cache->tree, i);
		cr_assert(eq(int, open_as(&call, i), ERR_STALE));
	}
	cr_expect(eq(uint, far.cache->retries->count, RETRIES_MAX));
	fail_to_open(i);
	i = look_up();
	replace();
	cr_expect(eq(int, open_as(&asked, i), ERR_OK));
}
