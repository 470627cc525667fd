#include "cache/blocks/files.h"

#include "cache/blocks/budget.h"
#include "cache/session/disk.h"

#include "providers/base/cleanup.h"
#include "providers/base/hex.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define DEFAULT_MAX ((uint64_t)10 * 1024 * 1024 * 1024)
/* A block's use is written down at most once in this many seconds. */
#define USE_S 60

struct block_files {
	char *path; /* DIR, for messages */
	int dir;    /* DIR */
	int blocks; /* DIR/blocks */
	uint64_t max;
	struct block_budget *budget;
	struct stats *stats;
};

/* ---- The directory ---- */

static int open_folder(int dir, const char *name, bool make)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags);

	if (fd >= 0 || !make || errno != ENOENT)
		return fd;
	if (mkdirat(dir, name, 0700) && errno != EEXIST)
		return -1;
	return openat(dir, name, flags);
}

int block_files_open_extra(const struct block_files *f, const char *name)
{
	return openat(f->dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static uint64_t default_max(int dir, uint64_t used)
{
	struct statvfs space;

	if (fstatvfs(dir, &space))
		return DEFAULT_MAX;
	uint64_t tenth = ((uint64_t)space.f_bavail * space.f_frsize + used) / 10;

	return tenth < DEFAULT_MAX ? tenth : DEFAULT_MAX;
}

static enum err open_all(struct block_files *f, uint64_t max, struct error *e)
{
	enum err kind = disk_open_own(&f->dir, f->path, e);

	if (kind)
		return kind;
	f->blocks = open_folder(f->dir, "blocks", true);
	if (f->blocks < 0)
		return disk_error(f->path, e);
	int usage = block_files_open_extra(f, "usage");

	if (usage < 0)
		return disk_error(f->path, e);
	kind = block_budget_new(&f->budget, f->blocks, usage, f->stats, e);
	if (!kind)
		f->max = max ? max : default_max(f->dir, block_budget_used(f->budget));
	return kind;
}

enum err block_files_open(struct block_files **out, const char *dir, uint64_t max,
	struct stats *stats, struct error *e)
{
	struct block_files *f = calloc(1, sizeof *f);

	if (!f)
		return error_set(e, ERR_NO_MEMORY, "cache");
	f->dir = f->blocks = -1;
	f->stats = stats;
	f->path = strdup(dir);
	enum err kind = f->path ? open_all(f, max, e) : error_set(e, ERR_NO_MEMORY, "cache");

	if (kind)
		block_files_free(f);
	else
		*out = f;
	return kind;
}

void block_files_free(struct block_files *f)
{
	if (!f)
		return;
	block_budget_free(f->budget);
	if (f->blocks >= 0)
		close(f->blocks);
	if (f->dir >= 0)
		close(f->dir);
	free(f->path);
	free(f);
}

uint64_t block_files_max(const struct block_files *f)
{
	return f->max;
}

uint64_t block_files_used(const struct block_files *f)
{
	return block_budget_used(f->budget);
}

const char *block_files_dir(const struct block_files *f)
{
	return f->path;
}

/* ---- One block ---- */

/* 256 folders: more would be larger than the files in them, and 100,000 blocks are 400 in each. */
struct path {
	char folder[3];
	char name[31];
};

static struct path path_of(const struct block_name *name)
{
	struct path path;
	char hex[2 * sizeof name->bytes + 1];

	hex_encode(hex, name->bytes, sizeof name->bytes);
	memcpy(path.folder, hex, 2);
	path.folder[2] = '\0';
	memcpy(path.name, hex + 2, sizeof path.name);
	return path;
}

/* Marks the file as used now, for the search for the least recently used. */
static void touch(int fd, const struct stat *st)
{
	static const struct timespec now[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_nsec = UTIME_NOW } };

	if (st->st_mtim.tv_sec + USE_S < time(NULL))
		futimens(fd, now);
}

static int open_block(const struct block_files *f, const struct path *path, struct stat *st)
{
	AUTO_CLOSE int folder = open_folder(f->blocks, path->folder, false);
	AUTO_CLOSE int fd = folder < 0
		? -1
		: openat(folder, path->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, st))
		return -1;
	return take_fd(&fd);
}

