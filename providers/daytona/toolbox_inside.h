/*
 * toolbox_inside.h - what requests of programs and of files share; internal to toolbox*.c.
 */
#pragma once

#include "providers/daytona/toolbox.h"

/* Work that nobody waits for does not keep the sandbox from stopping: says so in the headers. */
struct rest_ask toolbox_as_asked(struct rest_ask ask, const struct call *call);

/* A request that uploads a file. ERR_INVALID: a path that the daemon would trim. */
enum err toolbox_upload_ask(struct rest_ask *out, const struct remote_upload *upload,
	const struct call *call, struct error *e);
