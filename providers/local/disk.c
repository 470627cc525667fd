#include "providers/local/disk.h"

#include "providers/base/cleanup.h"
#include "providers/local/store.h"
#include "providers/spawn.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MIB        ((int64_t)1024 * 1024)
#define NAME_SIZE  (LOCAL_NAME_MAX + 8)
#define OPEN_FLAGS (O_RDWR | O_NOFOLLOW | O_CLOEXEC)
#define MKFS       "/sbin/mkfs.ext4"
#define MOUNT      "/bin/mount"
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void name_image(const char *name, char out[NAME_SIZE])
{
	snprintf(out, NAME_SIZE, ".%s.disk", name);
}

/* The output of the program is dropped. */
static enum err run(const char *const *words, struct error *e)
{
	AUTO_CLOSE int nothing = spawn_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
	const int fds[] = { nothing, nothing, nothing };
	int status = 0;
	pid_t pid;
	enum err kind = spawn_program(&pid, words[0], (char *const *)words, fds, 3, e);

	while (!kind && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!kind && status)
		kind = ERR_IO;
	return kind ? error_set(e, ERR_UNSUPPORTED,
			      "local: no disk of its own can be made here: %s failed", words[0])
		    : ERR_OK;
}

static bool is_mounted(int store, const char *name)
{
	struct stat above, here;

	return !fstat(store, &above) && !fstatat(store, name, &here, AT_SYMLINK_NOFOLLOW) &&
		above.st_dev != here.st_dev;
}

/* ---- Making a disk ---- */

static enum err check_new(int store, const char *name, struct error *e)
{
	char tree[NAME_SIZE];

	if (geteuid())
		return error_set(e, ERR_UNSUPPORTED,
			"local: a disk of its own is mounted, which takes root; leave its size "
			"out");
	snprintf(tree, sizeof tree, "%s/tree", name);
	if (faccessat(store, tree, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return error_set(e, ERR_INVALID,
			"local:%s was made without a disk of its own; delete it, or leave the "
			"size out",
			name);
	return ERR_OK;
}

static enum err make_image(
	int store, const char *path, const char *image, int64_t mb, struct error *e)
{
	AUTO_CLOSE int fd = openat(store, image, OPEN_FLAGS | O_CREAT | O_EXCL, 0600);
	AUTO_FREE char *whole = NULL;
	enum err kind = ERR_OK;

	if (fd < 0 || ftruncate(fd, mb * MIB))
		kind = error_errno(e, errno, "local: %s/%s", path, image);
	if (!kind && asprintf(&whole, "%s/%s", path, image) < 0) {
		whole = NULL;
		kind = error_set(e, ERR_NO_MEMORY, "local");
	}
	if (!kind)
		kind = run(WORDS(MKFS, "-q", "-F", "-m", "0", whole), e);
	return kind;
}

/*
 * An image has its name once it is whole, because the next who opens the sandbox mounts it. One
 * process makes disks at a time; an image that is not whole then is that of a killed process.
 */
static enum err make_whole(
	int store, const char *path, const char *image, int64_t mb, struct error *e)
{
	char partial[NAME_SIZE + sizeof ".new"];
	enum err kind;

	snprintf(partial, sizeof partial, "%s.new", image);
	if (flock(store, LOCK_EX))
		return error_errno(e, errno, "local: %s", path);
	unlinkat(store, partial, 0);
	kind = make_image(store, path, partial, mb, e);
	if (!kind && renameat2(store, partial, store, image, RENAME_NOREPLACE) && errno != EEXIST)
		kind = error_errno(e, errno, "local: %s/%s", path, image);
	unlinkat(store, partial, 0);
	flock(store, LOCK_UN);
	return kind;
}

/* ---- Mounting a disk ---- */

static enum err mount_image(
	int store, const char *path, const char *image, const char *name, struct error *e)
{
	AUTO_FREE char *from = NULL, *to = NULL;

	if (mkdirat(store, name, 0700) && errno != EEXIST)
		return error_errno(e, errno, "local: %s/%s", path, name);
	if (asprintf(&from, "%s/%s", path, image) < 0)
		from = NULL;
	if (asprintf(&to, "%s/%s", path, name) < 0)
		to = NULL;
	if (!from || !to)
		return error_set(e, ERR_NO_MEMORY, "local");
	return run(WORDS(MOUNT, "-o", "loop,nosuid", "-t", "ext4", from, to), e);
}

/* Takes the lock of the image, so that one process at a time mounts it. */
static enum err hold(
	int store, const char *image, int64_t asked_mb, int *fd, int64_t *mb, struct error *e)
{
	struct stat st;

	*fd = openat(store, image, OPEN_FLAGS);
	if (*fd < 0 || flock(*fd, LOCK_EX) || fstat(*fd, &st))
		return error_errno(e, errno, "local: %s", image);
	*mb = st.st_size / MIB;
	return !asked_mb || asked_mb == *mb
		? ERR_OK
		: error_set(e, ERR_INVALID,
			  "local: %s: the sandbox was made with a disk of %lld MiB", image,
			  (long long)*mb);
}

enum err local_disk_open(int store, const char *path, const char *name, int64_t asked_mb,
	int64_t *mb, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	char image[NAME_SIZE];
	bool is_there;
	enum err kind = ERR_OK;

	*mb = 0;
	name_image(name, image);
	is_there = !faccessat(store, image, F_OK, AT_SYMLINK_NOFOLLOW);
	if (!is_there && !asked_mb)
		return ERR_OK;
	if (!is_there)
		kind = check_new(store, name, e);
	if (!kind && !is_there)
		kind = make_whole(store, path, image, asked_mb, e);
	if (!kind)
		kind = hold(store, image, asked_mb, &fd, mb, e);
	if (kind || is_mounted(store, name))
		return kind;
	return mount_image(store, path, image, name, e);
}

/* ---- Removing a disk ---- */

bool local_disk_remove(int store, const char *path, const char *name)
{
	AUTO_FREE char *mounted = NULL;
	char image[NAME_SIZE];

	name_image(name, image);
	if (faccessat(store, image, F_OK, AT_SYMLINK_NOFOLLOW))
		return false;
	if (asprintf(&mounted, "%s/%s", path, name) < 0)
		mounted = NULL;
	if (mounted && is_mounted(store, name))
		umount2(mounted, MNT_DETACH);
	unlinkat(store, image, 0);
	return true;
}
