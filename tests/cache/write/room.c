/*
 * The cache knows before a request leaves whether the sandbox's disk has room, where a list
 * reported that.
 */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/contents.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT "some bytes of a file"

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
}

static void teardown(void)
{
	distant_stop(&far);
}

TestSuite(room, .init = setup, .fini = teardown, .timeout = 300);

/* Sets the room that the cache received last. */
static void know_room(uint64_t bytes)
{
	const struct space space = {
		.block_size = 1, .blocks = UINT64_MAX, .free = bytes, .available = bytes
	};

	cache_note_space(far.cache, &space);
}

static enum err write_text(struct inode *i, uint64_t offset)
{
	return cache_write(far.cache, NULL, i, offset, TEXT, strlen(TEXT), 0, NULL);
}

static struct inode *made(void)
{
	struct inode *i = distant_make(&far, "f");

	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	return i;
}

Test(room, a_write_that_finds_none_fails_at_once)
{
	struct inode *i = made();

	know_room(1);
	far.room_reported = strlen(TEXT) + 1;
	cr_expect(eq(int, write_text(i, 0), ERR_OK), "there is room, asked");
	/* The first was sent before the second is asked for. */
	far.room_reported = 1;
	cr_expect(eq(int, write_text(i, strlen(TEXT)), ERR_NO_SPACE));
	distant_expect_text(&far, "f", TEXT);
	cr_expect(eq(int, write_text(i, 0), ERR_OK), "nothing grows");
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cr_expect(eq(u64, distant_failed(&far), 0));
	far.room_reported = 1000;
	cr_expect(eq(int, write_text(i, strlen(TEXT)), ERR_OK), "others made room");
	distant_close(&far, i);
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_expect_text(&far, "f", TEXT TEXT);
}

Test(room, where_there_is_enough_nobody_is_asked)
{
	struct inode *i = made();

	know_room(1000);
	unsigned before = distant_lists(&far);

	for (uint64_t n = 0; n < 10; n++)
		cr_expect(eq(int, write_text(i, n * strlen(TEXT)), ERR_OK));
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	cr_expect(eq(uint, distant_lists(&far), before));
	distant_close(&far, i);
}

Test(room, a_disk_that_cannot_be_asked_for_its_room_refuses_late)
{
	struct inode *i = made();

	know_room(1);
	far.is_cut = true;
	cr_expect(eq(int, write_text(i, 0), ERR_OK));
	far.is_cut = false;
	cr_expect(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
	distant_close(&far, i);
	distant_expect_text(&far, "f", TEXT);
}

static void empty(struct inode *i)
{
	const struct change change = { .op = CHANGE_SETATTR, .set = SET_SIZE };

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &change, true, NULL), ERR_OK));
}

Test(room, a_file_is_staged_only_where_there_is_room_for_both_versions)
{
	static const struct {
		uint64_t room;
		bool is_staged;
	} cases[] = { { 1000, true }, { 2, false } };

	for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
		struct inode *i = distant_make(&far, n ? "g" : "f");

		cr_assert(eq(int, write_text(i, 0), ERR_OK));
		distant_close(&far, i);
		cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
		i = distant_open(&far, n ? "g" : "f");
		know_room(1);
		far.room_reported = cases[n].room;
		empty(i);
		cr_expect(eq(int, i->pending && i->pending->commit, cases[n].is_staged));
		far.room_reported = 1000;
		cr_expect(eq(int, write_text(i, 0), ERR_OK));
		distant_close(&far, i);
		cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
		distant_expect_text(&far, n ? "g" : "f", TEXT);
	}
}
