/*
 * devbox_execution.h - one shell command in a devbox, to its end, and all that it says.
 *
 * A command is started under an id of ours: to send it again under that id is to ask about the same command, so nothing
 * here runs twice, whatever breaks. One that ends soon is one request, whose answer has its output: the last 100 lines of
 * each stream where no more are asked for, and of those not all when they are many bytes. Flags say so, and the whole stream
 * is read from its first byte then. Of one that lasts longer standard output is read as it comes.
 * Output is text: what is not UTF-8 does not come through.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/rest/rest.h"

/* Runloop's SDKs take 131000 characters for the longest command; one that is longer is ERR_TOO_LARGE. */
#define EXECUTION_COMMAND_MAX 131000

struct execution {
	const char *id;      /* of the devbox */
	const char *command; /* for a bash of its own, in the home directory and without input */
	const struct remote_upload *upload; /* what the command waits for; NULL: nothing */
	bool is_followed;                   /* output is wanted soon, not when it has ended */
	execute_sink sink;
	void *sink_context;
	/* Results. */
	int exit_code;
	bool has_started; /* or may have: on a failure too */
};

enum err execution_run(
	struct execution *x, const struct rest *r, const struct call *call, struct error *e);

/*
 * The same for one that goes on until it is told to end: standard output as it comes, and when the call is cancelled or the
 * sink refuses it is killed with all that it started. It has no id of ours, so it is not sent again.
 */
enum err execution_listen(
	struct execution *x, const struct rest *r, const struct call *call, struct error *e);
