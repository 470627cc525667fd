/*
 * once.h - which changes that are no part of a batch were done already.
 *
 * The sandbox is asked for them one by one, and others of the same journal at the same time, so that their numbers are in no
 * order. A request of which a copy arrives is done by whichever comes first; the other is told what became of it. The
 * last ones are kept in staging, in a file "once-<journal in hex>" of ONCE_KEPT lines, "NUMBER KIND" with an enum err, each
 * in the place that its number gives it. Where the file cannot be made or written, for the disk is full, a copy is done again.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

/* More than are on their way at once, with all that a copy may be late. */
#define ONCE_KEPT 256

/*
 * *lock is to be closed when the request is done, -1 if nothing is kept: whatever else asks for the same journal's waits so
 * long. ERR_TIMEOUT as journal_file_lock().
 */
enum err once_begin(const struct root *r, const struct call *call,
	const struct apply_request *request, int *lock, struct error *e);
/* Whether a copy came before, and what became of it. */
bool once_is_over(int lock, uint64_t number, enum err *became);
void once_end(int lock, uint64_t number, enum err became);
