/*
 * remote_command_inside.h - what both ways of running a command share; internal to remote_command*.c.
 */
#pragma once

#include "providers/reaper.h"
#include "providers/remote_command.h"

/* One command. */
struct remote_run {
	const struct remote *r;
	const struct execute_request *request;
	const char *cwd;    /* "": the root */
	const char *marker; /* COMMAND_MARKER_LEN digits */
	execute_sink sink;
	void *sink_context;
	bool has_refused; /* the sink */
	struct execute_result *result;
};

/* To the caller's sink. */
enum err remote_run_output(
	struct remote_run *run, enum stream stream, const void *bytes, size_t len, struct error *e);

enum err remote_run_helper(struct remote_run *run, const struct call *call, struct error *e);
enum err remote_run_script(struct remote_run *run, const struct call *call, struct error *e);

/*
 * Records that nobody will follow any more: one that was noted is given to whoever takes next, who tells the helper.
 * `markers` has room for REMOTE_FINISHED_MAX.
 */
#define REMOTE_FINISHED_MAX 64
void remote_finished_note(struct remote_commands *c, const char *marker);
size_t remote_finished_take(
	struct remote_commands *c, char markers[REMOTE_FINISHED_MAX][MARKER_SIZE]);
