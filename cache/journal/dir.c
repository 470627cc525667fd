#include "cache/journal/dir.h"

#include "cache/journal/owner.h"
#include "cache/session/disk.h"
#include "cache/session/fault.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* "segment-0000001f" */
#define NAME_FORMAT "segment-%08" PRIx32
#define NAME_SIZE   sizeof "segment-00000000"
/* Before each further try another owner has just removed the directory. */
#define TRIES_MAX 10
/* The pause between two looks at an owner that is leaving. */
#define LEAVING_LOOK_MS 20

/* ---- The owner ---- */

static enum err conflict(const struct journal_dir *d, const char *who, struct error *e)
{
	return error_set(e, ERR_CONFLICT,
		"%s is in use by %s: one mount of a sandbox at a time keeps its changes there; "
		"unmount that one, or mount with -o journal=DIR or journal=off",
		d->path, who);
}

bool journal_has_owner(const char *dir, char who[JOURNAL_OWNER_MAX])
{
	AUTO_FREE char *path = NULL;

	if (asprintf(&path, "%s/owner", dir) < 0) {
		path = NULL;
		return false;
	}

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || !flock(fd, LOCK_SH | LOCK_NB) || errno != EWOULDBLOCK)
		return false;
	ssize_t len = pread(fd, who, JOURNAL_OWNER_MAX - 1, 0);

	who[len > 0 ? len : 0] = '\0';
	return true;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A former owner may have removed or renamed the directory after it was opened here. */
static bool is_still_there(const struct journal_dir *d)
{
	struct stat dir, named_dir, owner, named_owner;

	return !fstat(d->fd, &dir) && !stat(d->path, &named_dir) && is_same(&dir, &named_dir) &&
		!fstat(d->owner, &owner) && !fstatat(d->fd, "owner", &named_owner, 0) &&
		is_same(&owner, &named_owner);
}

static void close_files(struct journal_dir *d)
{
	if (d->owner >= 0)
		close(take_fd(&d->owner));
	if (d->fd >= 0)
		close(take_fd(&d->fd));
}

static void read_owner(const struct journal_dir *d, char who[JOURNAL_OWNER_MAX])
{
	ssize_t len = pread(d->owner, who, JOURNAL_OWNER_MAX - 1, 0);

	who[len > 0 ? len : 0] = '\0';
	if (len <= 0)
		snprintf(who, JOURNAL_OWNER_MAX, "another process");
}

/* An owner whose mount is gone sends what is left, and ends: umount(8) does not wait for that. */
static enum err await_owner(
	const struct journal_dir *d, const struct call *call, int64_t end_ms, struct error *e)
{
	char who[JOURNAL_OWNER_MAX];

	read_owner(d, who);
	if (!call || !journal_owner_is_leaving(who) || monotonic_ms() >= end_ms)
		return conflict(d, who, e);
	return call_sleep(call, LEAVING_LOOK_MS, e);
}

static enum err lock_owner(struct journal_dir *d, const struct call *call, struct error *e)
{
	int64_t limit_ms = call_progress_ms(call);
	int64_t end_ms = limit_ms < 0 ? INT64_MAX : monotonic_ms() + limit_ms;
	enum err kind = ERR_OK;

	d->owner = openat(d->fd, "owner", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->owner < 0)
		return disk_error(d->path, e);
	while (!kind && flock(d->owner, LOCK_EX | LOCK_NB))
		kind = errno == EWOULDBLOCK ? await_owner(d, call, end_ms, e)
					    : disk_error(d->path, e);
	return kind;
}

static enum err open_and_lock(struct journal_dir *d, const struct call *call, struct error *e)
{
	for (int n = 0; n < TRIES_MAX; n++) {
		enum err kind = disk_open_own(&d->fd, d->path, e);

		if (!kind)
			kind = lock_owner(d, call, e);
		if (kind != ERR_NOT_FOUND && (kind || is_still_there(d)))
			return kind;
		close_files(d);
	}
	return error_set(e, ERR_BUSY, "%s is removed again and again by others", d->path);
}

static enum err name_owner(const struct journal_dir *d, const char *mount, struct error *e)
{
	char who[JOURNAL_OWNER_MAX];
	int len = journal_owner_text(who, mount);

	/* The order is for file systems that flush a file which was emptied and written again. */
	if (pwrite(d->owner, who, (size_t)len, 0) != len || ftruncate(d->owner, len))
		return disk_error(d->path, e);
	return ERR_OK;
}

/* ---- The sandbox of a journal ---- */

/* Reads a whole line; 0: there is none. */
static size_t read_source(int fd, char source[JOURNAL_SOURCE_MAX])
{
	ssize_t len = pread(fd, source, JOURNAL_SOURCE_MAX, 0);

	if (len <= 0 || source[len - 1] != '\n')
		return 0;
	source[len - 1] = '\0';
	return (size_t)len;
}

static enum err write_source(
	const struct journal_dir *d, int fd, const char *source, struct error *e)
{
	struct iovec line[] = { { .iov_base = (char *)source, .iov_len = strlen(source) },
		{ .iov_base = (char *)"\n", .iov_len = 1 } };

	if (ftruncate(fd, 0) || pwritev(fd, line, 2, 0) != (ssize_t)line[0].iov_len + 1)
		return disk_error(d->path, e);
	return ERR_OK;
}

