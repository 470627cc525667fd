#include "providers/helper/journal_file.h"
#include "providers/base/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

bool journal_file_is_kept(const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE])
{
	static const unsigned char none[JOURNAL_ID_SIZE];

	return r->staging_fd >= 0 && memcmp(journal, none, sizeof none) != 0;
}

int journal_file_open(
	const struct root *r, const char *prefix, const unsigned char journal[JOURNAL_ID_SIZE])
{
	char name[32 + 2 * JOURNAL_ID_SIZE];
	int len = snprintf(name, sizeof name, "%.16s-", prefix);

	hex_encode(name + len, journal, JOURNAL_ID_SIZE);
	return openat(r->staging_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

enum err journal_file_failed(struct error *e)
{
	return error_errno(e, errno, "the journal's record in staging");
}

enum err journal_file_lock(
	int fd, int how, int64_t try_ms, const struct call *call, struct error *e)
{
	int64_t limit_ms = call_progress_ms(call);
	int64_t end_ms = monotonic_ms() + (limit_ms < 0 ? CALL_PROGRESS_MS : limit_ms);
	enum err k = ERR_OK;

	while (k == ERR_OK && flock(fd, how | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return journal_file_failed(e);
		if (monotonic_ms() >= end_ms)
			return error_set(e, ERR_TIMEOUT,
				"an earlier run of the same journal is still at work");
		k = call_sleep(call, try_ms, e);
	}
	return k;
}
