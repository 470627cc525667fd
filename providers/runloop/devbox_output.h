/*
 * devbox_output.h - one stream of a command, whole and as it comes, from the API's server-sent
 * events.
 *
 * Bytes are counted here. A stream that breaks off, or that is ended for being idle
 * (devbox_events.h), is asked for again from that count.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest/rest.h"

struct devbox_output {
	const char *id, *execution_id;
	const char *name; /* "stdout", "stderr" */
	enum stream stream;
	execute_sink sink;
	void *sink_context;
};

/* Until the command ends. */
enum err devbox_output_read(const struct devbox_output *output, const struct rest *r,
	const struct call *call, struct error *e);
