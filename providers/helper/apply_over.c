/*
 * A staged file is copied over one that stays the inode that it is.
 *
 * A disk may have room for one of the two, but not for both. Then the bytes are moved, from the end
 * to the beginning: a piece is copied, and a hole takes its place in the staged file, whose size
 * stays. So a run that was killed has left in the staged file what is still to be moved, and the
 * hole at its end tells that the move had begun.
 */
#include "providers/base/cleanup.h"
#include "providers/helper/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Moved at once: the disk has room for that much. */
#define MOVED_PIECE ((uint64_t)256 * 1024)

struct pair {
	int from, to;
	struct stat staged, there;
};

/* ---- Moving ---- */

static uint64_t taken(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

static uint64_t free_beside(int fd)
{
	struct statvfs s;

	if (fstatvfs(fd, &s) || !s.f_blocks)
		return UINT64_MAX;
	return (geteuid() ? s.f_bavail : s.f_bfree) * (s.f_frsize ? s.f_frsize : s.f_bsize);
}

static bool is_hole(int fd, off_t at)
{
	return lseek(fd, at, SEEK_DATA) < 0 && errno == ENXIO;
}

static bool ends_with_hole(const struct pair *p)
{
	return p->staged.st_size && is_hole(p->from, p->staged.st_size - 1);
}

/* Up to the end of the piece, also behind the end of the file, so that the last block goes as a whole. */
static int make_hole(int fd, off_t begin)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, (off_t)MOVED_PIECE);
}

/* A hole that is not told would have a run after a kill move zeros: tried on a file without a name. */
static bool tells_holes(int staging)
{
	static const char byte;
	AUTO_CLOSE int fd = openat(staging, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 && pwrite(fd, &byte, 1, 0) == 1 && !is_hole(fd, 0) &&
		pwrite(fd, &byte, 1, (off_t)MOVED_PIECE) == 1 &&
		make_hole(fd, (off_t)MOVED_PIECE) == 0 && is_hole(fd, (off_t)MOVED_PIECE);
}

static bool can_move(const struct work *w, const struct pair *p)
{
	return p->staged.st_dev == p->there.st_dev && p->staged.st_size &&
		free_beside(p->to) >= 2 * MOVED_PIECE && tells_holes(w->at.fd);
}

/* A file that shares its blocks with others of the disk makes less room than it takes. */
static bool lacks_room(const struct pair *p)
{
	uint64_t staged = taken(&p->staged), there = taken(&p->there);

	return staged > there && staged - there > free_beside(p->to);
}

static int move_piece(const struct pair *p, off_t begin, off_t end)
{
	const struct timespec unset = { .tv_nsec = UTIME_OMIT };
	uint64_t count;
	off_t data = lseek(p->from, begin, SEEK_DATA);

	if ((data < 0 && errno == ENXIO) || data >= end)
		return 0;
	if (copy_bytes(p->from, (uint64_t)begin, p->to, (uint64_t)begin, (uint64_t)(end - begin),
		    &count))
		return -1;
	if (make_hole(p->from, begin))
		return -1;
	/* The staged time is what the file is given at last. */
	return futimens(p->from, (const struct timespec[]){ unset, p->staged.st_mtim });
}

static int move_all(const struct pair *p, bool has_begun)
{
	off_t end = p->staged.st_size;

	if (!has_begun && (ftruncate(p->to, 0) || ftruncate(p->to, end)))
		return -1;
	while (end) {
		off_t begin = (end - 1) / (off_t)MOVED_PIECE * (off_t)MOVED_PIECE;

		if (move_piece(p, begin, end))
			return -1;
		end = begin;
	}
	return 0;
}

/* ---- Copying ---- */

static enum err copy_all(struct work *w, const struct pair *p, struct error *e)
{
	const struct change *c = w->change;
	uint64_t size = (uint64_t)p->staged.st_size;

	if (copy_bytes(p->from, 0, p->to, 0, size, &w->result->count))
		return error_errno(e, errno, "%s", c->path2);
	if (w->result->count != size)
		return error_set(e, ERR_STALE, "%s: became shorter", c->path);
	if (ftruncate(p->to, p->staged.st_size))
		return error_errno(e, errno, "%s: truncate", c->path2);
	return ERR_OK;
}

static enum err move_over(struct work *w, const struct pair *p, bool has_begun, struct error *e)
{
	if (move_all(p, has_begun))
		return error_errno(e, errno, "%s", w->change->path2);
	w->result->count = (uint64_t)p->staged.st_size;
	return ERR_OK;
}

/* Nothing of the file that is there is lost where there is no room for the staged one. */
static enum err transfer(struct work *w, const struct pair *p, struct error *e)
{
	bool has_hole = ends_with_hole(p);

	if (has_hole && w->is_again && p->staged.st_dev == p->there.st_dev)
		return move_over(w, p, true, e);
	if (!lacks_room(p))
		return copy_all(w, p, e);
	if (has_hole || !can_move(w, p))
		return error_set(
			e, ERR_NO_SPACE, "%s: no room for what is written", w->change->path2);
	return move_over(w, p, false, e);
}

enum err copy_over(struct work *w, int from, int to, struct error *e)
{
	struct pair p = { .from = from, .to = to };

	if (fstat(from, &p.staged) || fstat(to, &p.there))
		return error_errno(e, errno, "%s", w->change->path);
	enum err k = transfer(w, &p, e);

	if (k != ERR_OK)
		return k;
	/* Not ours to set: then they are those of the copying. */
	futimens(to, (const struct timespec[]){ p.staged.st_atim, p.staged.st_mtim });
	return ERR_OK;
}
