/*
 * supervise.h - the process that runs one command and records it.
 */
#pragma once

#include "providers/helper/command.h"

#include <signal.h>

/* The signals to a live supervisor: end the command, end it at once. */
#define SUPERVISE_STOP     SIGTERM
#define SUPERVISE_STOP_NOW SIGUSR1

/* The first line of a command's file. */
#define SUPERVISE_TEXT_FIRST "exec 3<&-\n"

struct supervision {
	int record; /* claimed by record_claim() */
	int cwd;    /* a directory */
	int input;  /* standard input */
	/*
	 * a file with SUPERVISE_TEXT_FIRST and a command too long for an argument; -1:
	 * `request->text`
	 */
	int text;
	const struct command_request *request;
};

/*
 * Starts a supervisor in a session of its own, with none of our descriptors but these. ERR_OK: the
 * supervisor holds the record as long as it lives. Nothing of it is left in our process.
 */
enum err supervise(const struct supervision *s, struct error *e);
