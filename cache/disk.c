#include "cache/disk.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum err disk_error(const char *path, struct error *e)
{
	int number = errno;

	return error_set(e, error_from_errno(number), "%s: %s", path, strerrordesc_np(number));
}

static enum err make_dirs(const char *dir, struct error *e)
{
	AUTO_FREE char *path = strdup(dir);

	if (!path)
		return error_set(e, ERR_NO_MEMORY, "%s", dir);
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(path, 0700) && errno != EEXIST && errno != EROFS && errno != EACCES)
			return disk_error(path, e);
		*slash = '/';
	}
	if (mkdir(path, 0700) && errno != EEXIST)
		return disk_error(path, e);
	return ERR_OK;
}

static enum err open_own(int *out, const char *dir, struct error *e)
{
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return disk_error(dir, e);
	if (st.st_uid != geteuid())
		return error_set(e, ERR_DENIED, "%s belongs to another user", dir);
	if (st.st_mode & 022)
		return error_set(
			e, ERR_DENIED, "%s can be written to by others: chmod 700 it", dir);
	*out = take_fd(&fd);
	return ERR_OK;
}

enum err disk_open_own(int *out, const char *dir, struct error *e)
{
	enum err kind = make_dirs(dir, e);

	return kind ? kind : open_own(out, dir, e);
}
