/*
 * ops_contents.c - calls that open files and work on their bytes.
 */
#include "tests/oracle/ops.h"

#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

/* Larger than any length of a call. */
static unsigned char buffer[512 * 1024];

/* O_NONBLOCK always: a fifo must not stop the trace. */
static void run_open(struct side *s, const struct call *c, struct outcome *o)
{
	op_keep(s, c->slot[0],
		openat(AT(0), c->choice | c->flags | O_NONBLOCK | O_CLOEXEC, c->mode), o);
}

/*
 * Whether only an O_PATH descriptor still leads to the file: the kernel does not report such a
 * descriptor to a FUSE file system.
 */
static bool is_forgotten(int fd)
{
	struct stat st;

	return fcntl(fd, F_GETFL) & O_PATH && !fstat(fd, &st) && !st.st_nlink;
}

/* Opens the file of an open descriptor again, without its name. */
static void run_reopen(struct side *s, const struct call *c, struct outcome *o)
{
	char path[64];

	if (SLOT(0) >= 0 && is_forgotten(SLOT(0)))
		return;
	snprintf(path, sizeof path, "/proc/self/fd/%d", SLOT(0));
	op_keep(s, c->slot[1], open(path, c->choice | c->flags | O_NONBLOCK | O_CLOEXEC, c->mode),
		o);
}

static void run_close(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, close(SLOT(0)));
	SLOT(0) = -1;
}

static void run_dup(struct side *s, const struct call *c, struct outcome *o)
{
	op_keep(s, c->slot[1], fcntl(SLOT(0), F_DUPFD_CLOEXEC, 3), o);
}

static void run_setfl(struct side *s, const struct call *c, struct outcome *o)
{
	if (outcome_take(o, fcntl(SLOT(0), F_SETFL, c->flags | O_NONBLOCK)))
		return;
	text_add(&o->facts, "flags %o\n",
		(unsigned)fcntl(SLOT(0), F_GETFL) & (O_ACCMODE | O_APPEND | O_SYNC));
}

static void take_data(struct outcome *o, long len)
{
	if (outcome_take(o, len) >= 0)
		text_add_data(&o->facts, buffer, (size_t)len);
}

/* A directory cannot be read, but the error depends on how far into it the file system counts. */
static void rewind_directory(int fd)
{
	struct stat st;

	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		lseek(fd, 0, SEEK_SET);
}

static void run_read(struct side *s, const struct call *c, struct outcome *o)
{
	rewind_directory(SLOT(0));
	take_data(o, read(SLOT(0), buffer, c->length));
}

static void run_pread(struct side *s, const struct call *c, struct outcome *o)
{
	take_data(o, pread(SLOT(0), buffer, c->length, c->offset[0]));
}

static void run_write(struct side *s, const struct call *c, struct outcome *o)
{
	pattern_fill(buffer, c->length, c->salt);
	outcome_take(o, write(SLOT(0), buffer, c->length));
}

static void run_pwrite(struct side *s, const struct call *c, struct outcome *o)
{
	pattern_fill(buffer, c->length, c->salt);
	outcome_take(o, pwrite(SLOT(0), buffer, c->length, c->offset[0]));
}

/* The buffer in three uneven pieces, one of them possibly empty. */
static void split(const struct call *c, struct iovec pieces[3])
{
	size_t first = c->length / 7, second = c->length / 2;

	pieces[0] = (struct iovec){ buffer, first };
	pieces[1] = (struct iovec){ buffer + first, second };
	pieces[2] = (struct iovec){ buffer + first + second, c->length - first - second };
}

static void run_readv(struct side *s, const struct call *c, struct outcome *o)
{
	struct iovec pieces[3];

	split(c, pieces);
	rewind_directory(SLOT(0));
	take_data(o, readv(SLOT(0), pieces, 3));
}

static void run_writev(struct side *s, const struct call *c, struct outcome *o)
{
	struct iovec pieces[3];

	pattern_fill(buffer, c->length, c->salt);
	split(c, pieces);
	outcome_take(o, writev(SLOT(0), pieces, 3));
}

