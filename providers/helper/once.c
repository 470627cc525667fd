#include "providers/helper/once.h"

#include "providers/base/cleanup.h"
#include "providers/helper/journal_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* From one try for the lock to the next: another request holds the lock for one change. */
#define LOCK_TRY_MS 1
#define LINE_SIZE   24

static off_t place_of(uint64_t number)
{
	return (off_t)(number % ONCE_KEPT) * LINE_SIZE;
}

enum err once_begin(const struct root *r, const struct call *call,
	const struct apply_request *request, int *lock, struct error *e)
{
	*lock = -1;
	if (!request->once || !journal_file_is_kept(r, request->journal))
		return ERR_OK;
	AUTO_CLOSE int fd = journal_file_open(r, STAGED_ONCE, request->journal);

	if (fd < 0)
		return ERR_OK;
	enum err k = journal_file_lock(fd, LOCK_EX, LOCK_TRY_MS, call, e);

	if (k == ERR_OK)
		*lock = take_fd(&fd);
	return k;
}

/* A line that was never written, or not whole, has no number. */
bool once_is_over(int lock, uint64_t number, enum err *became)
{
	char line[LINE_SIZE + 1] = "", *rest;

	if (lock < 0 || pread(lock, line, LINE_SIZE, place_of(number)) != LINE_SIZE)
		return false;
	bool is = strtoull(line, &rest, 10) == number;

	*became = (enum err)strtoul(rest, NULL, 10);
	return is;
}

void once_end(int lock, uint64_t number, enum err became)
{
	char line[LINE_SIZE + 1];

	if (lock < 0)
		return;
	snprintf(line, sizeof line, "%20" PRIu64 " %2u\n", number, (unsigned)became);
	(void)!pwrite(lock, line, LINE_SIZE, place_of(number));
}
