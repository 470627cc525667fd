#include "providers/helper/record.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* A smaller hole is not worth a system call. */
#define HOLE_MIN (1024 * 1024)

struct head {
	int64_t supervisor;    /* the pid of the supervisor; 0: none yet */
	uint64_t acknowledged; /* all bytes before this offset were received */
};
_Static_assert(sizeof(struct head) <= RECORD_HEAD_SIZE, "the head of a record");

struct entry {
	uint32_t kind; /* enum command_kind */
	uint32_t len;
};

struct end {
	uint32_t exit_code;
	uint32_t timed_out;
};

/* ---- The name of a record ---- */

struct record_name {
	char text[sizeof "command-" + COMMAND_MARKER_LEN];
};

bool record_is_marker(const char *marker)
{
	return strlen(marker) == COMMAND_MARKER_LEN &&
		strspn(marker, "0123456789abcdef") == COMMAND_MARKER_LEN;
}

static struct record_name name_of(const char *marker)
{
	struct record_name name;

	snprintf(name.text, sizeof name.text, "command-%s", marker);
	return name;
}

static enum err open_with(
	const struct root *r, const char *marker, int flags, int *fd, struct error *e)
{
	if (r->staging_fd < 0)
		return error_set(e, ERR_UNSUPPORTED, "there is no staging directory");
	if (!record_is_marker(marker))
		return error_set(e, ERR_INVALID, "'%.40s' is no marker of a command", marker);
	*fd = openat(
		r->staging_fd, name_of(marker).text, flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *fd < 0 ? error_errno(e, errno, "the record of a command") : ERR_OK;
}

static bool try_lock(int fd, int how)
{
	int result;

	do
		result = flock(fd, how | LOCK_NB);
	while (result < 0 && errno == EINTR);
	return result == 0;
}

enum err record_claim(
	const struct root *r, const char *marker, int *fd, bool *is_ours, struct error *e)
{
	enum err kind = open_with(r, marker, O_CREAT, fd, e);
	struct stat st;

	*is_ours = kind == ERR_OK && try_lock(*fd, LOCK_EX);
	if (*is_ours && (fstat(*fd, &st) || st.st_size)) {
		flock(*fd, LOCK_UN);
		*is_ours = false;
	}
	return kind;
}

enum err record_open(const struct root *r, const char *marker, int *fd, struct error *e)
{
	return open_with(r, marker, 0, fd, e);
}

void record_remove(const struct root *r, const char *marker)
{
	if (r->staging_fd >= 0 && record_is_marker(marker))
		unlinkat(r->staging_fd, name_of(marker).text, 0);
}

bool record_is_held(int fd)
{
	if (!try_lock(fd, LOCK_SH))
		return true;
	flock(fd, LOCK_UN);
	return false;
}

/* ---- The head ---- */

static struct head read_head(int fd)
{
	struct head head = { 0 };

	if (pread(fd, &head, sizeof head, 0) != sizeof head)
		return (struct head){ 0 };
	return head;
}

bool record_begin(int fd, pid_t supervisor)
{
	const struct head head = { .supervisor = supervisor, .acknowledged = RECORD_HEAD_SIZE };
	char bytes[RECORD_HEAD_SIZE] = { 0 };

	memcpy(bytes, &head, sizeof head);
	return pwrite(fd, bytes, sizeof bytes, 0) == sizeof bytes &&
		lseek(fd, RECORD_HEAD_SIZE, SEEK_SET) >= 0;
}

pid_t record_supervisor(int fd)
{
	return (pid_t)read_head(fd).supervisor;
}

void record_acknowledge(int fd, uint64_t from)
{
	struct head head = read_head(fd);
	off_t received = (off_t)(from - RECORD_HEAD_SIZE);

	if (!head.supervisor || from <= head.acknowledged)
		return;
	if (from - head.acknowledged >= HOLE_MIN)
		fallocate(
			fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, RECORD_HEAD_SIZE, received);
	/* A failure is harmless: the next offset covers this one. */
	(void)!pwrite(fd, &from, sizeof from, offsetof(struct head, acknowledged));
}

uint64_t record_unread(int fd)
{
	off_t size = lseek(fd, 0, SEEK_CUR);
	uint64_t acknowledged = read_head(fd).acknowledged;

	return size >= 0 && (uint64_t)size > acknowledged ? (uint64_t)size - acknowledged : 0;
}

/* ---- Entries ---- */

/* Writes both parts whole: a reader takes a partial entry for one that is still being written. */
static bool write_all(int fd, struct iovec parts[2])
{
	while (parts[0].iov_len + parts[1].iov_len) {
		ssize_t sent = writev(fd, parts, 2);

		if (sent <= 0 && errno != EINTR)
			return false;
		for (int i = 0; i < 2 && sent > 0; i++) {
			size_t part =
				(size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;

			parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			sent -= (ssize_t)part;
		}
	}
	return true;
}

bool record_add(int fd, enum command_kind kind, const void *bytes, size_t len)
{
	struct entry entry = { kind, (uint32_t)len };
	struct iovec parts[2] = { { .iov_base = &entry, .iov_len = sizeof entry },
		{ .iov_base = (void *)bytes, .iov_len = len } };

	return write_all(fd, parts);
}

bool record_end(int fd, uint32_t exit_code, bool timed_out)
{
	const struct end end = { exit_code, timed_out };

	return record_add(fd, COMMAND_ENDED, &end, sizeof end);
}

void record_clear(int fd)
{
	if (ftruncate(fd, RECORD_HEAD_SIZE) == 0)
		lseek(fd, RECORD_HEAD_SIZE, SEEK_SET);
}

static bool is_entry(const struct entry *entry)
{
	if (entry->kind == COMMAND_ENDED)
		return entry->len == sizeof(struct end);
	return (entry->kind == COMMAND_OUT || entry->kind == COMMAND_ERR) && entry->len &&
		entry->len <= RECORD_PIECE_MAX;
}

static void understand(struct command_piece *piece, const struct entry *entry, const void *bytes)
{
	struct end end;

	piece->kind = entry->kind;
	piece->bytes = bytes;
	piece->len = entry->len;
	if (entry->kind != COMMAND_ENDED)
		return;
	memcpy(&end, bytes, sizeof end);
	piece->exit_code = end.exit_code;
	piece->timed_out = end.timed_out;
	piece->len = 0;
}

enum err record_read(
	int fd, struct command_piece *piece, void *memory, bool *has_come, struct error *e)
{
	off_t at = (off_t)piece->next;
	struct entry entry;

	*has_come = false;
	if (at < RECORD_HEAD_SIZE)
		at = RECORD_HEAD_SIZE;
	if (pread(fd, &entry, sizeof entry, at) < (ssize_t)sizeof entry)
		return ERR_OK;
	if (!is_entry(&entry))
		return error_set(e, ERR_IO, "the record of a command was overwritten");
	if (pread(fd, memory, entry.len, at + (off_t)sizeof entry) < (ssize_t)entry.len)
		return ERR_OK;
	understand(piece, &entry, memory);
	piece->next = (uint64_t)at + sizeof entry + entry.len;
	*has_come = true;
	return ERR_OK;
}