/* Places within a directory, and how far a file might ever grow, are the file system's affair. */
static void run_lseek(struct side *s, const struct call *c, struct outcome *o)
{
	off_t offset = c->offset[0] == INT64_MAX ? 1 << 30 : c->offset[0];
	off_t back = c->choice != SEEK_SET && offset > 0 ? 5000 : 0;
	struct stat st;

	if (!fstat(SLOT(0), &st) && S_ISDIR(st.st_mode))
		outcome_take(o, lseek(SLOT(0), 0, SEEK_SET));
	else
		outcome_take(o, lseek(SLOT(0), offset - back, c->choice));
}

/*
 * The place of data and holes is the file system's affair. Its answers must not contradict the
 * contents: each hole reads as zeros, and a search ends within the file.
 */
static void run_seek_hole(struct side *s, const struct call *c, struct outcome *o)
{
	int fd = SLOT(0);
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	off_t here = lseek(fd, 0, SEEK_CUR), end = lseek(fd, 0, SEEK_END);
	off_t found = lseek(fd, c->offset[0], c->choice);

	outcome_take(o, found < 0 ? -1 : 0);
	if (found >= 0 && (found < c->offset[0] || found > end))
		text_add(&o->facts, "found at %jd of %jd\n", (intmax_t)found, (intmax_t)end);
	if (found < 0 && c->choice == SEEK_DATA && c->offset[0] >= 0 && c->offset[0] < end) {
		text_add(&o->facts, "a hole to the end\n");
		found = end;
		o->err = 0; /* the other side may have written zeros there */
	}
	lseek(fd, here, SEEK_SET);
	if (c->choice != SEEK_DATA || found < 0)
		return;
	text_clear(&o->facts);
	o->ret = 0;
	for (off_t at = c->offset[0]; at < found && at < end; at += 4096) {
		size_t want = found - at < 4096 ? (size_t)(found - at) : 4096;
		ssize_t got = pread(fd, buffer, want, at);

		for (ssize_t i = 0; i < got; i++)
			if (buffer[i]) {
				text_add(&o->facts, "a hole at %jd holds data\n",
					(intmax_t)(at + i));
				return;
			}
	}
}

static void run_ftruncate(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, ftruncate(SLOT(0), c->offset[0]));
}

static void run_truncate(struct side *s, const struct call *c, struct outcome *o)
{
	if (op_enter(s, &c->at[0], o))
		outcome_take(o, truncate(c->at[0].path, c->offset[0]));
}

/* The size is a few megabytes at most: this is no test of the disk. */
static void run_fallocate(struct side *s, const struct call *c, struct outcome *o)
{
	off_t offset = c->offset[0] > 4000000 ? INT64_MAX : c->offset[0];

	outcome_take(o, fallocate(SLOT(0), c->choice, offset, (off_t)c->length));
}

static void run_fsync(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, c->choice ? fdatasync(SLOT(0)) : fsync(SLOT(0)));
}

/* A copy may be cut short anywhere. Repeated until done, the result must be the same. */
static void run_copy_file_range(struct side *s, const struct call *c, struct outcome *o)
{
	off_t from = c->offset[0], to = c->offset[1];
	size_t left = c->length;
	long total = 0, copied;

	do {
		copied = copy_file_range(SLOT(0), &from, SLOT(1), &to, left, 0);
		total += copied > 0 ? copied : 0;
		left -= copied > 0 ? (size_t)copied : 0;
	} while (copied > 0 && left);
	outcome_take(o, copied < 0 ? -1 : total);
}