/* Whether the contents have the name's hash; `bytes` gets them, at most `len`. */
static bool is_sound(int fd, const struct block_name *name, void *bytes, size_t len)
{
	if (pread(fd, bytes, len, 0) != (ssize_t)len)
		return false;
	struct block_name is = block_name(bytes, len);

	return block_names_equal(&is, name);
}

/* As is_sound(), for a file that has not the expected length: the expectation may be wrong. */
static bool is_another(int fd, const struct stat *st, const struct block_name *name)
{
	AUTO_FREE unsigned char *bytes = malloc(BLOCK_SIZE);

	return !bytes ||
		(S_ISREG(st->st_mode) && st->st_size <= (off_t)BLOCK_SIZE &&
			is_sound(fd, name, bytes, (size_t)st->st_size));
}

/* Several threads may find the file bad at once: one removes it. */
static void remove_bad(struct block_files *f, const struct path *path, uint64_t size)
{
	AUTO_CLOSE int folder = open_folder(f->blocks, path->folder, false);

	if (folder < 0 || unlinkat(folder, path->name, 0))
		return;
	stats_add(f->stats, STATS_BLOCKS_BAD, 1);
	block_budget_give(f->budget, size);
}

bool block_files_has(struct block_files *f, const struct block_name *name, size_t len)
{
	struct path path = path_of(name);
	struct stat st;
	AUTO_CLOSE int fd = open_block(f, &path, &st);

	return fd >= 0 && (uint64_t)st.st_size == len;
}

bool block_files_get(struct block_files *f, const struct block_name *name, void *out, size_t len)
{
	struct path path = path_of(name);
	struct stat st;
	AUTO_CLOSE int fd = open_block(f, &path, &st);

	if (fd < 0)
		return false;
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == len && is_sound(fd, name, out, len)) {
		touch(fd, &st);
		return true;
	}
	if ((uint64_t)st.st_size == len || !is_another(fd, &st, name))
		remove_bad(f, &path, (uint64_t)st.st_size);
	return false;
}

/* ---- Writing one ---- */

static bool write_all(int fd, const unsigned char *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, bytes + done, len - done);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* The file has a name that only this call has. */
static bool write_aside(int folder, char aside[32], const void *bytes, size_t len)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return false;
	snprintf(aside, 32, BLOCK_ASIDE "%016llx", (unsigned long long)number);
	AUTO_CLOSE int fd =
		openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd >= 0 && write_all(fd, bytes, len);
}

/* false: errno is the reason. */
static bool write_block(
	const struct block_files *f, const struct path *path, const void *bytes, size_t len)
{
	AUTO_CLOSE int folder = open_folder(f->blocks, path->folder, true);
	char aside[32] = "";

	if (folder < 0)
		return false;
	if (write_aside(folder, aside, bytes, len) && !renameat(folder, aside, folder, path->name))
		return true;
	int why = errno;

	unlinkat(folder, aside, 0);
	errno = why;
	return false;
}

enum err block_files_put(struct block_files *f, const struct block_name *name, const void *bytes,
	size_t len, struct error *e)
{
	struct path path = path_of(name);
	struct stat st;
	AUTO_CLOSE int there = open_block(f, &path, &st);

	if (there >= 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == len) {
		touch(there, &st);
		return ERR_OK;
	}
	if (!block_budget_take(f->budget, len, f->max))
		return error_set(e, ERR_NO_SPACE, "more than the cache may take");
	if (write_block(f, &path, bytes, len))
		return ERR_OK;
	block_budget_give(f->budget, len);
	return disk_error(f->path, e);
}
