/*
 * feeding.h - passes our standard input to a command in a sandbox while the command runs
 * (providers/input_pipe.h).
 *
 *      AUTO_FEEDING struct feeding f = FEEDING_NONE;
 *      feeding_begin(&f, provider, &call, &input, e)
 *      ... input_pipe_command(..., f.base, ...) is run with &f.call ...
 *      feeding_end(&f, kind, is_killed, e)
 *
 * A thread reads the input and sends it piece by piece, each with a command of its own. The thread
 * ends with the command, with the input, or when no process reads the pipe any more. Where the
 * input cannot be passed on the command is given up.
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
	struct call call; /* for the command, and for all calls that feed it */
	/* `over`: the command or the thread has ended; `both`: that, or the caller gave up */
	struct cancel over, both;
	bool is_begun; /* the pipe was there */
	bool has_thread;
	pthread_t thread;
	/* result of the thread; ERR_OK: all input was passed on, as long as it was read */
	struct error error;
};

#define FEEDING_NONE                                                                               \
	{                                                                                          \
		.over = CANCEL_NONE, .both = CANCEL_NONE                                           \
	}
#define AUTO_FEEDING __attribute__((cleanup(feeding_release)))

/* Whether that sandbox has a directory for the pipe, and the command fits with its keeper. */
bool feeding_is_possible(const struct provider *p, const char *command);

/* `p`, `input` and the cancel of `call` outlive `f`. */
enum err feeding_begin(struct feeding *f, struct provider *p, const struct call *call,
	struct input *input, struct error *e);

/*
 * The command is over. `kind` and `e`: its result, or why it had to be given up; `is_killed`: by
 * its time limit.
 */
enum err feeding_end(struct feeding *f, enum err kind, bool is_killed, struct error *e);
void feeding_release(struct feeding *f);
