/*
 * remote_watch.h - the stream of changes for vendors who hand a program's output on as it comes: inotify as the helper
 * hears it, in a helper that runs for as long as somebody listens.
 *
 * A listener that is killed ends nothing: its helper ends itself after an hour. So does that of one who lives and, told
 * that the stream broke, starts another.
 */
#pragma once

#include "providers/remote.h"

/*
 * Runs `argv` as remote_ops.run does, and hands its output on as it comes until it ends, the call is cancelled or the sink
 * refuses; then it ends the program, as far as the sandbox can still be reached.
 */
typedef enum err (*remote_listen)(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e);

/* As provider.h says of `watch`. `vendor` is for messages. ERR_UNSUPPORTED: there is no helper. */
enum err remote_watch(const struct remote *r, const char *vendor, remote_listen listen,
	void *listen_context, const struct call *call, const struct watch_request *request,
	watch_sink sink, void *context, struct error *e);
