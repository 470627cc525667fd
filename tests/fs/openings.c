#include "fs/openings.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static struct openings *o;

static void setup(void)
{
	cr_assert(eq(int, openings_new(&o, NULL), ERR_OK));
}

static void teardown(void)
{
	openings_free(o);
}

TestSuite(openings, .init = setup, .fini = teardown, .timeout = 60);

Test(openings, what_a_thread_opened_last_is_found_once)
{
	openings_note(o, 7, 100);
	cr_expect(openings_take(o, 7, 100));
	cr_expect(not(openings_take(o, 7, 100)));
}

Test(openings, a_file_that_another_thread_opened_is_not)
{
	openings_note(o, 7, 100);
	cr_expect(not(openings_take(o, 8, 100)));
	cr_expect(not(openings_take(o, 7 + 1024, 100)), "that shares its place");
}

Test(openings, a_file_that_a_thread_opened_before_another_is_not_found)
{
	openings_note(o, 7, 100);
	openings_note(o, 7, 101);
	cr_expect(not(openings_take(o, 7, 100)));
	cr_expect(openings_take(o, 7, 101));
}

Test(openings, a_thread_that_opened_nothing_has_no_file)
{
	cr_expect(not(openings_take(o, 0, 0)), "0 is no number of a node");
}
