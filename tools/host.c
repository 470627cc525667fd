#include "tools/host.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FUSE_DEVICE "/dev/fuse"

enum err host_check_device(struct error *e)
{
	AUTO_CLOSE int fd = open(FUSE_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return ERR_OK;
	switch (errno) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return error_set(e, ERR_UNSUPPORTED,
			"no " FUSE_DEVICE "; load the kernel's module as root: modprobe fuse (in a "
			"container: --device " FUSE_DEVICE " --cap-add SYS_ADMIN)");
	case EACCES:
		return error_set(e, ERR_DENIED,
			FUSE_DEVICE
			": permission denied; let everyone in as root: chmod 666 " FUSE_DEVICE);
	case EPERM:
		return error_set(e, ERR_NOT_OWNER,
			FUSE_DEVICE ": forbidden here; give the container --device " FUSE_DEVICE
				    " --cap-add SYS_ADMIN");
	default: return error_errno(e, errno, FUSE_DEVICE ": cannot be opened");
	}
}

/* Whether a program of that name is in one of the directories, a list with ':' between. */
static bool is_in(const char *name, const char *directories)
{
	for (const char *dir = directories; *dir;) {
		size_t len = strcspn(dir, ":");
		AUTO_FREE char *path = NULL;
		struct stat facts;

		if (asprintf(&path, "%.*s/%s", (int)len, dir, name) < 0)
			return false;
		if (!stat(path, &facts) && S_ISREG(facts.st_mode) && !access(path, X_OK))
			return true;
		dir += len + (dir[len] == ':');
	}
	return false;
}

bool host_has_program(const char *name)
{
	const char *path = getenv("PATH");

	return (path && is_in(name, path)) || is_in(name, "/usr/bin:/bin:/usr/local/bin");
}

enum err host_check_fusermount(struct error *e)
{
	if (geteuid() == 0 || host_has_program("fusermount3"))
		return ERR_OK;
	return error_set(e, ERR_NOT_FOUND,
		"no fusermount3, which mounts for ordinary users; as root: apt install fuse3");
}
