/*
 * devbox_output.h - one stream of a command, whole and as it comes, from the API's server-sent events.
 *
 * An event is {"output": TEXT, "offset": BYTES}. Whether the offset is where the text begins or where it ends no source
 * says, so it is not used: bytes are counted here, and a stream that breaks off or is ended for being idle (an error event
 * with the code "408") is asked for again from that count.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest.h"

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
