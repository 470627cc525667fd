/*
 * command_inside.h - what both ways of running a command share; internal to remote_command*.c.
 */
#pragma once

#include "providers/reaper.h"
#include "providers/remote/command.h"
#include "providers/remote/names.h"

/* One command. */
struct remote_run {
	const struct remote *r;
	const struct execute_request *request;
	const char *cwd;    /* "": the root */
	const char *marker; /* COMMAND_MARKER_LEN digits */
	execute_sink sink;
	void *sink_context;
	bool has_refused; /* the sink */
	bool is_prompt;   /* output is wanted as soon as it is there, request or not */
	bool has_started; /* the helper said so */
	struct execute_result *result;
};

/* Who cancelled a command hears within a second, and before that what it said so far. */
#define REMOTE_LAST_LOOK_MS 700

/* To the caller's sink. */
enum err remote_run_output(
	struct remote_run *run, enum stream stream, const void *bytes, size_t len, struct error *e);

enum err remote_run_helper(struct remote_run *run, const struct call *call, struct error *e);
/* By the vendor's own call, where no helper runs. */
enum err remote_run_plain(struct remote_run *run, const struct call *call, struct error *e);

/* What the names of records begin with; their markers follow. */
#define REMOTE_RECORD "command-"

/* Nobody will follow its record any more: the next request removes it. */
void remote_command_forget(const struct remote *r, const char *marker);
