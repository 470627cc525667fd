/*
 * toolbox.h - requests to the daemon in a Daytona sandbox, through the vendor's proxy.
 *
 * Source: the daemon, proxy and runner of daytona 0.190. A refusal may have no body at all, and a
 * 404 may be about a file, a route, or the whole sandbox; toolbox_verdict() tells them apart.
 * Functions may be called from any number of threads.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/rest/rest.h"

/* The forms of the daemon's and the proxy's own answers: to a download, and to other requests. */
extern const struct vendor_frame toolbox_frame, toolbox_file_frame;

/*
 * A rest_verdict: the error that a refusal means. ERR_GONE: the proxy or the runner does not find
 * the daemon, so the request did not arrive there; the sandbox is stopped, or was started a moment
 * ago. ERR_AUTH: the key, or the sandbox was deleted. ERR_NOT_FOUND: the file. ERR_UNSUPPORTED: the
 * daemon does not know the route.
 */
enum err toolbox_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);

/* Whether the daemon can be reached. */
enum err toolbox_ping(const struct rest *r, const struct call *call, struct error *e);

/* See `run` in remote.h. ERR_GONE and ERR_AUTH: nothing ran, and the sink was not called. */
struct toolbox_run {
	const char *const *argv;
	unsigned flags; /* enum run_flags */
	const struct remote_upload *upload;
	execute_sink sink;
	void *sink_context;
	int exit_code; /* the result */
};
enum err toolbox_run(
	const struct rest *r, const struct call *call, struct toolbox_run *run, struct error *e);

/* See `upload` in remote.h. ERR_INVALID: a path that the daemon would trim. */
enum err toolbox_upload(const struct rest *r, const struct call *call,
	const struct remote_upload *upload, struct error *e);

/* See `download` in remote.h. ERR_UNREACHABLE: the answer was cut short. */
enum err toolbox_download(const struct rest *r, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e);
