/* The sandbox's clock, as the cache knows it from answers. */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/contents.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static struct distant far;

static void setup(void)
{
	distant_start(&far, false);
}

static void teardown(void)
{
	distant_stop(&far);
}

TestSuite(clock, .init = setup, .fini = teardown, .timeout = 300);

/* Longer than any of this takes, also on a slow machine. */
#define LONG_S 100000

static time_t shown_after(time_t stated_s)
{
	const struct timespec stated = { .tv_sec = stated_s };

	cache_note_clock(far.cache, &stated);
	return cache_clock(far.cache).tv_sec;
}

Test(clock, the_clock_goes_on_from_the_last_time_reported)
{
	time_t now_s = cache_clock(far.cache).tv_sec + LONG_S;

	cr_expect(ge(i64, shown_after(now_s), now_s));
}

Test(clock, an_answer_that_was_long_on_its_way_does_not_set_it_back)
{
	time_t now_s = cache_clock(far.cache).tv_sec + LONG_S;

	shown_after(now_s);
	cr_expect(ge(i64, shown_after(now_s - 5), now_s));
}

Test(clock, a_clock_that_was_set_back_is_followed)
{
	time_t now_s = cache_clock(far.cache).tv_sec + LONG_S;

	shown_after(now_s);
	cr_expect(lt(i64, shown_after(now_s - LONG_S), now_s));
}

Test(clock, the_time_of_a_change_is_one_that_it_has_shown)
{
	struct inode *i = distant_make(&far, "f");
	struct attr attr;

	distant_write(&far, i, 0, "hello");
	cr_assert(eq(int, cache_fsync(far.cache, NULL, i, NULL), ERR_OK));
	tree_attr(far.cache->tree, i, &attr);
	struct timespec now = cache_clock(far.cache);

	cr_expect(now.tv_sec > attr.ctime.tv_sec ||
		(now.tv_sec == attr.ctime.tv_sec && now.tv_nsec >= attr.ctime.tv_nsec));
	distant_close(&far, i);
}
