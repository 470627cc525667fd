/*
 * runner.h - runs the helper that is stored in the sandbox, once for each request; internal to remote*.c.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/remote/loader.h"

/*
 * Stores the helper again, where it was: nothing in `r` changes, so nothing is locked. Callers that find it missing at once
 * may each do this; all but the first to look find it there.
 */
enum err remote_put_back(const struct remote *r, const struct call *call, struct error *e);

/*
 * Removes what is left in staging and nobody needs, with one request where there is any: how many
 * files those were. What cannot be removed now stays among the leftovers.
 */
size_t remote_remove_leftovers(const struct remote *r, const struct call *call);

/* The `run` of a struct helper_runner whose context is an attached struct remote. */
enum err remote_runner_run(void *context, const struct call *call, const struct buf *frames,
	unsigned flags, const struct answer_sink *sink, struct error *e);

/* The helper's program, to be followed by its arguments; how many words that are. */
#define REMOTE_LAUNCH_ARGC (REMOTE_LOADER_ARGC + 1)
size_t remote_launch(const struct remote *r, const char *argv[REMOTE_LAUNCH_ARGC]);
