/*
 * patience.h - how long a command in a sandbox may be silent.
 */
#pragma once

#include "providers/provider.h"

/*
 * `call` for a command of the user's, which may print nothing for hours. The deadline stays where
 * the provider says now and then that the command still runs: one that does not is out of reach.
 */
static inline struct call patience_for_command(const struct provider *p, const struct call *call)
{
	struct call out = *call;

	if (!(p->ops->caps & PROVIDER_COMMANDS_PULSE))
		out.progress_ms = -1;
	return out;
}
