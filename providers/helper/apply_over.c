/*
 * Copies a staged file over a file whose inode stays.
 */
#include "providers/helper/apply.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static uint64_t free_bytes(int fd)
{
	struct statvfs s;

	if (fstatvfs(fd, &s) || !s.f_blocks)
		return UINT64_MAX;
	return (geteuid() ? s.f_bavail : s.f_bfree) * (s.f_frsize ? s.f_frsize : s.f_bsize);
}

/*
 * Whether the disk lacks room, known before the first byte: a copy that ends half-way would tear
 * the existing file. Holes of the staged file are written as zeros.
 */
static bool lacks_room(const struct stat *staged, const struct stat *there, int to)
{
	uint64_t needed = (uint64_t)staged->st_size, taken = (uint64_t)there->st_blocks * 512;

	return needed > taken && needed - taken > free_bytes(to);
}

static enum err copy_all(struct work *w, int from, int to, off_t size, struct error *e)
{
	const struct change *c = w->change;

	if (copy_bytes(from, 0, to, 0, (uint64_t)size, &w->result->count))
		return error_errno(e, errno, "%s", c->path2);
	if (w->result->count != (uint64_t)size)
		return error_set(e, ERR_STALE, "%s: became shorter", c->path);
	if (ftruncate(to, size))
		return error_errno(e, errno, "%s: truncate", c->path2);
	return ERR_OK;
}

enum err copy_over(struct work *w, int from, int to, struct error *e)
{
	struct stat staged, there;

	if (fstat(from, &staged) || fstat(to, &there))
		return error_errno(e, errno, "%s", w->change->path);
	if (lacks_room(&staged, &there, to))
		return error_set(
			e, ERR_NO_SPACE, "%s: no room for what is written", w->change->path2);
	enum err k = copy_all(w, from, to, staged.st_size, e);

	if (k != ERR_OK)
		return k;
	/* A refusal, for a file of another owner, leaves the times of the copy. */
	futimens(to, (const struct timespec[]){ staged.st_atim, staged.st_mtim });
	return ERR_OK;
}
