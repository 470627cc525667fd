/*
 * journal_file.h - the files in staging that belong to a journal: "PREFIX-<journal in hex>", of
 * text.
 *
 * The files are locked with flock(2). The lock ends with the descriptor, also when the run that
 * holds it is killed.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

/* Whether files are kept: not for a journal of all zeros nor for a root without staging. */
bool journal_file_is_kept(const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE]);

/* Opens the file, which is made if missing. -1: journal_file_failed() gives the error. */
int journal_file_open(
	const struct root *r, const char *prefix, const unsigned char journal[JOURNAL_ID_SIZE]);

/* The error by errno. */
enum err journal_file_failed(struct error *e);

/*
 * `how`: LOCK_EX or LOCK_SH; a lock that is already held is released first. The lock is tried every
 * `try_ms`. ERR_TIMEOUT: another run of this journal did not end within `call`'s limit on progress,
 * 30 s without one.
 */
enum err journal_file_lock(
	int fd, int how, int64_t try_ms, const struct call *call, struct error *e);
