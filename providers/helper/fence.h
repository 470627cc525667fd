/*
 * fence.h - which batches of a journal that are not recorded may still be done.
 *
 * Of these a copy may arrive when the batch has long been answered, and others have written over it since. So each batch of
 * a journal says which numbers are settled (struct settled), the most that was heard of it is kept in staging, in a file
 * "fence-<journal in hex>", and a plain batch whose number is settled is refused. The file is one line of numbers, all of
 * SETTLED_OPEN_MAX + 1 of them in a fixed width, so that one pwrite(2) replaces it.
 *
 * Plain batches share a lock on the file (flock(2)) while they are applied, and whoever has news for it locks it alone: so
 * what was settled is not being done any more when the news is there, nor afterwards. Where the file cannot be made or
 * written, for the disk is full, nothing is refused.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

/*
 * Says what the request knows. *lock is of a plain batch with a number, to be closed when it is applied; else -1.
 * ERR_CONFLICT: its number is settled, and nothing of it may be done. ERR_TIMEOUT: plain batches are at work that do not end
 * (journal_file_lock()).
 */
enum err fence_pass(const struct root *r, const struct call *call,
	const struct apply_request *request, int *lock, struct error *e);
