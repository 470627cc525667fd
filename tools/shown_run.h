/*
 * shown_run.h - a command in a sandbox that was just made, whose output people see: on standard
 * error, for standard output is for the sandbox's ID.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/provider.h"

struct shown_command {
	const char *what;           /* begins the sentence when it fails: "setup script x" */
	const char *way_out;        /* ends the sentence when it takes too long */
	const char *command;        /* shell text */
	const struct buf *input;    /* its standard input */
	int64_t timeout_ms;         /* 0: none */
	const char *const *secrets; /* shown as *** (masked.h), ended by NULL; NULL: none */
};

/* What it prints comes as it comes. ERR_IO: it failed; ERR_TIMEOUT: it took longer than it may. */
enum err shown_run(struct provider *p, const struct call *call, const struct shown_command *c,
	struct error *e);
