/*
 * workdir.h - the working directory of a sandbox that was just made.
 */
#pragma once

#include "providers/provider.h"

/*
 * Makes `dir`, absolute or relative to the provider's working directory, which `p` was connected to,
 * with what is missing above it. ERR_IO: that failed; the sentence has the sandbox's own words.
 */
enum err workdir_make(
	struct provider *p, const struct call *call, const char *dir, struct error *e);
