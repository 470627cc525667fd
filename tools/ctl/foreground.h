/*
 * foreground.h - a command in a sandbox as if it ran here: what it prints comes out at once on the stream that it used, our
 * standard input is its own, and how it ended is how we end.
 */
#pragma once

#include "providers/provider.h"
#include "tools/ctl/command.h"
#include "tools/ctl/command_line.h"

/*
 * Runs it in `cwd`, relative to the shown root. *status: its exit code, 124 (CTL_TIMED_OUT) after its time limit.
 * ERR_INTERRUPTED: the call was cancelled, or nobody reads our output any more; its processes are being ended, and the
 * provider's release waits for that. Any other error is sandboxctl's own.
 */
enum err foreground_run(struct provider *p, const struct call *call,
	const struct command_line *line, const char *cwd, int *status, struct error *e);

/* How a command that ended so ends sandboxctl: where nobody reads its output any more, as SIGPIPE would have. Else `kind`. */
enum err foreground_end(const struct ctl_run *run, enum err kind);
