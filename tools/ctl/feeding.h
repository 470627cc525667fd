/*
 * feeding.h - a command in a sandbox gets our standard input while it runs (providers/input_pipe.h).
 *
 *      AUTO_FEEDING struct feeding f = FEEDING_NONE;
 *      feeding_begin(&f, provider, &call, &input, e)
 *      ... input_pipe_command(..., f.base, ...) is run with &f.call ...
 *      feeding_end(&f, kind, is_killed, e)
 *
 * A thread reads it and sends piece after piece, each with a command of its own; it ends with the command, with the input,
 * or when nobody reads any more. Where the input cannot be handed on the command is given up.
 */
#pragma once

#include "providers/cancel_join.h"
#include "providers/input_pipe.h"
#include "providers/provider.h"
#include "tools/ctl/input.h"

#include <pthread.h>

struct feeding {
	struct provider *provider;
	struct input *input;
	char base[INPUT_PIPE_BASE_SIZE];
	struct call call;         /* of the command, and of all that feeds it */
	struct cancel over, both; /* either has ended; that, or the caller gave up */
	bool is_begun;            /* the pipe was there */
	bool has_thread;
	pthread_t thread;
	struct error
		error; /* of the thread; ERR_OK: it fed what there was, as long as somebody read it */
};

#define FEEDING_NONE                                                                               \
	{                                                                                          \
		.over = CANCEL_NONE, .both = CANCEL_NONE                                           \
	}
#define AUTO_FEEDING __attribute__((cleanup(feeding_release)))

/* Whether that sandbox has a place for the pipe, and the command can be kept beside it. */
bool feeding_is_possible(const struct provider *p, const char *command);

/* `p`, `input` and what cancels `call` outlive it. */
enum err feeding_begin(struct feeding *f, struct provider *p, const struct call *call,
	struct input *input, struct error *e);

/* The command is over: `kind` and `e` as it ended, or why it had to be given up; `is_killed`: its time was. */
enum err feeding_end(struct feeding *f, enum err kind, bool is_killed, struct error *e);
void feeding_release(struct feeding *f);
