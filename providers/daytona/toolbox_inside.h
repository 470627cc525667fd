/*
 * toolbox_inside.h - what requests of programs and of files share; internal to toolbox*.c.
 */
#pragma once

#include "providers/daytona/toolbox.h"

/* Marks a background call in the headers, so that the request does not delay the sandbox's stop. */
struct rest_ask toolbox_as_asked(struct rest_ask ask, const struct call *call);

/* A request that uploads a file. ERR_INVALID: a path that the daemon would trim. */
enum err toolbox_upload_ask(struct rest_ask *out, const struct remote_upload *upload,
	const struct call *call, struct error *e);
