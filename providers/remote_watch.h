/*
 * remote_watch.h - the stream of changes for vendors who hand a program's output on as it comes: inotify as the helper
 * hears it, in a helper that serves for as long as somebody listens.
 */
#pragma once

#include "providers/remote.h"

/*
 * Runs `argv` in a bash, with what the shell text `input` prints as its input, and hands its output on as it comes until it
 * ends, the call is cancelled or the sink refuses. *exit_code as remote_ops.run says.
 */
typedef enum err (*remote_listen)(void *context, const struct call *call, const char *const *argv,
	const char *input, execute_sink sink, void *sink_context, int *exit_code, struct error *e);

/* As provider.h says of `watch`. `vendor` is for messages. ERR_UNSUPPORTED: there is no helper. */
enum err remote_watch(const struct remote *r, const char *vendor, remote_listen listen,
	void *listen_context, const struct call *call, const struct watch_request *request,
	watch_sink sink, void *context, struct error *e);
