#include "tools/apart.h"

#include "providers/base/cleanup.h"
#include "providers/base/inherited.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* The time that a killed child may take to end, unless it hangs. */
#define END_MS 500

/* Waits on the pidfd, so that the limit needs no timer and no signal handler. */
static bool ended_in_time(int pidfd, int64_t limit_ms)
{
	struct pollfd waiting = { .fd = pidfd, .events = POLLIN };
	int timeout_ms = limit_ms < 0 || limit_ms > INT_MAX ? -1 : (int)limit_ms;
	int ready;

	do
		ready = poll(&waiting, 1, timeout_ms);
	while (ready < 0 && errno == EINTR);
	return ready > 0;
}

static int status_of(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

/* A child that hangs must keep no pipe and no lock of ours in use. */
static void let_go(bool keeps_stderr)
{
	int nothing;

	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	if (!keeps_stderr)
		close(STDERR_FILENO);
	inherited_close();
	while ((nothing = open("/dev/null", O_RDWR)) >= 0 && nothing < STDERR_FILENO)
		;
	if (nothing > STDERR_FILENO)
		close(nothing);
}

static pid_t begin(int (*work)(const void *context), const void *context, bool keeps_stderr)
{
	pid_t child = fork();

	if (child)
		return child;
	let_go(keeps_stderr);
	_exit(work(context) & 0xff); /* Linux's errnos are below 134 */
}

pid_t apart_begin(int (*work)(const void *context), const void *context)
{
	return begin(work, context, false);
}

pid_t apart_begin_with_stderr(int (*work)(const void *context), const void *context)
{
	return begin(work, context, true);
}

void apart_end(pid_t child)
{
	AUTO_CLOSE int pidfd = pidfd_open(child, 0);

	kill(child, SIGKILL);
	if (pidfd >= 0 && ended_in_time(pidfd, END_MS))
		status_of(child);
}

int apart_run(int (*work)(const void *context), const void *context, int64_t limit_ms)
{
	pid_t child = apart_begin(work, context);

	return child < 0 ? errno : apart_await(child, limit_ms);
}

int apart_await(pid_t child, int64_t limit_ms)
{
	AUTO_CLOSE int pidfd = pidfd_open(child, 0);

	if (pidfd >= 0 && !ended_in_time(pidfd, limit_ms)) {
		kill(child, SIGKILL);
		return ETIMEDOUT;
	}
	return status_of(child);
}
