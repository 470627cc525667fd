#include "providers/client/process.h"

#include "providers/base/cleanup.h"
#include "providers/client/image.h"
#include "providers/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* A helper whose input has ended finishes its work; after this time it is killed. */
#define STOP_MS 5000

/* The descriptors the program is started with; standard error is ours. */
enum helper_fd {
	HELPER_IN,
	HELPER_OUT,
	HELPER_ERR,
	HELPER_BASE,
	HELPER_STAGING,
	HELPER_PROGRAM,
	HELPER_FDS
};

/* `ends` are open only until the helper runs; -1: none. */
struct channel {
	struct helper_ends ends;
	int from_us, to_us;
};

static void channel_release(struct channel *c)
{
	cleanup_close(&c->ends.to_helper);
	cleanup_close(&c->ends.from_helper);
	cleanup_close(&c->ends.program);
	cleanup_close(&c->from_us);
	cleanup_close(&c->to_us);
}
#define AUTO_CHANNEL __attribute__((cleanup(channel_release)))

/* The program for this machine, as a file in memory. */
static enum err open_program(int *out, struct error *e)
{
	AUTO_BUF struct buf program = { 0 };
	struct helper_image image;
	struct utsname machine;
	enum err kind;

	uname(&machine);
	if (!helper_image_find(machine.machine, &image))
		return error_set(e, ERR_UNSUPPORTED, "no helper program for %s", machine.machine);
	kind = helper_image_unpack(&image, &program, e);
	return kind ? kind : spawn_memory(program.bytes, program.len, "the helper", out, e);
}

static enum err open_channel(struct channel *c, struct error *e)
{
	enum err kind = open_program(&c->ends.program, e);

	if (!kind)
		kind = spawn_pipe(&c->ends.to_helper, &c->from_us, "the helper", e);
	if (!kind)
		kind = spawn_pipe(&c->to_us, &c->ends.from_helper, "the helper", e);
	return kind;
}

enum err helper_process_start_by(struct helper_process *h, helper_starter start, void *context,
	const struct call *call, struct error *e)
{
	AUTO_CHANNEL struct channel c = { { -1, -1, -1 }, -1, -1 };
	enum err kind = open_channel(&c, e);

	*h = (struct helper_process){ 0 };
	if (!kind)
		kind = start(context, &c.ends, &h->pid, e);
	if (!kind) {
		/* Were these open here, an end of the helper's would not be noticed. */
		close(take_fd(&c.ends.to_helper));
		close(take_fd(&c.ends.from_helper));
	}
	if (!kind)
		kind = helper_client_new(
			&h->client, take_fd(&c.from_us), take_fd(&c.to_us), call, e);
	if (kind)
		helper_process_stop(h);
	return kind;
}

/* ---- The helper beside us ---- */

struct directories {
	int base_fd, staging_fd;
	const char *dir;
};

static enum err start_here(
	void *context, const struct helper_ends *ends, pid_t *pid, struct error *e)
{
	const struct directories *d = context;
	char *const argv[] = { "sandboxfs-helper", "serve", "-b", "/proc/self/fd/3/.",
		(char *)d->dir, "/proc/self/fd/4/.", NULL };
	const int fds[HELPER_FDS] = { ends->to_helper, ends->from_helper, -1, d->base_fd,
		d->staging_fd, ends->program };

	/*
	 * By the child's own /proc entry: ours is closed to every other process when this process
	 * has a key (tools/secrecy.h).
	 */
	return spawn_program(pid, "/proc/self/fd/5", argv, fds, HELPER_FDS, e);
}
_Static_assert(
	HELPER_BASE == 3 && HELPER_STAGING == 4 && HELPER_PROGRAM == 5, "start_here() names them");

enum err helper_process_start(struct helper_process *h, int base_fd, const char *dir,
	int staging_fd, const struct call *call, struct error *e)
{
	AUTO_CLOSE int base = fcntl(base_fd, F_DUPFD_CLOEXEC, SPAWN_FDS_MAX);
	AUTO_CLOSE int staging = fcntl(staging_fd, F_DUPFD_CLOEXEC, SPAWN_FDS_MAX);
	struct directories d = { .base_fd = base, .staging_fd = staging, .dir = dir };

	*h = (struct helper_process){ 0 };
	if (base < 0 || staging < 0)
		return error_errno(e, errno, "directories of the helper");
	return helper_process_start_by(h, start_here, &d, call, e);
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
