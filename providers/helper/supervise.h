/*
 * supervise.h - the process that runs one command and records it.
 */
#pragma once

#include "providers/helper/command.h"

#include <signal.h>

/* What a supervisor that lives takes for: end the command, end it at once. */
#define SUPERVISE_STOP     SIGTERM
#define SUPERVISE_STOP_NOW SIGUSR1

/* The first line of a command's file. */
#define SUPERVISE_TEXT_FIRST "exec 3<&-\n"

struct supervision {
	int record; /* claimed (record.h) */
	int cwd;    /* a directory */
	int input;  /* standard input */
	int text; /* a file with SUPERVISE_TEXT_FIRST and a command too long for an argument; -1: `request->text` */
	const struct command_request *request;
};

/*
 * Starts it, in a session of its own, with none of our descriptors but these. ERR_OK: it holds the record from now on, as
 * long as it lives. Nothing of it is left in our process.
 */
enum err supervise(const struct supervision *s, struct error *e);
