#include "providers/base/inherited.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool may_stay_ignored(int number)
{
	switch (number) {
	case SIGHUP:
	case SIGINT:
	case SIGQUIT:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU: return true;
	default: return false;
	}
}

/* exec(2) has reset every handler, so a signal is ignored or has its default action. */
static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		if (!may_stay_ignored(number))
			signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Otherwise the next file that is opened would get the number of a closed stream. A write to a
 * closed stream still fails: the name of a sandbox that was just made must not be lost in silence.
 */
static void hold_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	close(fd);
}

mode_t inherited_reset(void)
{
	reset_signals();
	hold_streams();
	return umask(0);
}

/* By the system call's number: the helper's libc has no function for it. */
void inherited_close(void)
{
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
}
