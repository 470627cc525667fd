/*
 * input.h - standard input of sandboxctl, in pieces, for a command in a sandbox.
 *
 *      AUTO_INPUT struct input in = INPUT_INIT;
 *      input_look(&in, &call, e)       the bytes there by now; in.has_ended: that is all
 *      input_await(&in, &call, e)      the next piece, as soon as there are bytes
 *
 * A terminal is read in the foreground only: in the background no bytes come, and sandboxctl is not
 * stopped by the terminal. Used by one thread at a time, which has to block SIGTTIN.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"

/*
 * The most input of a command that does not read while it runs: providers take this much with a
 * command.
 */
#define INPUT_MAX ((size_t)60 * 1024 * 1024)
/* The most bytes in memory at a time. */
#define INPUT_PIECE_MAX ((size_t)8 * 1024 * 1024)

struct input {
	struct buf bytes; /* bytes read and not passed on yet: the caller consumes them */
	/*
	 * the file of fd 0, opened once more so that reading never waits; -1: fd 0 itself is read
	 */
	int own;
	bool is_terminal;
	bool has_ended; /* no bytes come after `bytes` */
};

#define INPUT_INIT                                                                                 \
	{                                                                                          \
		.bytes = BUF_INIT(INPUT_MAX), .own = -1                                            \
	}
#define AUTO_INPUT __attribute__((cleanup(input_release)))

void input_release(struct input *in);

/* Reads the bytes that are there, without waiting; none of a terminal. To be called first. */
enum err input_look(struct input *in, const struct call *call, struct error *e);

/* Waits until there are bytes, or the end. `call` may be cancelled; its deadline is not used. */
enum err input_await(struct input *in, const struct call *call, struct error *e);

/* Waits until all bytes are there. ERR_TOO_LARGE: more than INPUT_MAX. */
enum err input_await_end(struct input *in, const struct call *call, struct error *e);
