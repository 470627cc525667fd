/*
 * input.h - standard input of sandboxctl, in pieces, for a command in a sandbox.
 *
 *      AUTO_INPUT struct input in = INPUT_INIT;
 *      input_look(&in, &call, e)       what is there by now; in.has_ended: that is all
 *      input_await(&in, &call, e)      the next piece, as soon as there is something
 *
 * A terminal is read in the foreground only: in the background nothing comes, and nobody is stopped by it. Used by one
 * thread at a time, which has to block SIGTTIN.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"

/* Of all that can be read without a command that reads it: what a provider takes as a command's input. */
#define INPUT_MAX ((size_t)60 * 1024 * 1024)
/* So much of it is in memory at a time. */
#define INPUT_PIECE_MAX ((size_t)8 * 1024 * 1024)

struct input {
	struct buf bytes; /* what was read and is not yet handed on: the caller consumes it */
	int own; /* what fd 0 is, opened once more so that reading it never waits; -1: fd 0 is read itself */
	bool is_terminal;
	bool has_ended; /* behind `bytes` there is nothing more */
};

#define INPUT_INIT                                                                                 \
	{                                                                                          \
		.bytes = BUF_INIT(INPUT_MAX), .own = -1                                            \
	}
#define AUTO_INPUT __attribute__((cleanup(input_release)))

void input_release(struct input *in);

/* Reads what is there, waiting for nobody; nothing of a terminal. First of all. */
enum err input_look(struct input *in, const struct call *call, struct error *e);

/* Waits until there is something, or the end. `call` may be cancelled; it has no deadline. */
enum err input_await(struct input *in, const struct call *call, struct error *e);

/* Waits until there is everything. ERR_TOO_LARGE: more than INPUT_MAX. */
enum err input_await_end(struct input *in, const struct call *call, struct error *e);
