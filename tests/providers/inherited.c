#include "providers/base/inherited.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(base_inherited, .timeout = 60);

static bool is_ignored(int number)
{
	struct sigaction action;

	cr_assert(zero(int, sigaction(number, NULL, &action)));
	return action.sa_handler == SIG_IGN;
}

Test(base_inherited, ignored_signals_get_their_default_action)
{
	static const int numbers[] = { SIGCHLD, SIGTERM, SIGPIPE, SIGALRM, SIGUSR2, SIGXFSZ };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		signal(numbers[i], SIG_IGN);
	inherited_reset();
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		cr_expect(not(is_ignored(numbers[i])), "signal %d", numbers[i]);
}

Test(base_inherited, what_nohup_and_shells_ignore_stays_ignored)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		signal(numbers[i], SIG_IGN);
	inherited_reset();
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		cr_expect(is_ignored(numbers[i]), "signal %d", numbers[i]);
}

Test(base_inherited, no_signal_is_blocked)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	inherited_reset();
	sigprocmask(SIG_SETMASK, NULL, &set);
	for (int number = 1; number < NSIG; number++)
		cr_expect(le(int, sigismember(&set, number), 0), "signal %d", number);
}

Test(base_inherited, the_umask_is_known_and_0)
{
	umask(027);
	cr_expect(eq(uint, inherited_reset(), 027u));
	cr_expect(eq(uint, umask(0), 0u));
}

Test(base_inherited, closed_streams_are_held)
{
	int file;

	close(STDIN_FILENO);
	inherited_reset();
	cr_expect(ge(int, fcntl(STDIN_FILENO, F_GETFD), 0));
	file = open("/dev/null", O_RDONLY);
	cr_expect(lt(int, STDERR_FILENO, file));
	close(file);
}
