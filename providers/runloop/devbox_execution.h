/*
 * devbox_execution.h - one shell command in a devbox, to its end, and all its output.
 *
 * A command is started under an id that is chosen here. A repetition under that id asks about the
 * same command, so no command runs twice, whatever breaks. A command that ends soon is one request.
 * The answer has the last 100 lines of each stream where no more are asked for, or fewer when they
 * are many bytes. Flags say that output is missing, and then the whole stream is read from its
 * first byte. Standard output of a longer command is read as it comes. Output is text: bytes that
 * are not UTF-8 are lost.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/rest/rest.h"

/* Runloop's SDKs take 131000 characters for the longest command; a longer one is ERR_TOO_LARGE. */
#define EXECUTION_COMMAND_MAX 131000

struct execution {
	const char *id;      /* the devbox's id */
	const char *command; /* for a bash of its own, in the home directory and without input */
	const struct remote_upload *upload; /* a file that the command waits for; NULL: none */
	bool is_followed;                   /* output is wanted as it comes, not at the end */
	execute_sink sink;
	void *sink_context;
	/* Results. */
	int exit_code;
	bool has_started; /* the command runs or ran, or may; set on a failure too */
};

enum err execution_run(
	struct execution *x, const struct rest *r, const struct call *call, struct error *e);

/*
 * Runs a command that goes on until it is ended, and passes standard output on as it comes. When
 * the call is cancelled or the sink refuses, the command is killed with all that it started. Such a
 * command has no id that is chosen here, so it is not sent again.
 */
enum err execution_listen(
	struct execution *x, const struct rest *r, const struct call *call, struct error *e);
