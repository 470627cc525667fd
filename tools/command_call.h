/*
 * command_call.h - the deadline of a user's command in a sandbox.
 */
#pragma once

#include "providers/provider.h"

/*
 * `call` for a command of the user's, which may print nothing for hours. The deadline stays where
 * the provider gives signs that the command still runs: a command without them is out of reach.
 */
static inline struct call command_call(const struct provider *p, const struct call *call)
{
	struct call out = *call;

	if (!(p->ops->caps & PROVIDER_COMMANDS_PULSE))
		out.progress_ms = -1;
	return out;
}
