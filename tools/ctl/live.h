/*
 * live.h - `sandboxctl doctor --live PROVIDER`: tries all operations of a sandbox in a new one.
 */
#pragma once

#include "tools/ctl/checks.h"
#include "tools/ctl/command.h"

/* Called for each step, in their order. */
typedef void (*live_sink)(void *context, const char *step, const struct finding *f);

/*
 * Makes a sandbox, tries the steps and deletes the sandbox, also when the call is cancelled. An
 * error: no sandbox could be made. A failure of a step is its finding.
 */
enum err live_try(const char *provider, const struct ctl_common *common, live_sink sink,
	void *context, struct error *e);
