/*
 * workdir.h - the working directory of a sandbox that was just made.
 */
#pragma once

#include "providers/provider.h"

/*
 * Connects to the sandbox cfg->id and makes `dir`, absolute or relative to the provider's working
 * directory, which cfg->path leaves to it, with what is missing above. ERR_IO: that failed; the
 * sentence has the sandbox's own words.
 */
enum err workdir_make(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, const char *dir, struct error *e);
