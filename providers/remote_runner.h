/*
 * remote_runner.h - runs the helper that is stored in the sandbox, once for each request; internal to remote*.c.
 */
#pragma once

#include "providers/remote.h"

/* The `run` of a struct helper_runner whose context is an attached struct remote. */
enum err remote_runner_run(void *context, const struct call *call, const struct buf *frames,
	unsigned flags, execute_sink sink, void *sink_context, struct error *e);
