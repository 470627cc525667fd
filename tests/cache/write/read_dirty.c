#include "tests/cache/distant.h"

#include "cache/session/session.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/contents.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

/* Nothing reaches the sandbox in these tests: bytes that are read do not come from there. */
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

TestSuite(writeback_read, .init = setup, .fini = teardown, .timeout = 300);

static void set_size(struct inode *i, uint64_t size)
{
	const struct change what = { .set = SET_SIZE, .size = size };

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &what, true, NULL), ERR_OK));
}

/*
 * The text that writeback_read() serves of the file from `offset` on, allocated; NULL: some of it
 * is not served.
 */
static char *served(struct inode *i, uint64_t offset, size_t len)
{
	char *text = calloc(1, len + 1);
	bool is_served;
	size_t got;

	cr_assert(eq(int,
		writeback_read(far.cache->writeback, i, offset, text, len, &got, &is_served, NULL),
		ERR_OK));
	if (is_served)
		return text;
	cr_expect(eq(sz, got, 0));
	free(text);
	return NULL;
}

static void expect_served(struct inode *i, uint64_t offset, size_t len, const char *wanted)
{
	AUTO_FREE char *text = served(i, offset, len);

	cr_assert(ne(ptr, text, NULL));
	cr_expect(eq(str, text, (char *)wanted));
}

/* A file of the sandbox's own that no pending change is about. */
static struct inode *there(const char *name, const char *text)
{
	struct inode *i = distant_make(&far, name);

	distant_write(&far, i, 0, text);
	cr_assert(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	return i;
}

Test(writeback_read, a_file_made_here_is_read_without_the_sandbox)
{
	distant_hold_applies(&far, true);
	struct inode *i = distant_make(&far, "new");
	char text[16] = { 0 };
	size_t got;

	distant_write(&far, i, 0, "hello");
	cr_assert(
		eq(int, cache_read(far.cache, NULL, i, 1, text, sizeof text, &got, NULL), ERR_OK));
	cr_expect(eq(str, text, "ello"));
	cr_expect(eq(sz, got, 4));
	cr_expect(eq(uint, distant_fetches(&far), 0));
	distant_close(&far, i);
}

Test(writeback_read, an_empty_file_made_here_ends_at_once)
{
	distant_hold_applies(&far, true);
	struct inode *i = distant_make(&far, "new");

	expect_served(i, 0, 8, "");
	expect_served(i, 100, 8, "");
	distant_close(&far, i);
}

Test(writeback_read, what_was_never_written_is_zero)
{
	distant_hold_applies(&far, true);
	struct inode *i = distant_make(&far, "new");

	distant_write(&far, i, 4, "end");
	AUTO_FREE char *text = served(i, 0, 16);

	cr_assert(ne(ptr, text, NULL));
	cr_expect(eq(int, memcmp(text, "\0\0\0\0end", 8), 0));
	distant_close(&far, i);
}

Test(writeback_read, a_younger_write_lies_over_an_older_one)
{
	struct inode *i = there("f", "0123456789");

	distant_hold_applies(&far, true);
	distant_write(&far, i, 2, "abcdef");
	distant_write(&far, i, 4, "XY");
	expect_served(i, 2, 6, "abXYef");
	expect_served(i, 5, 2, "Ye");
	distant_close(&far, i);
}

Test(writeback_read, what_the_sandbox_has_a_part_of_is_not_served)
{
	struct inode *i = there("f", "0123456789");

	distant_hold_applies(&far, true);
	distant_write(&far, i, 2, "ab");
	distant_write(&far, i, 7, "cd");
	cr_expect(eq(ptr, served(i, 0, 4), NULL));
	cr_expect(eq(ptr, served(i, 2, 3), NULL));
	cr_expect(eq(ptr, served(i, 2, 7), NULL));
	distant_close(&far, i);
}

Test(writeback_read, an_emptied_file_is_new_from_its_end_on)
{
	struct inode *i = there("f", "0123456789");

	distant_hold_applies(&far, true);
	set_size(i, 3);
	cr_expect(eq(ptr, served(i, 0, 3), NULL));
	set_size(i, 0);
	expect_served(i, 0, 10, "");
	distant_write(&far, i, 0, "new");
	expect_served(i, 0, 10, "new");
	distant_close(&far, i);
}

/* ---- Reads as of a local file ---- */

#define ROUNDS   600
#define SIZE_TOP 4096

struct model {
	unsigned char bytes[SIZE_TOP];
	size_t size;
	unsigned seed;
};

static size_t below(struct model *m, size_t top)
{
	return (size_t)rand_r(&m->seed) % top;
}

static void model_resize(struct model *m, size_t size)
{
	if (size > m->size)
		memset(m->bytes + m->size, 0, size - m->size);
	m->size = size;
}

static void write_both(struct model *m, struct inode *i)
{
	unsigned char bytes[512];
	size_t at = below(m, SIZE_TOP - sizeof bytes), len = 1 + below(m, sizeof bytes);

	for (size_t n = 0; n < len; n++)
		bytes[n] = (unsigned char)below(m, 256);
	cr_assert(eq(int, cache_write(far.cache, NULL, i, at, bytes, len, 0, NULL), ERR_OK));
	if (at + len > m->size)
		model_resize(m, at + len);
	memcpy(m->bytes + at, bytes, len);
}

static void resize_both(struct model *m, struct inode *i)
{
	size_t size = below(m, SIZE_TOP);

	set_size(i, size);
	model_resize(m, size);
}

static void compare(struct model *m, struct inode *i)
{
	unsigned char bytes[SIZE_TOP];
	size_t at = below(m, SIZE_TOP), len = 1 + below(m, SIZE_TOP - at), got;
	size_t wanted = at < m->size ? (len < m->size - at ? len : m->size - at) : 0;
	bool is_served;

	cr_assert(eq(int,
		writeback_read(far.cache->writeback, i, at, bytes, len, &got, &is_served, NULL),
		ERR_OK));
	cr_assert(is_served);
	cr_assert(eq(sz, got, wanted));
	cr_assert(eq(int, memcmp(bytes, m->bytes + at, wanted), 0));
}

Test(writeback_read, a_file_made_here_reads_as_a_local_one_whatever_is_done_to_it)
{
	distant_hold_applies(&far, true);
	struct model m = { .seed = 7 };
	struct inode *i = distant_make(&far, "new");

	for (int n = 0; n < ROUNDS; n++) {
		if (below(&m, 8))
			write_both(&m, i);
		else
			resize_both(&m, i);
		compare(&m, i);
	}
	distant_close(&far, i);
}
