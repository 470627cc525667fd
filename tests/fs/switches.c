#include "fs/switches.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static struct switches *switches;

static void setup(void)
{
	cr_assert(eq(int, switches_new(&switches, NULL), ERR_OK));
}

static void teardown(void)
{
	switches_free(switches);
}

TestSuite(switches, .init = setup, .fini = teardown, .timeout = 300);

static struct cancel taken(void)
{
	struct cancel c = { .fd = -1 };

	cr_assert(eq(int, switches_take(switches, &c, NULL), ERR_OK));
	cr_assert(ge(int, c.fd, 0));
	return c;
}

Test(switches, a_switch_that_was_given_back_is_taken_again)
{
	struct cancel first = taken(), second;
	int fd = first.fd;

	switches_give(switches, &first);
	cr_expect(eq(int, first.fd, -1));
	second = taken();
	cr_expect(eq(int, second.fd, fd));
	cr_expect(not(cancel_thrown(&second)));
	cancel_release(&second);
}

Test(switches, those_that_are_in_use_are_none_of_anybody_else)
{
	struct cancel first = taken(), second = taken();

	cr_expect(ne(int, first.fd, second.fd));
	cancel_throw(&first);
	cr_expect(cancel_thrown(&first));
	cr_expect(not(cancel_thrown(&second)));
	cancel_release(&first);
	switches_give(switches, &second);
}

Test(switches, of_many_that_are_given_back_few_are_kept)
{
	enum { MANY = 100 };
	struct cancel all[MANY], next;
	int highest = 0;

	for (int n = 0; n < MANY; n++)
		all[n] = taken();
	highest = all[MANY - 1].fd;
	for (int n = 0; n < MANY; n++)
		switches_give(switches, &all[n]);
	for (int n = 0; n < MANY; n++)
		cr_expect(eq(int, all[n].fd, -1));
	/* The lowest number that is free is the next one's. */
	for (int n = 0; n < 20; n++) {
		next = taken();
		cr_expect(lt(int, next.fd, highest));
		all[n] = next;
	}
	for (int n = 0; n < 20; n++)
		cancel_release(&all[n]);
}
