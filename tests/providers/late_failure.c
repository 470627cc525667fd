/* What fails in a teardown counts: an assertion there that says what a test left behind is one like any other. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define PLANTED "PLANTED_FAILURE"

static void find_what_was_left(void)
{
	cr_expect(not(getenv(PLANTED) != NULL), "planted");
}

TestSuite(late_failure_planted, .fini = find_what_was_left, .timeout = 300);

Test(late_failure_planted, passes_but_for_its_teardown)
{
}

/* The status of this program's run of the test above. A test's process has variables of Criterion's, which are not for it. */
static int status_of_run(char *variable)
{
	static char *const argv[] = { "/proc/self/exe", "--filter", "late_failure_planted/*",
		NULL };
	char *const environment[] = { variable, NULL };
	int status = -1;
	pid_t pid;

	cr_assert(eq(int, posix_spawn(&pid, *argv, NULL, NULL, argv, environment), 0));
	cr_assert(eq(int, waitpid(pid, &status, 0), pid));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(late_failure, an_assertion_that_fails_in_a_teardown_fails_the_run, .timeout = 300)
{
	cr_expect(eq(int, status_of_run("UNPLANTED=1"), 0));
	cr_expect(eq(int, status_of_run(PLANTED "=1"), 1));
}
