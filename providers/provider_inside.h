/*
 * provider_inside.h - provider_options.c as provider.c and provider_create.c see it.
 */
#pragma once

#include "providers/provider.h"

/* As provider_check_create(), of a sandbox that is there. */
enum err provider_check_connect(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);
