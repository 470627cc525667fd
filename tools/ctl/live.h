/*
 * live.h - `sandboxctl doctor --live PROVIDER`: all that a sandbox can do, tried in one that is made for it.
 */
#pragma once

#include "tools/ctl/checks.h"
#include "tools/ctl/command.h"

/* Of each step, in their order. */
typedef void (*live_sink)(void *context, const char *step, const struct finding *f);

/*
 * Makes a sandbox, tries the steps and deletes it, also when the call is cancelled. An error: none
 * could be made. What fails of a step is its finding.
 */
enum err live_try(const char *provider, const struct ctl_common *common, live_sink sink,
	void *context, struct error *e);
