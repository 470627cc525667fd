/*
 * reuse.h - the sandbox that has certain labels, and else a new one: found or made, once.
 *
 *      reuse_begin(&lock, ops, cfg, call, id, e)  ...  make one where id is ""  ...  close(lock)
 *
 * Two of this user on this machine that ask at the same moment get one sandbox: the second waits
 * until the first has made it. No vendor's API keeps two machines from making one each.
 */
#pragma once

#include "providers/provider.h"

/* ERR_INVALID, ERR_UNSUPPORTED: as reuse_begin(), before anything is asked. */
enum err reuse_check(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);

/*
 * `id`: of the first sandbox that has all of cfg->labels, "": there is none. *lock is a descriptor of the caller's
 * on success; -1 where the user has no directory for it. ERR_INVALID: no label is asked for;
 * ERR_UNSUPPORTED: the provider's sandboxes are not found by labels.
 */
enum err reuse_begin(int *lock, const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, char id[128], struct error *e);
