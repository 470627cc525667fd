#include "providers/spawn.h"

#include "providers/base/cleanup.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>

int spawn_fd(int fd)
{
	AUTO_CLOSE int low = fd;

	if (fd < 0 || fd >= SPAWN_FDS_MAX)
		return take_fd(&low);
	return fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FDS_MAX);
}

enum err spawn_memory(const void *bytes, size_t len, const char *what, int *out, struct error *e)
{
	AUTO_CLOSE int fd = spawn_fd(memfd_create("sandboxfs", MFD_CLOEXEC | MFD_ALLOW_SEALING));

	if (fd < 0)
		return error_errno(e, errno, "memory for %s", what);
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, (const char *)bytes + done, len - done, (off_t)done);

		if (n < 0 && errno != EINTR)
			return error_errno(e, errno, "memory for %s", what);
		if (n > 0)
			done += (size_t)n;
	}
	*out = take_fd(&fd);
	return ERR_OK;
}

enum err spawn_pipe(int *read_end, int *write_end, const char *what, struct error *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return error_errno(e, errno, "pipe for %s", what);
	*read_end = spawn_fd(ends[0]);
	*write_end = spawn_fd(ends[1]);
	if (*read_end < 0 || *write_end < 0)
		return error_errno(e, errno, "pipe for %s", what);
	return ERR_OK;
}

static void set_attributes(posix_spawnattr_t *attributes, unsigned flags)
{
	short wanted = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	if (flags & SPAWN_APART)
		wanted |= POSIX_SPAWN_SETSID;
	posix_spawnattr_setflags(attributes, wanted);
}

static enum err spawn(pid_t *pid, const char *program, unsigned flags, char *const *argv,
	const int *fds, size_t fds_count, struct error *e)
{
	static char *const nothing[] = { NULL };
	char *const *environment = flags & SPAWN_INHERITS ? environ : nothing;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int failure;

	assert(fds_count <= SPAWN_FDS_MAX);
	posix_spawnattr_init(&attributes);
	set_attributes(&attributes, flags);
	posix_spawn_file_actions_init(&actions);
	for (size_t i = 0; i < fds_count; i++)
		if (fds[i] >= 0)
			posix_spawn_file_actions_adddup2(&actions, fds[i], (int)i);
	posix_spawn_file_actions_addclosefrom_np(&actions, (int)fds_count);
	failure = (flags & SPAWN_INHERITS ? posix_spawnp : posix_spawn)(
		pid, program, &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (!failure)
		return ERR_OK;
	*pid = 0;
	return error_errno(e, failure, "starting %s", argv[0]);
}

enum err spawn_client(pid_t *pid, unsigned flags, char *const *argv, const int *fds,
	size_t fds_count, struct error *e)
{
	return spawn(pid, argv[0], flags, argv, fds, fds_count, e);
}

enum err spawn_program(pid_t *pid, const char *program, char *const *argv, const int *fds,
	size_t fds_count, struct error *e)
{
	return spawn(pid, program, 0, argv, fds, fds_count, e);
}
