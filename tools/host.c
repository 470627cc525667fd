#include "tools/host.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

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

/* The program of that name in one of the directories, a list with ':' between; NULL: none. */
static char *find_in(const char *name, const char *directories)
{
	for (const char *dir = directories; *dir;) {
		size_t len = strcspn(dir, ":");
		AUTO_FREE char *path = NULL;
		struct stat facts;

		if (asprintf(&path, "%.*s/%s", (int)len, dir, name) < 0)
			return path = NULL;
		if (!stat(path, &facts) && S_ISREG(facts.st_mode) && !access(path, X_OK))
			return take(path);
		dir += len + (dir[len] == ':');
	}
	return NULL;
}

static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	char *found = path ? find_in(name, path) : NULL;

	return found ? found : find_in(name, "/usr/bin:/bin:/usr/local/bin");
}

bool host_has_program(const char *name)
{
	AUTO_FREE char *path = find_program(name);

	return path;
}

/* A program mounts for ordinary users where set-user-ID root or a capability gives the right. */
static bool has_rights(const char *program)
{
	struct stat facts;
	bool is_set = !stat(program, &facts) && facts.st_mode & S_ISUID && facts.st_uid == 0;

	return is_set || getxattr(program, "security.capability", NULL, 0) > 0;
}

/* Programs then get no more rights than the process that starts them. */
static bool are_rights_ignored(const char *program)
{
	struct statvfs where;

	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
		(!statvfs(program, &where) && where.f_flag & ST_NOSUID);
}

enum err host_check_fusermount(struct error *e)
{
	AUTO_FREE char *program = find_program("fusermount3");

	if (!program)
		return error_set(e, ERR_NOT_FOUND,
			"no fusermount3, which mounts for ordinary users; as root: apt install "
			"fuse3");
	if (!has_rights(program))
		return error_set(e, ERR_DENIED,
			"%s is not set-user-ID, so that only root can mount; as root: chmod u+s %s",
			program, program);
	if (are_rights_ignored(program))
		return error_set(e, ERR_DENIED,
			"%s is not run with root's rights here, for set-user-ID is ignored "
			"(nosuid, or no new privileges); mount as root, or outside of the "
			"container",
			program);
	return ERR_OK;
}
