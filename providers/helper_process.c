#include "providers/helper_process.h"

#include "providers/base/cleanup.h"
#include "providers/helper_image.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* A helper whose input has ended finishes what it does; past this it is killed. */
#define STOP_MS 5000

/* The descriptors the program is started with; standard error is ours. */
enum helper_fd { HELPER_IN, HELPER_OUT, HELPER_ERR, HELPER_ROOT, HELPER_STAGING, HELPER_FDS };

/* Descriptors that must not collide with those above; -1: none. */
struct channel {
	int to_helper, from_us;
	int to_us, from_helper;
	int program;
};

static void channel_release(struct channel *c)
{
	cleanup_close(&c->to_helper);
	cleanup_close(&c->from_us);
	cleanup_close(&c->to_us);
	cleanup_close(&c->from_helper);
	cleanup_close(&c->program);
}
#define AUTO_CHANNEL __attribute__((cleanup(channel_release)))

static int out_of_the_way(int fd)
{
	AUTO_CLOSE int low = fd;

	return fd < 0 || fd >= HELPER_FDS ? take_fd(&low) : fcntl(fd, F_DUPFD_CLOEXEC, HELPER_FDS);
}

static enum err open_pipe(int *read_end, int *write_end, struct error *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return error_errno(e, errno, "pipe to the helper");
	*read_end = out_of_the_way(ends[0]);
	*write_end = out_of_the_way(ends[1]);
	if (*read_end < 0 || *write_end < 0)
		return error_errno(e, errno, "pipe to the helper");
	return ERR_OK;
}

/* The program for this machine, as a file in memory. */
static enum err open_program(int *out, struct error *e)
{
	struct helper_image image;
	AUTO_CLOSE int fd = -1;
	struct utsname machine;

	uname(&machine);
	if (!helper_image_find(machine.machine, &image))
		return error_set(e, ERR_UNSUPPORTED, "no helper program for %s", machine.machine);
	fd = out_of_the_way(memfd_create("sandboxfs-helper", MFD_CLOEXEC));
	if (fd < 0)
		return error_errno(e, errno, "memory for the helper");
	for (size_t done = 0; done < image.len;) {
		ssize_t n = write(fd, image.bytes + done, image.len - done);

		if (n < 0 && errno != EINTR)
			return error_errno(e, errno, "memory for the helper");
		if (n > 0)
			done += (size_t)n;
	}
	*out = take_fd(&fd);
	return ERR_OK;
}

static enum err open_channel(struct channel *c, struct error *e)
{
	enum err kind = open_program(&c->program, e);

	if (!kind)
		kind = open_pipe(&c->to_helper, &c->from_us, e);
	if (!kind)
		kind = open_pipe(&c->to_us, &c->from_helper, e);
	return kind;
}

static enum err spawn(struct helper_process *h, const struct channel *c, int root_fd,
	int staging_fd, struct error *e)
{
	char *const argv[] = { "sandboxfs-helper", "serve", "/proc/self/fd/3/.",
		"/proc/self/fd/4/.", NULL };
	char *const environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	char program[64];
	int failure;

	/* By way of our own /proc entry: the child's copy is closed with all that it is not meant to have. */
	snprintf(program, sizeof program, "/proc/%d/fd/%d", (int)getpid(), c->program);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, c->to_helper, HELPER_IN);
	posix_spawn_file_actions_adddup2(&actions, c->from_helper, HELPER_OUT);
	posix_spawn_file_actions_adddup2(&actions, root_fd, HELPER_ROOT);
	posix_spawn_file_actions_adddup2(&actions, staging_fd, HELPER_STAGING);
	posix_spawn_file_actions_addclosefrom_np(&actions, HELPER_FDS);
	failure = posix_spawn(&h->pid, program, &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (failure)
		h->pid = 0;
	return failure ? error_errno(e, failure, "starting the helper") : ERR_OK;
}
_Static_assert(HELPER_ROOT == 3 && HELPER_STAGING == 4, "spawn() names them");

enum err helper_process_start(struct helper_process *h, int root_fd, int staging_fd,
	const struct call *call, struct error *e)
{
	AUTO_CHANNEL struct channel c = { -1, -1, -1, -1, -1 };
	AUTO_CLOSE int root = fcntl(root_fd, F_DUPFD_CLOEXEC, HELPER_FDS);
	AUTO_CLOSE int staging = fcntl(staging_fd, F_DUPFD_CLOEXEC, HELPER_FDS);
	enum err kind;

	*h = (struct helper_process){ 0 };
	if (root < 0 || staging < 0)
		return error_errno(e, errno, "directories of the helper");
	kind = open_channel(&c, e);
	if (!kind)
		kind = spawn(h, &c, root, staging, e);
	if (!kind)
		kind = helper_client_new(
			&h->client, take_fd(&c.from_us), take_fd(&c.to_us), call, e);
	if (kind)
		helper_process_stop(h);
	return kind;
}

static bool ends_soon(pid_t pid)
{
	AUTO_CLOSE int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { .fd = pid_fd, .events = POLLIN };

	return pid_fd >= 0 && poll(&ended, 1, STOP_MS) > 0;
}

void helper_process_stop(struct helper_process *h)
{
	if (h->client)
		helper_client_free(h->client);
	if (h->pid && !ends_soon(h->pid))
		kill(h->pid, SIGKILL);
	while (h->pid && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*h = (struct helper_process){ 0 };
}