/* A pipe would hold the file's very pages, and later show changes of them. */
static void run_sendfile(struct side *s, const struct call *c, struct outcome *o)
{
	off_t from = c->offset[0];
	size_t left = c->length;
	long total = 0, copied;
	struct stat to;

	if (!fstat(SLOT(1), &to) && S_ISFIFO(to.st_mode))
		return;
	/* How far a file may reach at most is its file system's affair. */
	if (from == INT64_MAX)
		from = 0;
	do {
		copied = sendfile(SLOT(1), SLOT(0), &from, left);
		total += copied > 0 ? copied : 0;
		left -= copied > 0 ? (size_t)copied : 0;
	} while (copied > 0 && left);
	outcome_take(o, copied < 0 ? -1 : total);
}

/* The most that may be mapped and touched from *offset on: never behind the end of the file. */
static size_t mappable(int fd, off_t *offset, size_t len)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 4096;
	*offset &= ~(off_t)4095;
	if (*offset < 0 || *offset >= st.st_size)
		return 0;
	return st.st_size - *offset < (off_t)len ? (size_t)(st.st_size - *offset) : len;
}

static void run_mmap_write(struct side *s, const struct call *c, struct outcome *o)
{
	off_t offset = c->offset[0];
	size_t len = mappable(SLOT(0), &offset, c->length);
	void *map =
		len ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, SLOT(0), offset) : NULL;

	outcome_take(o, map == MAP_FAILED ? -1 : (long)len);
	if (!map || map == MAP_FAILED)
		return;
	pattern_fill(map, len, c->salt);
	if (msync(map, len, MS_SYNC))
		text_add(&o->facts, "msync: %s\n", strerror(errno));
	munmap(map, len);
	ssize_t got = pread(SLOT(0), buffer, len, offset);
	text_add_data(&o->facts, buffer, got < 0 ? 0 : (size_t)got);
}

static void run_mmap_read(struct side *s, const struct call *c, struct outcome *o)
{
	off_t offset = c->offset[0];
	size_t len = mappable(SLOT(0), &offset, c->length);
	void *map = len ? mmap(NULL, len, PROT_READ, MAP_PRIVATE, SLOT(0), offset) : NULL;

	outcome_take(o, map == MAP_FAILED ? -1 : (long)len);
	if (!map || map == MAP_FAILED)
		return;
	text_add_data(&o->facts, map, len);
	munmap(map, len);
}

static const struct flag access_modes[] = { { "O_RDONLY", O_RDONLY, 25 },
	{ "O_WRONLY", O_WRONLY, 20 }, { "O_RDWR", O_RDWR, 45 }, { "O_PATH", O_PATH, 5 },
	{ "O_RDWR|O_WRONLY", O_ACCMODE, 1 }, { 0 } };
static const struct flag open_flags[] = { { "O_CREAT", O_CREAT, 75 }, { "O_EXCL", O_EXCL, 8 },
	{ "O_TRUNC", O_TRUNC, 10 }, { "O_APPEND", O_APPEND, 20 }, { "O_DIRECTORY", O_DIRECTORY, 3 },
	{ "O_NOFOLLOW", O_NOFOLLOW, 8 }, { "O_SYNC", O_SYNC, 3 }, { "O_NOATIME", O_NOATIME, 2 },
	{ 0 } };
static const struct flag directory_flags[] = { { "O_DIRECTORY", O_DIRECTORY, 100 },
	{ "O_NOFOLLOW", O_NOFOLLOW, 10 }, { 0 } };
static const struct flag directory_modes[] = { { "O_RDONLY", O_RDONLY, 6 }, { "O_PATH", O_PATH, 2 },
	{ "O_RDWR", O_RDWR, 1 }, { 0 } };
static const struct flag tmpfile_flags[] = { { "O_TMPFILE", O_TMPFILE, 100 },
	{ "O_EXCL", O_EXCL, 15 }, { 0 } };
static const struct flag reopen_flags[] = { { "O_TRUNC", O_TRUNC, 15 },
	{ "O_APPEND", O_APPEND, 15 }, { "O_CREAT", O_CREAT, 5 }, { 0 } };
