/*
 * journal_file.h - the files in staging that are a journal's: "PREFIX-<journal in hex>", of text.
 *
 * They are locked with flock(2). The lock goes with the descriptor, also when the run that holds it is killed.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

/* A journal of all zeros and a root without staging have none. */
bool journal_file_is_kept(const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE]);

/* Made where there is none. -1: journal_file_failed() says why. */
int journal_file_open(
	const struct root *r, const char *prefix, const unsigned char journal[JOURNAL_ID_SIZE]);

/* By errno. */
enum err journal_file_failed(struct error *e);

/*
 * `how`: LOCK_EX or LOCK_SH; a lock that is held already is let go first. It is tried every `try_ms`. ERR_TIMEOUT: another
 * run of this journal is at work and did not end within `call`'s limit on progress, 30 s if it has none.
 */
enum err journal_file_lock(
	int fd, int how, int64_t try_ms, const struct call *call, struct error *e);
