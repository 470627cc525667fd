/*
 * Lets an assertion that fails in a teardown (.fini) fail its test: Criterion 2.4.1 gives a test's verdict before, prints
 * such a failure and calls the test passed. (plain_runner.c gives it at the very end.)
 */
#include <criterion/hooks.h>
#include <criterion/stats.h>
#include <stdio.h>

static void fail_late(struct criterion_global_stats *all, struct criterion_suite_stats *suite,
	struct criterion_test_stats *test)
{
	fprintf(stderr, "[FAIL] %s::%s: in its teardown\n", suite->suite->name, test->test->name);
	test->test_status = CR_STATUS_FAILED;
	suite->tests_passed--;
	suite->tests_failed++;
	all->tests_passed--;
	all->tests_failed++;
}

ReportHook(POST_ALL)(struct criterion_global_stats *all)
{
	for (struct criterion_suite_stats *s = all->suites; s; s = s->next)
		for (struct criterion_test_stats *t = s->tests; t; t = t->next)
			if (t->failed_asserts && t->test_status == CR_STATUS_PASSED)
				fail_late(all, s, t);
}
