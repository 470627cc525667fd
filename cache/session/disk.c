#include "cache/session/disk.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <stdbool.h>
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

/*
 * In a user namespace root's directories are another user's. The owner of "/" controls every path.
 */
static bool is_safe_owner(uid_t uid)
{
	struct stat root;

	return uid == 0 || uid == geteuid() || (!stat("/", &root) && uid == root.st_uid);
}

static enum err check_step(const char *path, const struct stat *st, struct error *e)
{
	if (!is_safe_owner(st->st_uid))
		return error_set(e, ERR_DENIED, "%s %s another user", path,
			S_ISLNK(st->st_mode) ? "is a link of" : "belongs to");
	if (S_ISDIR(st->st_mode) && (st->st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
		return error_set(
			e, ERR_DENIED, "%s can be written to by everybody: chmod o-w it", path);
	return ERR_OK;
}

static enum err check_own(const char *dir, const struct stat *st, struct error *e)
{
	if (st->st_uid != geteuid())
		return error_set(e, ERR_DENIED, "%s belongs to another user", dir);
	if (st->st_mode & 022)
		return error_set(
			e, ERR_DENIED, "%s can be written to by others: chmod 700 it", dir);
	return ERR_OK;
}

enum err disk_check_way(const char *dir, struct error *e)
{
	AUTO_FREE char *path = strdup(dir);
	enum err kind = path ? ERR_OK : error_set(e, ERR_NO_MEMORY, "%s", dir);
	struct stat st;

	for (char *slash = path; !kind && (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		/* A directory made below belongs to this user, or the call fails. */
		if (lstat(path, &st))
			return ERR_OK;
		kind = check_step(path, &st, e);
		*slash = '/';
	}
	if (!kind && !lstat(dir, &st) && S_ISLNK(st.st_mode))
		kind = check_step(dir, &st, e);
	return kind || stat(dir, &st) ? kind : check_own(dir, &st, e);
}

static enum err open_own(int *out, const char *dir, struct error *e)
{
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return disk_error(dir, e);

	enum err kind = check_own(dir, &st, e);

	if (!kind)
		*out = take_fd(&fd);
	return kind;
}

enum err disk_open_own(int *out, const char *dir, struct error *e)
{
	enum err kind = make_dirs(dir, e);

	return kind ? kind : open_own(out, dir, e);
}