/* Another sandbox would refuse the changes one by one, for as many files as it has. */
static enum err refuse_source(const struct journal_dir *d, const char *was, struct error *e)
{
	return error_set(e, ERR_CONFLICT,
		"%s has changes of %s: move it back to its place; if that is this sandbox by "
		"another "
		"name, remove the file sandbox in it; or mount with -o journal=DIR",
		d->path, was);
}

/* A directory of an earlier version, or an empty one, takes the sandbox that it is opened for. */
static enum err check_source(const struct journal_dir *d, const char *source, struct error *e)
{
	AUTO_CLOSE int fd =
		openat(d->fd, "sandbox", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	AUTO_FREE uint32_t *ordinals = NULL;
	char was[JOURNAL_SOURCE_MAX];
	size_t count;

	if (fd < 0)
		return disk_error(d->path, e);
	size_t len = read_source(fd, was);

	if (len && !strcmp(was, source))
		return ERR_OK;
	enum err kind = journal_dir_list(d, &ordinals, &count, e);

	if (kind)
		return kind;
	return len && count ? refuse_source(d, was, e) : write_source(d, fd, source, e);
}

/* The path has no slash at its end, so that another name can be made of it. */
static char *copy_path(const char *dir)
{
	char *path = strdup(dir);

	for (size_t len = path ? strlen(path) : 0; len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	return path;
}

enum err journal_dir_open(
	struct journal_dir *d, const struct journal_options *options, struct error *e)
{
	*d = JOURNAL_DIR_NONE;
	if (!options->dir)
		return ERR_OK;
	d->path = copy_path(options->dir);
	enum err kind = d->path ? open_and_lock(d, options->call, e)
				: error_set(e, ERR_NO_MEMORY, "journal");

	if (!kind)
		kind = name_owner(d, options->mount, e);
	if (!kind && options->source)
		kind = check_source(d, options->source, e);
	if (kind)
		journal_dir_close(d, false);
	return kind;
}

void journal_dir_close(struct journal_dir *d, bool remove)
{
	if (remove && d->path) {
		unlinkat(d->fd, "sandbox", 0);
		unlinkat(d->fd, "owner", 0);
		rmdir(d->path);
	}
	close_files(d);
	free(take(d->path));
}

enum err journal_dir_set_aside(struct journal_dir *d, const struct journal_options *options,
	const char *why, struct error *e)
{
	AUTO_FREE char *aside = NULL;
	struct timespec now = time_of_day();

	if (asprintf(&aside, "%s.unreadable-%lld.%09ld", d->path, (long long)now.tv_sec,
		    now.tv_nsec) < 0)
		return error_set(e, ERR_NO_MEMORY, "journal");
	if (rename(d->path, aside))
		return disk_error(d->path, e);
	fault_point("journal.aside");
	log_error(LOG_CACHE,
		"%s: changes that the sandbox does not have cannot be read: kept as %s", why,
		aside);
	journal_dir_close(d, false);
	return journal_dir_open(d, options, e);
}

/* ---- Segments ---- */

static void name_of(uint32_t ordinal, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, NAME_FORMAT, ordinal);
}

/* 0: the file is no segment. */
static uint32_t ordinal_of(const char *file)
{
	uint32_t ordinal;
	char name[NAME_SIZE];

	if (sscanf(file, "segment-%8" SCNx32, &ordinal) != 1)
		return 0;
	name_of(ordinal, name);
	return strcmp(name, file) ? 0 : ordinal;
}

static int is_segment(const struct dirent *entry)
{
	return ordinal_of(entry->d_name) != 0;
}

enum err journal_dir_list(
	const struct journal_dir *d, uint32_t **ordinals, size_t *count, struct error *e)
{
	struct dirent **entries = NULL;
	int found = d->path ? scandirat(d->fd, ".", &entries, is_segment, alphasort) : 0;

	if (found < 0)
		return disk_error(d->path, e);
	*count = (size_t)found;
	*ordinals = calloc(*count + 1, sizeof **ordinals);
	for (size_t n = 0; n < *count; n++) {
		if (*ordinals)
			(*ordinals)[n] = ordinal_of(entries[n]->d_name);
		free(entries[n]);
	}
	free(entries);
	return *ordinals ? ERR_OK : error_set(e, ERR_NO_MEMORY, "journal");
}

static enum err open_unnamed(int *fd, char **path, struct error *e)
{
	const char *dir = secure_getenv("TMPDIR");

	if (asprintf(path, "%s/sandboxfs-XXXXXX", dir && *dir ? dir : P_tmpdir) < 0)
		return error_set(e, ERR_NO_MEMORY, "journal");
	*fd = mkostemp(*path, O_CLOEXEC);
	if (*fd >= 0) {
		unlink(*path);
		return ERR_OK;
	}
	enum err kind = disk_error(*path, e);

	free(take(*path));
	return kind;
}

enum err journal_dir_file(const struct journal_dir *d, uint32_t ordinal, bool make, int *fd,
	char **path, struct error *e)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0);
	char name[NAME_SIZE];

	if (!d->path)
		return open_unnamed(fd, path, e);
	name_of(ordinal, name);
	*fd = openat(d->fd, name, flags, 0600);
	if (*fd < 0)
		return disk_error(d->path, e);
	if (asprintf(path, "%s/%s", d->path, name) < 0)
		*path = NULL;
	return ERR_OK;
}

void journal_dir_unlink(const struct journal_dir *d, uint32_t ordinal)
{
	char name[NAME_SIZE];

	name_of(ordinal, name);
	if (d->path)
		unlinkat(d->fd, name, 0);
}
