/*
 * shown_run.h - a command in a new sandbox with its output shown on standard error. Standard output
 * is for the sandbox's ID.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/provider.h"

struct shown_command {
	const char *what;           /* beginning of the sentence on failure: "setup script x" */
	const char *way_out;        /* end of the sentence on a timeout */
	const char *command;        /* shell text */
	const struct buf *input;    /* standard input of the command */
	int64_t timeout_ms;         /* 0: none */
	const char *const *secrets; /* values shown as *** (masked.h), ended by NULL; NULL: none */
};

/*
 * Output is shown as it comes. ERR_IO: the command failed; ERR_TIMEOUT: it took longer than
 * allowed.
 */
enum err shown_run(struct provider *p, const struct call *call, const struct shown_command *c,
	struct error *e);
