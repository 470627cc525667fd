/* What fails in a teardown counts: an assertion there that says what a test left behind is one like any other. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLANTED "PLANTED_FAILURE"

static void find_what_was_left(void)
{
	cr_expect(not(getenv(PLANTED) != NULL), "planted");
}

TestSuite(late_failure_planted, .fini = find_what_was_left, .timeout = 300);

Test(late_failure_planted, passes_but_for_its_teardown)
{
}

/* The status of this program's run of the test above, whose words are no result of this run. */
static int status_of_run(char *variable)
{
	static char *const argv[] = { "/proc/self/exe", "--filter", "late_failure_planted/*",
		NULL };
	char *const environment[] = { variable, NULL };
	posix_spawn_file_actions_t quiet;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&quiet, STDOUT_FILENO, STDERR_FILENO);
	cr_assert(eq(int, posix_spawn(&pid, *argv, &quiet, NULL, argv, environment), 0));
	posix_spawn_file_actions_destroy(&quiet);
	cr_assert(eq(int, waitpid(pid, &status, 0), pid));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(late_failure, an_assertion_that_fails_in_a_teardown_fails_the_run, .timeout = 300)
{
	cr_expect(eq(int, status_of_run("UNPLANTED=1"), 0));
	cr_expect(eq(int, status_of_run(PLANTED "=1"), 1));
}
