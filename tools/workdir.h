/*
 * workdir.h - the working directory of a new sandbox.
 */
#pragma once

#include "providers/provider.h"

/*
 * Connects to the sandbox cfg->id and makes `dir` with all missing directories above. `dir` is
 * absolute or relative to the provider's working directory. cfg->path and cfg->opening do not
 * count. ERR_IO: that failed; the sentence has the sandbox's own words.
 */
enum err workdir_make(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, const char *dir, struct error *e);
