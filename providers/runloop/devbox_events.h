/*
 * devbox_events.h - a parser for the server-sent events of a command's stream, which takes them as
 * they come; no request is made here.
 *
 * An event is {"output": TEXT, "offset": BYTES}. No source says whether the offset is of the text's
 * begin or of its end, so it is not used. An error event with the code "408" ends a stream that was
 * idle, though there may be more.
 */
#pragma once

#include "providers/runloop/devbox_output.h"

struct devbox_events {
	const struct devbox_output *output;
	uint64_t at; /* bytes passed on */
	struct buf line, data;
	bool is_error; /* the current event is an error event */
	bool is_idle;  /* the stream was ended though there may be more */
	/* the sink refused the output, or an event was wrong: not a break of the stream */
	bool has_refused;
};

void devbox_events_init(struct devbox_events *g, const struct devbox_output *output);
void devbox_events_release(struct devbox_events *g);
#define AUTO_DEVBOX_EVENTS __attribute__((cleanup(devbox_events_release)))

/* Another stream goes on at `at`. */
void devbox_events_restart(struct devbox_events *g);
/*
 * A rest_sink whose context is the struct devbox_events. ERR_PROTOCOL, ERR_TOO_LARGE: an event that
 * makes no sense.
 */
enum err devbox_events_take(void *context, const void *bytes, size_t len, struct error *e);
