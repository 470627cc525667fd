#include "tools/ctl/child.h"

#include "providers/base/cleanup.h"
#include "tools/exits.h"
#include "tools/say.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The time from TERM to KILL: the same as docker stop gives a container. */
#define ENDING_MS 10000
/* The time until a second signal is noticed. */
#define LOOK_MS 100

/* ---- Starting ---- */

/* Only this process needs blocked signals and an ignored SIGPIPE (signals.h). */
static void give_signals_back(void)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void stand_apart(pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(CTL_BROKEN);
}

static _Noreturn void become(const struct child_request *r, pid_t parent)
{
	if (r->is_apart)
		stand_apart(parent);
	if (r->held > 0)
		dup2(r->held, STDIN_FILENO);
	umask(r->file_mask);
	give_signals_back();
	if (r->dir && chdir(r->dir)) {
		say(stderr, "sandboxctl: %s: %s", r->dir, strerror(errno));
		_exit(CTL_BROKEN);
	}
	execvp(r->argv[0], r->argv);
	say(stderr, "sandboxctl: %s: %s", r->argv[0], strerror(errno));
	_exit(errno == ENOENT ? CTL_NO_COMMAND : CTL_CANNOT_RUN);
}

enum err child_start(const struct child_request *r, pid_t *out, struct error *e)
{
	pid_t parent = getpid();

	fflush(NULL);
	*out = fork();
	if (*out < 0)
		return error_errno(e, errno, "%s", r->argv[0]);
	if (!*out)
		become(r, parent);
	return ERR_OK;
}

/* ---- Waiting ---- */

/* In the foreground the terminal sends its signals to both processes. */
static bool is_foreground(void)
{
	AUTO_CLOSE int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	return terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
}

static void pass_on(pid_t pid, int number)
{
	if (number != SIGINT || !is_foreground())
		kill(pid, number);
}

/* Waits until the program ended or a signal came; after the first signal no longer than LOOK_MS. */
static void wait_a_while(int pid_fd, const struct signals *s)
{
	bool is_signalled = signals_taken(s);
	struct pollfd fds[] = {
		{ .fd = pid_fd, .events = POLLIN },
		{ .fd = is_signalled ? -1 : signals_cancel(s)->fd, .events = POLLIN },
	};

	poll(fds, 2, is_signalled || pid_fd < 0 ? LOOK_MS : -1);
}

void child_wait(pid_t pid, const struct signals *s, int *status)
{
	AUTO_CLOSE int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int64_t kill_at_ms = INT64_MAX;
	int passed = 0;

	while (!waitpid(pid, status, WNOHANG)) {
		int taken = signals_taken(s);

		if (taken != passed) {
			pass_on(pid, taken);
			if (taken != SIGINT)
				kill_at_ms = monotonic_ms() + ENDING_MS;
			passed = taken;
		}
		if (monotonic_ms() >= kill_at_ms)
			kill(pid, SIGKILL);
		wait_a_while(pid_fd, s);
	}
}

int child_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
