/*
 * pty COLS ROWS COMMAND [ARGUMENT...] - runs a command on a terminal of its own, between standard
 * input and output.
 *
 * Descriptor 3 is the control channel, both ways: first it has the command's process number and a
 * newline; then each line "COLS ROWS" from the other side is a new size. The program ends as the
 * command does: with its status, or by its signal.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTROL = 3, BLOCK = 16384, CANNOT_RUN = 127 };

static struct winsize winsize_of(unsigned cols, unsigned rows)
{
	return (struct winsize){ .ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows };
}

static bool write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

/* False at the end of either side. */
static bool pass(int from, int to)
{
	char block[BLOCK];
	ssize_t n = read(from, block, sizeof block);

	return n > 0 && write_all(to, block, (size_t)n);
}

static bool resize(int terminal)
{
	char line[64] = { 0 };
	unsigned cols, rows;

	if (read(CONTROL, line, sizeof line - 1) <= 0)
		return false;
	if (sscanf(line, "%u %u", &cols, &rows) == 2) {
		struct winsize size = winsize_of(cols, rows);
		ioctl(terminal, TIOCSWINSZ, &size);
	}
	return true;
}

/* Until the terminal has no user any more. */
static void relay(int terminal)
{
	struct pollfd fds[] = {
		{ .fd = terminal, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = CONTROL, .events = POLLIN },
	};

	while (poll(fds, 3, -1) > 0 || errno == EINTR) {
		if (fds[0].revents && !pass(terminal, STDOUT_FILENO))
			return;
		if (fds[1].revents && !pass(STDIN_FILENO, terminal))
			fds[1].fd = -1;
		if (fds[2].revents && !resize(terminal))
			fds[2].fd = -1;
	}
}

static int end_like(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return CANNOT_RUN;
	}
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return CANNOT_RUN;
}

static void run(char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	close(CONTROL);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(CANNOT_RUN);
}

int main(int argc, char **argv)
{
	int terminal;

	if (argc < 4) {
		fputs("usage: pty COLS ROWS COMMAND [ARGUMENT...]\n", stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	struct winsize size = winsize_of(
		(unsigned)strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
	pid_t child = forkpty(&terminal, NULL, NULL, &size);
	if (child < 0) {
		perror("forkpty");
		return CANNOT_RUN;
	}
	if (child == 0)
		run(argv + 3);
	dprintf(CONTROL, "%d\n", (int)child);
	relay(terminal);
	close(STDOUT_FILENO);
	return end_like(child);
}
