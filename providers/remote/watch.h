/*
 * watch.h - the stream of changes for vendors who hand a program's output on as it comes: inotify as the helper
 * hears it, in a helper that runs for as long as somebody listens.
 *
 * A listener that is killed ends nothing: its helper goes on until the same watcher watches again (watch_request.watcher), an
 * hour at most. So does that of one who lives and, told that the stream broke, starts another.
 */
#pragma once

#include "providers/remote/remote.h"

/*
 * As provider.h says of `watch`. `vendor` is for messages. ERR_UNSUPPORTED: there is no helper.
 *
 * Where a vendor has no `listen` (remote_ops) its programs' output comes only at their end. Then the helper is a recorded command that is followed
 * request by request (remote_command_listen()): three or four a minute while nothing changes, at most one a second while
 * much does, and a change that follows a silence is heard a tenth of a second and a round trip later.
 */
enum err remote_watch(const struct remote *r, const char *vendor, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
