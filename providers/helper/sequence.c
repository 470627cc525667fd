#include "providers/helper/sequence.h"

#include "providers/base/cleanup.h"
#include "providers/helper/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define RECORD_SIZE 8

struct record_name {
	char text[sizeof "seq-" + 2 * JOURNAL_ID_SIZE];
};

static struct record_name name_of(const unsigned char journal[JOURNAL_ID_SIZE])
{
	struct record_name name = { "seq-" };

	for (size_t i = 0; i < JOURNAL_ID_SIZE; i++)
		snprintf(name.text + 4 + 2 * i, 3, "%02x", journal[i]);
	return name;
}

static bool is_recorded(const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE])
{
	static const unsigned char none[JOURNAL_ID_SIZE];

	return r->staging_fd >= 0 && memcmp(journal, none, sizeof none) != 0;
}

static int open_record(
	const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE], int flags)
{
	return openat(r->staging_fd, name_of(journal).text, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* A record that was never written in full says that nothing was done. */
static enum err read_record(int fd, uint64_t *out, struct error *e)
{
	unsigned char bytes[RECORD_SIZE];
	ssize_t got = pread(fd, bytes, sizeof bytes, 0);

	*out = 0;
	if (got < 0)
		return error_errno(e, errno, "the journal's record");
	if (got < RECORD_SIZE)
		return ERR_OK;
	for (int i = RECORD_SIZE - 1; i >= 0; i--)
		*out = *out << 8 | bytes[i];
	return ERR_OK;
}

static int lock(int fd)
{
	int result;

	do
		result = flock(fd, LOCK_EX);
	while (result < 0 && errno == EINTR);
	return result;
}

enum err sequence_open(const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE],
	struct sequence *out, struct error *e)
{
	*out = (struct sequence)SEQUENCE_NONE;
	if (!is_recorded(r, journal))
		return ERR_OK;
	out->fd = open_record(r, journal, O_RDWR | O_CREAT);
	if (out->fd < 0 || lock(out->fd))
		return error_errno(e, errno, "the journal's record");
	return read_record(out->fd, &out->done, e);
}

void sequence_release(struct sequence *s)
{
	cleanup_close(&s->fd);
	s->fd = -1;
}

bool sequence_is_done(const struct sequence *s, uint64_t number)
{
	return s->fd >= 0 && number <= s->done;
}

enum err sequence_record(struct sequence *s, uint64_t number, struct error *e)
{
	unsigned char bytes[RECORD_SIZE];

	if (s->fd < 0)
		return ERR_OK;
	for (int i = 0; i < RECORD_SIZE; i++)
		bytes[i] = (unsigned char)(number >> 8 * i);
	if (pwrite(s->fd, bytes, sizeof bytes, 0) != RECORD_SIZE)
		return error_errno(e, errno, "the journal's record");
	s->done = number;
	return ERR_OK;
}

enum err helper_last_sequence(const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE],
	uint64_t *out, struct error *e)
{
	AUTO_CLOSE int fd = -1;

	*out = 0;
	if (!is_recorded(r, journal))
		return ERR_OK;
	fd = open_record(r, journal, O_RDONLY);
	if (fd < 0)
		return errno == ENOENT ? ERR_OK : error_errno(e, errno, "the journal's record");
	return read_record(fd, out, e);
}
