#include "fs/guard.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The kernel refuses a read with less room than its largest request: REQUEST_MAX of mount.c, and a
 * header.
 */
#define REQUEST_ROOM (256 * 1024 + 65536)
/* The guard ends after this many requests of the last moment: a program may ask without end. */
#define LAST_REQUESTS 1000

/* The guard has these files open, and no other. */
struct guard_files {
	int device;
	int daemon_ended; /* pidfd: readable when every thread of the daemon has ended */
	int daemon_lives; /* pipe: at its end when the daemon's files are closed */
};

/* ---- The guard: until _exit only calls that are safe after a fork with threads ---- */

/*
 * The files replace the three standard streams. Those are open, so none of `files` is one of them.
 */
static void keep_only(struct guard_files *files)
{
	dup2(files->device, STDIN_FILENO);
	dup2(files->daemon_ended, STDOUT_FILENO);
	dup2(files->daemon_lives, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	*files = (struct guard_files){ STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
}

static bool wants_answer(const struct fuse_in_header *request)
{
	switch (request->opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
	case FUSE_NOTIFY_REPLY: return false;
	default: return true;
	}
}

/*
 * false: the kernel has no more requests for this mount; with `is_last` also: none at the moment.
 */
static bool refuse_request(int device, bool is_last)
{
	static _Alignas(struct fuse_in_header) unsigned char room[REQUEST_ROOM];
	const struct fuse_in_header *request = (const struct fuse_in_header *)room;
	ssize_t got = read(device, room, sizeof room);

	if (got < 0)
		return errno == EINTR || errno == ENOENT || (errno == EAGAIN && !is_last);
	if ((size_t)got < sizeof *request)
		return false;

	/*
	 * Every request gets this error once the device is closed: tools recognize a dead mount by
	 * it.
	 */
	const struct fuse_out_header answer = {
		.len = sizeof answer, .error = -ENOTCONN, .unique = request->unique
	};

	/* ENOENT: the request was given up. */
	return !wants_answer(request) || write(device, &answer, sizeof answer) >= 0 ||
		errno == ENOENT;
}

static void refuse_until_daemon_ended(const struct guard_files *files)
{
	struct pollfd waiting[] = {
		{ .fd = files->daemon_ended, .events = POLLIN },
		{ .fd = files->device, .events = POLLIN },
	};
	bool is_mounted = fcntl(files->device, F_SETFL, O_RDWR | O_NONBLOCK) == 0;

	while (is_mounted && !waiting[0].revents) {
		if (poll(waiting, 2, -1) < 0)
			is_mounted = errno == EINTR;
		else if (waiting[1].revents)
			is_mounted = refuse_request(files->device, false);
	}
	for (int n = 0; is_mounted && n < LAST_REQUESTS; n++)
		is_mounted = refuse_request(files->device, true);
}

static void await_end_of_pipe(int fd)
{
	char byte;
	ssize_t got;

	do
		got = read(fd, &byte, 1);
	while (got > 0 || (got < 0 && errno == EINTR));
}

/* Signals to the daemon's terminal or process group must not reach the guard. */
static void leave_terminal(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
}

static _Noreturn void guard_run(struct guard_files *files)
{
	keep_only(files);
	leave_terminal();
	prctl(PR_SET_NAME, "sandboxfs-guard");
	if (chdir("/"))
		_exit(1); /* no guard is better than a mountpoint that stays busy */
	await_end_of_pipe(files->daemon_lives);
	refuse_until_daemon_ended(files);
	_exit(0);
}

/* ---- The daemon ---- */

static struct guard no_guard(void)
{
	log_warn(LOG_FS, "no process guards the mount: %s", strerror(errno));
	return GUARD_NONE;
}

struct guard guard_start(int device)
{
	AUTO_CLOSE int self = pidfd_open(getpid(), 0);
	int ends[2];

	if (self < 0 || pipe2(ends, O_CLOEXEC))
		return no_guard();

	AUTO_CLOSE int daemon_lives = ends[0];
	AUTO_CLOSE int daemon_end = ends[1];
	pid_t process = fork();

	if (process < 0)
		return no_guard();
	if (!process)
		guard_run(&(struct guard_files){
			.device = device, .daemon_ended = self, .daemon_lives = daemon_lives });
	return (struct guard){ .process = process, .daemon_end = take_fd(&daemon_end) };
}

void guard_end(struct guard *g)
{
	if (g->process) {
		kill(g->process, SIGKILL);
		while (waitpid(g->process, NULL, 0) < 0 && errno == EINTR)
			;
	}
	cleanup_close(&g->daemon_end);
	*g = GUARD_NONE;
}
