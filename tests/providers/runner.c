/*
 * The runner of the units (tests/support/runner.h) reports every way in which a test can fail as a
 * failure. The planted tests pass unless the environment says otherwise; a run of the units leaves
 * them to the tests below (tests/support/run-test).
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLANTED "PLANTED_FAILURE"

static bool is_planted(void)
{
	return getenv(PLANTED) != NULL;
}

static void find_what_was_left(void)
{
	cr_expect(not(is_planted()), "planted");
}

TestSuite(runner_planted, .timeout = 300);

Test(runner_planted, passes_but_for_its_teardown, .fini = find_what_was_left)
{
}

Test(runner_planted, fails_in_a_child)
{
	pid_t child = fork();

	if (!child) {
		cr_expect(not(is_planted()), "planted");
		_exit(0);
	}
	cr_assert(eq(int, waitpid(child, NULL, 0), child));
}

Test(runner_planted, is_killed)
{
	if (is_planted())
		raise(SIGKILL);
}

Test(runner_planted, exits_with_another_code, .exit_code = 7)
{
	exit(is_planted() ? 0 : 7);
}

Test(runner_planted, ends_the_program)
{
	if (is_planted())
		exit(0);
}

Test(runner_planted, takes_longer_than_it_may, .timeout = 2)
{
	while (is_planted())
		pause();
}

/* The status of this program's run of that test, whose output is no result of this run. */
static int status_of_run(const char *test, char *variable)
{
	char filter[64];
	char *const argv[] = { "/proc/self/exe", "--filter", filter, NULL };
	char *const environment[] = { variable, NULL };
	posix_spawn_file_actions_t quiet;
	int status = -1;
	pid_t pid;

	snprintf(filter, sizeof filter, "runner_planted/%s", test);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&quiet, STDOUT_FILENO, STDERR_FILENO);
	cr_assert(eq(int, posix_spawn(&pid, *argv, &quiet, NULL, argv, environment), 0));
	posix_spawn_file_actions_destroy(&quiet);
	cr_assert(eq(int, waitpid(pid, &status, 0), pid));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_found(const char *test)
{
	cr_expect(eq(int, status_of_run(test, "UNPLANTED=1"), 0), "%s", test);
	cr_expect(eq(int, status_of_run(test, PLANTED "=1"), 1), "%s", test);
}

Test(runner, an_assertion_that_fails_in_a_teardown_fails_the_run, .timeout = 300)
{
	expect_found("passes_but_for_its_teardown");
}

Test(runner, an_assertion_that_fails_in_a_child_fails_the_run, .timeout = 300)
{
	expect_found("fails_in_a_child");
}

Test(runner, a_signal_that_ends_a_test_fails_the_run, .timeout = 300)
{
	expect_found("is_killed");
}

Test(runner, an_end_of_the_program_in_the_midst_of_a_test_fails_the_run, .timeout = 300)
{
	expect_found("ends_the_program");
}

Test(runner, an_exit_code_that_was_not_asked_for_fails_the_run, .timeout = 300)
{
	expect_found("exits_with_another_code");
}

Test(runner, a_test_that_takes_longer_than_it_may_fails_the_run, .timeout = 300)
{
	cr_expect(eq(int, status_of_run("takes_longer_than_it_may", PLANTED "=1"), 1));
}

Test(runner, a_run_without_a_test_fails, .timeout = 300)
{
	cr_expect(eq(int, status_of_run("has_no_such_test", "UNPLANTED=1"), 1));
}
