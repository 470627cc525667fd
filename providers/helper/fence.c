#include "providers/helper/fence.h"

#include "providers/base/cleanup.h"
#include "providers/helper/journal_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* From one try for the lock to the next, which is short: two batches are often applied at once. */
#define LOCK_TRY_MS 2
/* The largest number and the separator behind it. */
#define NUMBER_SIZE 21
#define LINE_SIZE   (NUMBER_SIZE * (1 + PLAIN_OPEN_MAX))

/* ---- Closed numbers ---- */

static bool is_open(const struct closed_batches *s, uint64_t number)
{
	bool is = number >= s->below;

	for (size_t n = 0; n < PLAIN_OPEN_MAX; n++)
		is |= number == s->open[n];
	return is;
}

/* A number that either report closes is closed. */
static bool close_more(struct closed_batches *known, const struct closed_batches *reported)
{
	struct closed_batches both = { .below = known->below };
	size_t kept = 0, had = 0;

	for (size_t n = 0; n < PLAIN_OPEN_MAX; n++) {
		had += known->open[n] > 0;
		if (known->open[n] && is_open(reported, known->open[n]))
			both.open[kept++] = known->open[n];
	}
	*known = both;
	return kept < had;
}

/*
 * Numbers only rise: a lower one is an older report, also when it arrives later. false: nothing is
 * new.
 */
static bool learn(struct closed_batches *known, const struct closed_batches *reported)
{
	if (reported->below < known->below)
		return false;
	if (reported->below == known->below)
		return close_more(known, reported);
	*known = *reported;
	return true;
}

/* ---- The file ---- */

/* An invalid line closes nothing. */
static enum err read_known(int fd, struct closed_batches *out, struct error *e)
{
	char line[LINE_SIZE + 1] = "", *at = line;
	ssize_t got = pread(fd, line, LINE_SIZE, 0);

	*out = (struct closed_batches){ 0 };
	if (got < 0)
		return journal_file_failed(e);
	if (got < LINE_SIZE)
		return ERR_OK;
	out->below = strtoull(at, &at, 10);
	for (size_t n = 0; n < PLAIN_OPEN_MAX; n++)
		out->open[n] = strtoull(at, &at, 10);
	return ERR_OK;
}

/* A failed write refuses no batch: files can be removed on a full disk, too. */
static void write_known(int fd, const struct closed_batches *s)
{
	char line[LINE_SIZE + 1];
	int len = snprintf(line, sizeof line, "%20" PRIu64, s->below);

	for (size_t n = 0; n < PLAIN_OPEN_MAX; n++)
		len += snprintf(line + len, sizeof line - (size_t)len, " %20" PRIu64, s->open[n]);
	line[len] = '\n';
	(void)!pwrite(fd, line, LINE_SIZE, 0);
}

/* ---- Passing ---- */

static enum err look(
	int fd, int how, const struct call *call, struct closed_batches *known, struct error *e)
{
	enum err k = journal_file_lock(fd, how, LOCK_TRY_MS, call, e);

	return k == ERR_OK ? read_known(fd, known, e) : k;
}

/* Takes the exclusive lock: no batch that this report closes is being applied then. */
static enum err tell_alone(
	int fd, const struct call *call, const struct closed_batches *reported, struct error *e)
{
	struct closed_batches known;
	enum err k = look(fd, LOCK_EX, call, &known, e);

	if (k == ERR_OK && learn(&known, reported))
		write_known(fd, &known);
	return k;
}

/*
 * Ends with the shared lock and the numbers known under it: other requests may have reported more
 * while it was released.
 */
static enum err tell(int fd, const struct call *call, const struct closed_batches *reported,
	struct closed_batches *known, struct error *e)
{
	enum err k = look(fd, LOCK_SH, call, known, e);

	if (k != ERR_OK)
		return k;
	struct closed_batches would_be = *known;

	if (!learn(&would_be, reported))
		return ERR_OK;
	k = tell_alone(fd, call, reported, e);
	return k == ERR_OK ? look(fd, LOCK_SH, call, known, e) : k;
}

enum err fence_pass(const struct root *r, const struct call *call,
	const struct apply_request *request, int *lock, struct error *e)
{
	bool has_something = request->is_plain || request->closed.below;
	struct closed_batches known;

	*lock = -1;
	if (!has_something || !journal_file_is_kept(r, request->journal))
		return ERR_OK;
	AUTO_CLOSE int fd = journal_file_open(r, STAGED_FENCE, request->journal);

	if (fd < 0)
		return ERR_OK;
	enum err k = tell(fd, call, &request->closed, &known, e);

	if (k != ERR_OK || !request->is_plain || !request->first_sequence)
		return k;
	if (!is_open(&known, request->first_sequence))
		return error_set(e, ERR_CONFLICT,
			"this is a copy of changes that were answered before: nothing of it is "
			"done");
	*lock = take_fd(&fd);
	return ERR_OK;
}
