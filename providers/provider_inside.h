/*
 * provider_inside.h - provider_options.c and provider_create.c as the rest of providers/ sees them.
 */
#pragma once

#include "providers/provider.h"

/*
 * A label of every new sandbox, with random digits: a vendor takes no idempotency key. A sandbox
 * that has it was made by sandboxfs.
 */
#define PROVIDER_MARK "sandboxfs-made"

/* As provider_check_create(), for a sandbox that exists. */
enum err provider_check_connect(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);

/* Whether a sandbox's or a snapshot's ID can be shown and typed: visible ASCII. */
bool provider_is_id(const char *id);
