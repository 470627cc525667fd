/*
 * foreground.h - a command in a sandbox as if it ran here: its output appears at once on the same
 * stream, our standard input is its own, and its exit code becomes ours.
 */
#pragma once

#include "providers/provider.h"
#include "tools/ctl/command.h"
#include "tools/ctl/command_line.h"

/*
 * Runs the command in `cwd`, relative to the shown root. *status: its exit code, 124
 * (CTL_TIMED_OUT) after its time limit. ERR_INTERRUPTED: the call was cancelled, or our output is
 * not read any more. The command's processes are then being ended, and the provider's release waits
 * for that. Any other error is sandboxctl's own.
 */
enum err foreground_run(struct provider *p, const struct call *call,
	const struct command_line *line, const char *cwd, int *status, struct error *e);

/*
 * The end of sandboxctl after such a command: as by SIGPIPE where our output is not read any more.
 * Otherwise returns `kind`.
 */
enum err foreground_end(const struct ctl_run *run, enum err kind);
