/*
 * provider_inside.h - provider_options.c as provider.c and provider_create.c see it.
 */
#pragma once

#include "providers/provider.h"

/* ERR_UNSUPPORTED: `cfg` asks for what this vendor cannot give a new sandbox, or one that is there. Names it. */
enum err provider_check_create(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);
enum err provider_check_connect(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);
