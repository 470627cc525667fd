/*
 * fence.h - which plain batches of a journal may still be applied.
 *
 * A copy of a plain batch may arrive long after the batch was answered, when others have written
 * over its contents. So each batch of a journal says which numbers are closed (struct
 * closed_batches). The latest such report is kept in staging, in a file "fence-<journal in hex>",
 * and a plain batch whose number is closed is refused. The file is one line of PLAIN_OPEN_MAX + 1
 * numbers in a fixed width, so that one pwrite(2) replaces it.
 *
 * Plain batches share a lock on the file (flock(2)) while they are applied, and a request with a
 * newer report takes the exclusive lock. So a closed batch is not being applied when the report is
 * written, nor afterwards. Where the file cannot be made or written, as on a full disk, no batch is
 * refused.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/root.h"

/*
 * Records the request's report. *lock belongs to a plain batch with a number, to be closed after
 * the batch was applied; else -1. ERR_CONFLICT: the number is closed, and nothing of the batch may
 * be applied. ERR_TIMEOUT: plain batches are being applied and do not end (journal_file_lock()).
 */
enum err fence_pass(const struct root *r, const struct call *call,
	const struct apply_request *request, int *lock, struct error *e);
