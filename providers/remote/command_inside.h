/*
 * command_inside.h - shared by both ways of running a command; internal to command*.c.
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
	bool has_refused; /* the sink refused */
	bool is_prompt;   /* output is wanted at once, also before the request ends */
	bool has_started; /* the helper reported the start */
	struct execute_result *result;
};

/* A cancelled call returns within a second. Before that it passes on the output so far. */
#define REMOTE_LAST_LOOK_MS 700

/* Passes output to the caller's sink. */
enum err remote_run_output(
	struct remote_run *run, enum stream stream, const void *bytes, size_t len, struct error *e);

enum err remote_run_helper(struct remote_run *run, const struct call *call, struct error *e);
/* With the vendor's own call, where the helper cannot run. */
enum err remote_run_plain(struct remote_run *run, const struct call *call, struct error *e);

/* The prefix of the names of records; their markers follow. */
#define REMOTE_RECORD "command-"

/* The record is not followed any more: the next request removes it. */
void remote_command_forget(const struct remote *r, const char *marker);
