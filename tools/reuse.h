/*
 * reuse.h - the sandbox that has certain labels, or a new one: found or made, once.
 *
 *      reuse_begin(&lock, ops, cfg, call, id, e)  ...  make one where id is ""  ...  close(lock)
 *
 * Two processes of this user on this machine that ask at the same moment get one sandbox: the
 * second waits until the first has made it. No vendor's API keeps two machines from making one
 * each.
 */
#pragma once

#include "providers/provider.h"

/* The errors ERR_INVALID and ERR_UNSUPPORTED of reuse_begin(), before the provider is asked. */
enum err reuse_check(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);

/*
 * `id`: the first sandbox that has all of cfg->labels; "": there is none. On success *lock is a
 * descriptor of the caller's; -1 where the user has no directory for it. ERR_INVALID: no label in
 * `cfg`. ERR_UNSUPPORTED: the provider's sandboxes are not found by labels.
 */
enum err reuse_begin(int *lock, const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, char id[128], struct error *e);
