/*
 * logs.h - the log of a sandbox as JSON, for provider_ops.logs.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest/rest.h"

/* The members of an answer. */
struct rest_log {
	const char *lines; /* the list */
	const char *time;  /* a line's time: text, or milliseconds since 1970 */
	const char *kind, *text;
	const char *other_text; /* in place of an absent or empty `text`; NULL: none */
	bool is_newest_first;
};

/* Passes on the newest LOG_LINES_MAX lines of the answer `json`. */
enum err rest_log_pass(const struct rest *r, struct json_object *json, const struct rest_log *log,
	log_sink sink, void *context, struct error *e);
/* Sends `ask`, and passes on the lines. */
enum err rest_logs(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	const struct rest_log *log, log_sink sink, void *context, struct error *e);
