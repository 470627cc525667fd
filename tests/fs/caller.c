#include "fs/caller.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

TestSuite(caller, .timeout = 300);

static const char plain[] = "Name:\tTgid:\t99\n"
			    "State:\tS (sleeping)\n"
			    "Tgid:\t4711\n"
			    "Pid:\t4712\n"
			    "SigPnd:\t0000000000000000\n"
			    "ShdPnd:\t0000000000000000\n"
			    "SigBlk:\t0000000000000000\n";

Test(caller, the_process_is_that_of_the_line_and_not_of_a_name)
{
	struct caller c;

	cr_assert(caller_parse(plain, &c));
	cr_assert(eq(int, c.process, 4711));
	cr_assert(not(caller_is_stopped(&c)));
}

Test(caller, what_lacks_a_line_is_refused)
{
	static const char *const texts[] = { "", "\n", "Tgid:\t1\n",
		"Tgid:\tx\nSigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\n",
		"Tgid:\t1\nSigPnd:\t0\nShdPnd:\t0\nSigBlk:" };
	struct caller c;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect(not(caller_parse(texts[i], &c)), "row %zu", i);
}

static bool stopped_by(int of_thread, int of_process, int blocked)
{
	char text[200];
	struct caller c;

	snprintf(text, sizeof text,
		"Tgid:\t1\nSigPnd:\t%016llx\nShdPnd:\t%016llx\nSigBlk:\t%016llx\n",
		of_thread ? 1ULL << (of_thread - 1) : 0, of_process ? 1ULL << (of_process - 1) : 0,
		blocked ? 1ULL << (blocked - 1) : 0);
	cr_assert(caller_parse(text, &c));
	return caller_is_stopped(&c);
}

Test(caller, only_what_asks_to_stop_stops)
{
	static const struct {
		int number;
		bool stops;
	} rows[] = { { SIGINT, true }, { SIGTERM, true }, { SIGHUP, true }, { SIGQUIT, true },
		{ SIGKILL, true }, { SIGWINCH, false }, { SIGTSTP, false }, { SIGCHLD, false },
		{ SIGCONT, false }, { SIGUSR1, false }, { 64, false } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect(eq(int, stopped_by(rows[i].number, 0, 0), rows[i].stops), "signal %d",
			rows[i].number);
		cr_expect(eq(int, stopped_by(0, rows[i].number, 0), rows[i].stops), "signal %d",
			rows[i].number);
	}
}

Test(caller, a_blocked_signal_does_not)
{
	cr_assert(not(stopped_by(0, SIGINT, SIGINT)));
	cr_assert(stopped_by(0, SIGINT, SIGTERM));
}

static void *process_of_this_thread(void *out)
{
	*(pid_t *)out = caller_process((pid_t)syscall(SYS_gettid));
	return NULL;
}

Test(caller, a_thread_belongs_to_its_process)
{
	pthread_t thread;
	pid_t process = 0;

	cr_assert(zero(int, pthread_create(&thread, NULL, process_of_this_thread, &process)));
	pthread_join(thread, NULL);
	cr_assert(eq(int, process, getpid()));
}

Test(caller, what_cannot_be_seen_is_itself_and_does_not_give_up)
{
	cr_assert(eq(int, caller_process(0), 0));
	cr_assert(eq(int, caller_process(INT32_MAX), INT32_MAX));
	cr_assert(not(caller_gives_up(0)));
	cr_assert(not(caller_gives_up(INT32_MAX)));
	cr_assert(not(caller_gives_up(getpid())));
}
