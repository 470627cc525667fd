#include "fs/lost_signals.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(lost_signals, .timeout = 300);

#define BIT(number) (UINT64_C(1) << ((number)-1))

static pid_t start_deaf_child(void)
{
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	return child;
}

Test(lost_signals, those_of_the_set_are_counted_for_the_process_alone)
{
	struct lost_signals l;
	pid_t other, child;

	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	child = start_deaf_child();
	other = start_deaf_child();
	lost_signals_begin(&l, child, BIT(SIGTERM) | BIT(SIGINT));
	if (!l.count) {
		kill(child, SIGKILL);
		kill(other, SIGKILL);
		cr_skip("not root of the machine, or no tracepoints here");
	}
	kill(child, SIGHUP);
	kill(other, SIGTERM);
	cr_expect(not(lost_signals_any(&l)));
	kill(child, SIGTERM);
	cr_expect(lost_signals_any(&l), "though it is ignored");
	lost_signals_end(&l);
	cr_expect(not(lost_signals_any(&l)));
	kill(child, SIGKILL);
	kill(other, SIGKILL);
}

Test(lost_signals, of_an_empty_set_nothing_is_counted)
{
	struct lost_signals l;

	lost_signals_begin(&l, getpid(), 0);
	cr_expect(zero(sz, l.count));
	cr_expect(not(lost_signals_any(&l)));
	lost_signals_end(&l);
}
