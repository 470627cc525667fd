/*
 * runner.h - runs the helper that is stored in the sandbox, once for each request; internal to
 * providers/remote.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/remote/loader.h"

/*
 * Stores the helper again, at its path: `r` does not change, so no lock is needed. Several callers
 * that miss it at the same time may each do this; all but the first find it there.
 */
enum err remote_put_back(const struct remote *r, const struct call *call, struct error *e);

/*
 * Removes the files in staging that are not needed any more, with one request where there are any,
 * and returns their number. Files that cannot be removed now stay among the leftovers.
 */
size_t remote_remove_leftovers(const struct remote *r, const struct call *call);

/* The `run` of a struct helper_runner whose context is an attached struct remote. */
enum err remote_runner_run(void *context, const struct call *call, const struct buf *frames,
	unsigned flags, const struct answer_sink *sink, struct error *e);

/*
 * The most words of the helper's program; its arguments follow. remote_launch() returns their
 * number.
 */
#define REMOTE_LAUNCH_ARGC (REMOTE_LOADER_ARGC + 1)
size_t remote_launch(const struct remote *r, const char *argv[REMOTE_LAUNCH_ARGC]);
