#include "tools/apart.h"

#include "providers/base/cleanup.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

/* What a killed child may take to end, unless it hangs. */
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

pid_t apart_begin(int (*work)(const void *context), const void *context)
{
	pid_t child = fork();

	if (child == 0)
		_exit(work(context) & 0xff); /* Linux's errnos are below 134 */
	return child;
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
