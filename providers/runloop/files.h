/*
 * files.h - files of a devbox, as the bytes they are.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/runloop/devbox_api.h"

/* A request that stores a file; as devbox_request_make() says. */
enum err devbox_upload_make(struct devbox_request *q, const char *id,
	const struct remote_upload *upload, struct error *e);

/*
 * ERR_NOT_FOUND: the file's directory may be missing. The service's status for that is not known,
 * so every refusal of the request's content is this error. The service gives up a body of which
 * nothing comes for 30 s (ERR_TIMEOUT). The request is not repeated then: several uploads that
 * starve each other would only be more.
 */
enum err devbox_store(const struct rest *r, const struct call *call, const char *id,
	const struct remote_upload *upload, struct error *e);

/* A whole file, as STREAM_OUT. */
enum err devbox_fetch(const struct rest *r, const struct call *call, const char *id,
	const char *path, execute_sink sink, void *sink_context, struct error *e);
