#include "providers/helper/pin.h"

#include "providers/base/path.h"
#include "providers/helper/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

void pin_path(int pin, char out[PIN_PATH_SIZE])
{
	snprintf(out, PIN_PATH_SIZE, "/proc/self/fd/%d", pin);
}

/* A held inode always exists: ENOENT means that /proc is missing. */
static ssize_t without_proc(ssize_t result)
{
	if (result < 0 && errno == ENOENT)
		errno = EOPNOTSUPP;
	return result;
}

int pin_open(int pin, int flags)
{
	char path[PIN_PATH_SIZE];
	int fd;

	pin_path(pin, path);
	/*
	 * Without O_NONBLOCK the open waits for the holder of a lease on the file (fcntl(2)),
	 * without limit.
	 */
	fd = (int)without_proc(open(path, flags | O_NONBLOCK | O_CLOEXEC));
	if (fd < 0 && errno == EAGAIN)
		errno = EBUSY;
	/* This open needs the right to search, too, so it is only the second choice. */
	if (fd < 0 && errno == EOPNOTSUPP && flags & O_DIRECTORY)
		fd = openat(pin, ".", flags | O_CLOEXEC);
	return fd;
}

int pin_open_dir(int pin)
{
	int fd = pin_open(pin, O_RDONLY | O_DIRECTORY | O_NOATIME);

	/* EPERM: the directory has another owner. */
	return fd < 0 && errno == EPERM ? pin_open(pin, O_RDONLY | O_DIRECTORY) : fd;
}

int pin_chmod(int pin, mode_t mode)
{
	char path[PIN_PATH_SIZE];

	pin_path(pin, path);
	if (chmod(path, mode) == 0)
		return 0;
	if (errno != ENOENT)
		return -1;
	if (sys_chmod_held(pin, mode) == 0)
		return 0;
	if (errno == ENOSYS)
		errno = EOPNOTSUPP;
	return -1;
}

int pin_chown(int pin, uid_t uid, gid_t gid)
{
	return fchownat(pin, "", uid, gid, AT_EMPTY_PATH);
}

int pin_utimens(int pin, const struct timespec times[2])
{
	char path[PIN_PATH_SIZE];

	/* Supported since Linux 5.8; EINVAL before. */
	if (utimensat(pin, "", times, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	pin_path(pin, path);
	return (int)without_proc(utimensat(AT_FDCWD, path, times, 0));
}

ssize_t pin_listxattr(int pin, char *names, size_t size)
{
	char path[PIN_PATH_SIZE];

	pin_path(pin, path);
	return without_proc(listxattr(path, names, size));
}

ssize_t pin_listxattr_at(int pin, const char *name, char *names, size_t size)
{
	char path[PIN_PATH_SIZE + 1 + PATH_NAME_MAX];

	if (!*name)
		return pin_listxattr(pin, names, size);
	pin_path(pin, path);
	snprintf(path + strlen(path), sizeof path - PIN_PATH_SIZE, "/%s", name);
	return llistxattr(path, names, size);
}

ssize_t pin_getxattr(int pin, const char *name, void *value, size_t size)
{
	char path[PIN_PATH_SIZE];

	pin_path(pin, path);
	return without_proc(getxattr(path, name, value, size));
}

int pin_setxattr(int pin, const char *name, const void *value, size_t len, int flags)
{
	char path[PIN_PATH_SIZE];

	pin_path(pin, path);
	return (int)without_proc(setxattr(path, name, value, len, flags));
}

int pin_removexattr(int pin, const char *name)
{
	char path[PIN_PATH_SIZE];

	pin_path(pin, path);
	return (int)without_proc(removexattr(path, name));
}
