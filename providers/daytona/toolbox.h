/*
 * toolbox.h - requests to the daemon in a Daytona sandbox, through the vendor's proxy.
 *
 * Source: the daemon, proxy and runner of daytona 0.190. A refusal may have no body at all, and a 404 may be said of a file,
 * of a route, or of the whole sandbox; what tells them apart is here. Any number of threads.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/rest/rest.h"

/* The daemon's and the proxy's own answers: of a file that is downloaded, and others. */
extern const struct vendor_frame toolbox_frame, toolbox_file_frame;

/*
 * What a refusal means: a rest_judge. ERR_GONE: whoever stands before the daemon does not find it, and has not asked it for
 * anything, as of a sandbox that is stopped, or was started a moment ago; ERR_AUTH: the key, or the sandbox was deleted;
 * ERR_NOT_FOUND: the file; ERR_UNSUPPORTED: the daemon does not know the route.
 */
enum err toolbox_judge(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);

/* Whether the daemon can be reached. */
enum err toolbox_ping(const struct rest *r, const struct call *call, struct error *e);

/* As remote.h says of `run`. A failure of ERR_GONE or ERR_AUTH: nothing ran, and the sink was told nothing. */
struct toolbox_run {
	const char *const *argv;
	unsigned flags; /* enum run_flags */
	const struct remote_upload *upload;
	execute_sink sink;
	void *sink_context;
	int exit_code; /* is set */
};
enum err toolbox_run(
	const struct rest *r, const struct call *call, struct toolbox_run *run, struct error *e);

/* As remote.h says of `upload`. ERR_INVALID: a path that the daemon would trim. */
enum err toolbox_upload(const struct rest *r, const struct call *call,
	const struct remote_upload *upload, struct error *e);

/* As remote.h says of `download`. ERR_UNREACHABLE: the answer was cut short. */
enum err toolbox_download(const struct rest *r, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e);
