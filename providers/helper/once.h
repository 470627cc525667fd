/*
 * once.h - which changes outside of batches were already made.
 *
 * The sandbox gets these requests one by one and several of a journal at once, so their numbers
 * come in no order. Of a request and its copy the first to arrive is carried out; the other gets
 * the same result. The last results are kept in staging, in a file "once-<journal in hex>" of
 * ONCE_KEPT lines, "NUMBER KIND" with an enum err, each at the place that its number selects. Where
 * the file cannot be made or written, as on a full disk, a copy is carried out again.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

/* More than the requests under way at once, for as long as a copy may be late. */
#define ONCE_KEPT 256

/*
 * *lock is to be closed when the request is done; -1 if nothing is kept. Other such requests of the
 * same journal wait until then. ERR_TIMEOUT as of journal_file_lock().
 */
enum err once_begin(const struct root *r, const struct call *call,
	const struct apply_request *request, int *lock, struct error *e);
/* Whether a copy came before, and its result. */
bool once_is_over(int lock, uint64_t number, enum err *became);
void once_end(int lock, uint64_t number, enum err became);
