#include "fs/caller.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(caller, .timeout = 300);

static const char plain[] = "Name:\tTgid:\t99\n"
			    "State:\tS (sleeping)\n"
			    "Tgid:\t4711\n"
			    "Pid:\t4712\n"
			    "SigPnd:\t0000000000000000\n"
			    "ShdPnd:\t0000000000000000\n"
			    "SigBlk:\t0000000000000000\n"
			    "SigIgn:\t0000000000000000\n";

/* The text of /proc/PID/stat with this name, these flags and this exit code. */
#define STAT(name, flags, code)                                                                    \
	"4711 (" name ") S 1 1 1 0 -1 " flags " 186 0 0 0 0 0 0 0 20 0 1 0 99 0 0 0 0 0 0 0 0 "    \
	"0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 " code "\n"

static const char waits[] = STAT("sh", "4194560", "0");

Test(caller, the_process_is_that_of_the_line_and_not_of_a_name)
{
	struct caller c;

	cr_assert(caller_parse(plain, waits, &c));
	cr_assert(eq(int, c.process, 4711));
	cr_assert(not(caller_is_stopped(&c)));
}

Test(caller, what_lacks_a_line_is_refused)
{
	static const char *const texts[] = { "", "\n", "Tgid:\t1\n",
		"Tgid:\tx\nSigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\nSigIgn:\t0\n",
		"Tgid:\t1\nSigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\n",
		"Tgid:\t1\nSigPnd:\t0\nShdPnd:\t0\nSigBlk:" };
	struct caller c;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect(not(caller_parse(texts[i], waits, &c)), "row %zu", i);
}

Test(caller, a_stat_that_is_cut_is_refused)
{
	static const char *const texts[] = { "", "1", "1 (sh) S 1 1 1 0 -1 4194560 186" };
	struct caller c;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect(not(caller_parse(plain, texts[i], &c)), "row %zu", i);
}

/*
 * Exit codes as Linux wrote them: 4 is PF_EXITING, 0x400 PF_SIGNALED, which the threads of
 * exit_group(2) have as well.
 */
Test(caller, how_a_process_ends_is_known_from_its_exit_code)
{
	static const struct {
		const char *stat;
		bool exits;
		int killed_by;
	} rows[] = {
		{ STAT("sh", "4194560", "0"), false, 0 },
		{ STAT("sh", "4194572", "0"), true, 0 },
		{ STAT("sh", "4194572", "768"), true, 0 },
		{ STAT("sh", "4195388", "0"), true, 0 },
		{ STAT("sh", "4196108", "15"), true, 15 },
		{ STAT("a core", "4196108", "131"), true, 3 },
		{ STAT("a ) 1 2 3", "4196108", "9"), true, 9 },
	};
	struct caller c;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_assert(caller_parse(plain, rows[i].stat, &c), "row %zu", i);
		cr_expect(eq(int, c.is_exiting, rows[i].exits), "row %zu", i);
		cr_expect(eq(int, c.killed_by, rows[i].killed_by), "row %zu", i);
	}
}

/* Lines as Linux wrote them, of a session 20 on the first pseudo terminal. */
Test(caller, a_process_is_in_the_foreground_of_its_terminal_or_not)
{
#define ENDS                                                                                       \
	"4194380 1 0 0 0 0 0 0 0 1 1 1 0 9 0 0 9 0 0 0 0 0 0 0 9 0 1 0 0 1 0 0 0 0 0 0 0 0 0 0 0 " \
	"0 0 0"
	static const struct {
		const char *stat;
		bool has_terminal, is_foreground;
	} rows[] = {
		{ "30 (sh) S 20 30 20 34816 30 " ENDS, true, true },
		{ "30 (sh) S 20 30 20 34816 20 " ENDS, true, false },
		{ "30 (sh) S 1 30 20 0 -1 " ENDS, false, false },
	};
	struct caller c;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_assert(caller_parse(plain, rows[i].stat, &c), "row %zu", i);
		cr_expect(eq(int, c.session, 20), "row %zu", i);
		cr_expect(eq(int, c.has_terminal, rows[i].has_terminal), "row %zu", i);
		cr_expect(eq(int, c.is_foreground, rows[i].is_foreground), "row %zu", i);
	}
}

static struct caller with_signals(int of_thread, int of_process, int blocked, int ignored)
{
	int numbers[] = { of_thread, of_process, blocked, ignored };
	unsigned long long sets[4];
	char text[300];
	struct caller c;

	for (int i = 0; i < 4; i++)
		sets[i] = numbers[i] ? 1ULL << (numbers[i] - 1) : 0;
	snprintf(text, sizeof text,
		"Tgid:\t1\nSigPnd:\t%016llx\nShdPnd:\t%016llx\nSigBlk:\t%016llx\nSigIgn:\t%016llx"
		"\n",
		sets[0], sets[1], sets[2], sets[3]);
	cr_assert(caller_parse(text, waits, &c));
	return c;
}

static bool stopped_by(int of_thread, int of_process, int blocked)
{
	struct caller c = with_signals(of_thread, of_process, blocked, 0);

	return caller_is_stopped(&c);
}

Test(caller, a_signal_that_asks_for_no_stop_stops_nothing)
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

Test(caller, blocked_and_ignored_signals_are_kept_apart_from_pending_ones)
{
	struct caller c = with_signals(SIGKILL, SIGTERM, SIGINT, SIGHUP);

	cr_expect(eq(u64, c.process_pending, UINT64_C(1) << (SIGTERM - 1)));
	cr_expect(eq(u64, c.shielded, UINT64_C(1) << (SIGINT - 1) | UINT64_C(1) << (SIGHUP - 1)));
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

static bool gives_up(pid_t thread)
{
	struct caller_watch w;
	bool result;

	caller_watch_begin(&w, thread);
	result = caller_gives_up(&w, true);
	caller_watch_end(&w);
	return result;
}

Test(caller, what_cannot_be_seen_is_itself_and_does_not_give_up)
{
	cr_assert(eq(int, caller_process(0), 0));
	cr_assert(eq(int, caller_process(INT32_MAX), INT32_MAX));
	cr_assert(not(gives_up(0)));
	cr_assert(not(gives_up(INT32_MAX)));
	cr_assert(not(gives_up(getpid())));
}

/* The result for a zombie: a process looks like that when its files have been closed. */
static bool was_killed(int by)
{
	siginfo_t ended;
	pid_t child = fork();
	bool result;

	if (!child) {
		/* A shell without a terminal starts a background command with QUIT ignored. */
		signal(by, SIG_DFL);
		raise(by);
		_exit(9);
	}
	cr_assert(zero(int, waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT)));
	result = caller_was_killed(child);
	waitpid(child, NULL, 0);
	return result;
}

Test(caller, a_process_that_a_signal_ends_was_killed)
{
	cr_expect(was_killed(SIGTERM));
	cr_expect(was_killed(SIGQUIT));
	cr_expect(was_killed(SIGKILL));
	cr_expect(not(was_killed(SIGWINCH)), "it exited with 9");
	cr_expect(not(caller_was_killed(getpid())));
}
