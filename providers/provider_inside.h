/*
 * provider_inside.h - provider_options.c as provider.c and provider_create.c see it.
 */
#pragma once

#include "providers/provider.h"

/* As provider_check_create(), for a sandbox that exists. */
enum err provider_check_connect(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);
