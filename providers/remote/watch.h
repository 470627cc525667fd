/*
 * watch.h - the stream of changes for vendors that pass a program's output on as it comes: inotify
 * in a helper that runs as long as there is a listener.
 *
 * A listener that is killed does not end its helper: the helper goes on until the same watcher
 * watches again (watch_request.watcher), an hour at most. The helper of a live listener whose
 * stream broke goes on in the same way, while the listener starts another.
 */
#pragma once

#include "providers/remote/remote.h"

/*
 * As `watch` of provider.h. `vendor` is for messages. ERR_UNSUPPORTED: there is no helper.
 *
 * Where a vendor has no `listen` (remote_ops) its programs' output comes only at their end. Then
 * the helper is a recorded command that is followed request by request (remote_command_listen()):
 * three or four requests a minute while nothing changes, at most one a second during many changes.
 * A change after a silence arrives a tenth of a second and a round trip later.
 */
enum err remote_watch(const struct remote *r, const char *vendor, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
