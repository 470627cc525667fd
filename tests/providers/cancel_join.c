#include "providers/cancel_join.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(cancel_join, .timeout = 300);

Test(cancel_join, either_throws_it)
{
	for (int thrown = 0; thrown < 2; thrown++) {
		AUTO_CANCEL struct cancel one = CANCEL_NONE, other = CANCEL_NONE,
					  both = CANCEL_NONE;
		struct error e = { 0 };

		cr_assert(zero(int, cancel_init(&one, &e)));
		cr_assert(zero(int, cancel_init(&other, &e)));
		cr_assert(zero(int, cancel_join(&both, &one, &other, &e)), "%s", e.text);
		cr_expect(not(cancel_thrown(&both)));
		cancel_throw(thrown ? &other : &one);
		cr_expect(cancel_thrown(&both));
		cr_expect(not(cancel_thrown(thrown ? &one : &other)));
	}
}

Test(cancel_join, a_cancellation_may_be_missing)
{
	AUTO_CANCEL struct cancel one = CANCEL_NONE, both = CANCEL_NONE;
	struct error e = { 0 };

	cr_assert(zero(int, cancel_init(&one, &e)));
	cr_assert(zero(int, cancel_join(&both, &one, NULL, &e)), "%s", e.text);
	cr_expect(not(cancel_thrown(&both)));
	cancel_throw(&one);
	cr_expect(cancel_thrown(&both));
}
