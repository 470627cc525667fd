#include "providers/base/cleanup.h"
#include "providers/helper/apply.h"
#include "providers/helper/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/*
 * FALLOC_FL_COLLAPSE_RANGE and FALLOC_FL_INSERT_RANGE of <linux/falloc.h>, which not every libc
 * has.
 */
#define FALLOCATE_SHIFTS (0x08 | 0x20)

/* ---- Writing ---- */

/*
 * A new file with a part missing never gets its name, so its room goes to the changes behind it in
 * the batch. The staged name is removed, too: a repeated change must not go on with an emptied
 * file.
 */
static void give_room_back(const struct work *w, int fd)
{
	if (w->at.is_staged && !strncmp(w->at.name, STAGED_NEW, strlen(STAGED_NEW)) &&
		!unlinkat(w->at.fd, w->at.name, 0))
		(void)!ftruncate(fd, 0);
}

static enum err write_failed(const struct work *w, int fd, int number, struct error *e)
{
	if (number == ENOSPC || number == EDQUOT)
		give_room_back(w, fd);
	return error_errno(e, number, "%s: write", w->change->path);
}

/* The written part counts also when the rest failed. */
static enum err write_all(struct work *w, int fd, bool at_offset, struct error *e)
{
	const struct change *c = w->change;
	uint64_t *count = &w->result->count;

	while (*count < c->data_len) {
		const char *rest = (const char *)c->data + *count;
		size_t len = c->data_len - *count;
		ssize_t n = at_offset ? pwrite(fd, rest, len, (off_t)(c->offset + *count))
				      : write(fd, rest, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return write_failed(w, fd, errno, e);
		*count += (uint64_t)n;
	}
	return ERR_OK;
}

void work_set_mtime(const struct work *w, int fd)
{
	const struct timespec unset = { .tv_nsec = UTIME_OMIT };

	if (w->change->set & SET_MTIME)
		pin_utimens(fd, (const struct timespec[]){ unset, w->change->mtime });
}

enum err work_write(struct work *w, int fd, struct error *e)
{
	enum err k = write_all(w, fd, true, e);

	if (k == ERR_OK)
		work_set_mtime(w, fd);
	return k;
}

enum err change_write(struct work *w, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	enum err k = work_open_writer(w, &w->change->target, &fd, e);

	if (k == ERR_OK)
		k = work_write(w, fd, e);
	return k == ERR_OK ? work_done(w, fd, e) : k;
}

/*
 * How many bytes of the change a killed run appended: those behind the earlier size, if they are
 * equal to ours.
 */
static size_t appended_before(const struct work *w, int fd, uint64_t size)
{
	const struct change *c = w->change;
	uint64_t more = size > w->before.size ? size - w->before.size : 0;
	size_t len = more < c->data_len ? (size_t)more : c->data_len;
	AUTO_FREE void *there = malloc(len + 1);

	if (!there || pread(fd, there, len, (off_t)w->before.size) != (ssize_t)len)
		return 0;
	return len && memcmp(there, c->data, len) == 0 ? len : 0;
}

/*
 * An append by another process behind a part of ours has cut ours off: the change is then written
 * again, whole.
 */
static size_t count_appended(const struct work *w, int fd)
{
	struct attr now;
	size_t len;

	if (!w->is_again || attr_of_fd(fd, &now, NULL) != ERR_OK)
		return 0;
	len = appended_before(w, fd, now.size);
	return len == w->change->data_len || w->before.size + len == now.size ? len : 0;
}

/*
 * Opens the file also for reading when the change is repeated: the bytes appended before are
 * compared.
 */
static enum err open_appended(struct work *w, int *out_fd, struct error *e)
{
	return work_open(w, (w->is_again ? O_RDWR : O_WRONLY) | O_APPEND, out_fd, e);
}

enum err change_append(struct work *w, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	enum err k = open_appended(w, &fd, e);
	off_t end;

	if (k != ERR_OK)
		return k;
	w->result->count = count_appended(w, fd);
	if (w->result->count && w->result->count == w->change->data_len) {
		w->result->offset = w->before.size;
		work_set_mtime(w, fd);
		return work_done(w, fd, e);
	}
	k = write_all(w, fd, false, e);
	if (k != ERR_OK)
		return k;
	/* O_APPEND leaves the descriptor's position behind what it wrote. */
	end = lseek(fd, 0, w->change->data_len ? SEEK_CUR : SEEK_END);
	if (end < 0)
		return error_errno(e, errno, "%s: lseek", w->change->path);
	w->result->offset = (uint64_t)end - w->result->count;
	work_set_mtime(w, fd);
	return work_done(w, fd, e);
}

/* A range that a killed run cut out or put in must not be cut out or put in again. */
static bool is_shifted(const struct work *w, int fd)
{
	struct attr now;

	return w->is_again && w->change->mode & FALLOCATE_SHIFTS &&
		attr_of_fd(fd, &now, NULL) == ERR_OK && now.size != w->before.size;
}

enum err change_fallocate(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int fd = -1;
	int result;
	enum err k;

	if (c->length > INT64_MAX)
		return error_set(e, ERR_INVALID, "%s: no such length", c->path);
	k = work_open(w, O_WRONLY, &fd, e);
	if (k != ERR_OK)
		return k;
	if (is_shifted(w, fd))
		return work_done(w, fd, e);
	do
		result = fallocate(fd, (int)c->mode, (off_t)c->offset, (off_t)c->length);
	while (result < 0 && errno == EINTR);
	return result ? error_errno(e, errno, "%s: fallocate", c->path) : work_done(w, fd, e);
}

/* ---- Copying ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The length, limited to what offsets can express. */
static uint64_t length_of(const struct change *c)
{
	uint64_t furthest = c->offset > c->offset2 ? c->offset : c->offset2;
	uint64_t most = INT64_MAX - furthest;

	return c->length < most ? c->length : most;
}

static enum err check_overlap(const struct change *c, int from, int to, struct error *e)
{
	struct attr a, b;
	enum err k = attr_of_fd(from, &a, e);

	if (k == ERR_OK)
		k = attr_of_fd(to, &b, e);
	if (k != ERR_OK)
		return k;
	if (a.dev == b.dev && a.ino == b.ino && distance(c->offset, c->offset2) < length_of(c))
		return error_set(e, ERR_INVALID, "%s: the ranges overlap", c->path);
	return ERR_OK;
}

enum err change_copy(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int from = -1, to = -1;
	enum err k = work_open(w, O_RDONLY, &from, e);

	if (k == ERR_OK)
		k = work_open2(w, O_WRONLY, &to, e);
	if (k == ERR_OK)
		k = check_overlap(c, from, to, e);
	if (k != ERR_OK)
		return k;
	if (copy_bytes(from, c->offset, to, c->offset2, length_of(c), &w->result->count))
		return error_errno(e, errno, "%s to %s", c->path, c->path2);
	work_set_mtime(w, to);
	return work_done(w, to, e);
}