static const struct flag setfl_flags[] = { { "O_APPEND", O_APPEND, 50 }, { 0 } };
static const struct flag whences[] = { { "SEEK_SET", SEEK_SET, 6 }, { "SEEK_CUR", SEEK_CUR, 2 },
	{ "SEEK_END", SEEK_END, 3 }, { "9", 9, 1 }, { 0 } };
static const struct flag hole_whences[] = { { "SEEK_DATA", SEEK_DATA, 1 },
	{ "SEEK_HOLE", SEEK_HOLE, 1 }, { 0 } };
static const struct flag fsyncs[] = { { "fsync", 0, 1 }, { "fdatasync", 1, 1 }, { 0 } };
static const struct flag fallocate_choices[] = { { "0", 0, 3 },
	{ "KEEP_SIZE", FALLOC_FL_KEEP_SIZE, 3 },
	{ "PUNCH_HOLE|KEEP_SIZE", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 },
	{ "ZERO_RANGE", FALLOC_FL_ZERO_RANGE, 2 },
	{ "ZERO_RANGE|KEEP_SIZE", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 2 },
	{ "PUNCH_HOLE", FALLOC_FL_PUNCH_HOLE, 1 }, { 0 } };

const struct op ops_contents[] = {
	{ "open", 160, USES_PATH | USES_SLOT | USES_MODE, access_modes, open_flags, run_open },
	{ "open_directory", 25, WANTS_FOLDER | USES_PATH | USES_SLOT, directory_modes,
		directory_flags, run_open },
	{ "open_tmpfile", 6, WANTS_FOLDER | USES_PATH | USES_SLOT | USES_MODE, access_modes,
		tmpfile_flags, run_open },
	{ "reopen", 12, USES_SLOT | USES_SLOT2 | USES_MODE, access_modes, reopen_flags,
		run_reopen },
	{ "close", 14, USES_SLOT, NULL, NULL, run_close },
	{ "dup", 10, USES_SLOT | USES_SLOT2, NULL, NULL, run_dup },
	{ "setfl", 6, USES_SLOT, NULL, setfl_flags, run_setfl },
	{ "read", 35, USES_SLOT | USES_LENGTH, NULL, NULL, run_read },
	{ "pread", 50, USES_SLOT | USES_OFFSET | USES_LENGTH, NULL, NULL, run_pread },
	{ "write", 60, USES_SLOT | USES_LENGTH, NULL, NULL, run_write },
	{ "pwrite", 60, USES_SLOT | USES_OFFSET | USES_LENGTH, NULL, NULL, run_pwrite },
	{ "readv", 12, USES_SLOT | USES_LENGTH, NULL, NULL, run_readv },
	{ "writev", 15, USES_SLOT | USES_LENGTH, NULL, NULL, run_writev },
	{ "lseek", 20, USES_SLOT | USES_OFFSET, whences, NULL, run_lseek },
	{ "seek_hole", 10, USES_SLOT | USES_OFFSET, hole_whences, NULL, run_seek_hole },
	{ "ftruncate", 25, USES_SLOT | USES_OFFSET, NULL, NULL, run_ftruncate },
	{ "truncate", 15, USES_PATH | USES_OFFSET, NULL, NULL, run_truncate },
	{ "fallocate", 15, USES_SLOT | USES_OFFSET | USES_LENGTH, fallocate_choices, NULL,
		run_fallocate },
	{ "fsync", 5, USES_SLOT, fsyncs, NULL, run_fsync },
	{ "copy_file_range", 15, USES_SLOT | USES_SLOT2 | USES_OFFSET | USES_OFFSET2 | USES_LENGTH,
		NULL, NULL, run_copy_file_range },
	{ "sendfile", 8, USES_SLOT | USES_SLOT2 | USES_OFFSET | USES_LENGTH, NULL, NULL,
		run_sendfile },
	{ "mmap_write", 15, USES_SLOT | USES_OFFSET | USES_LENGTH, NULL, NULL, run_mmap_write },
	{ "mmap_read", 12, USES_SLOT | USES_OFFSET | USES_LENGTH, NULL, NULL, run_mmap_read },
	{ 0 },
};
