/*
 * input_pipe.h - input for a command in the sandbox while it runs, as shell text.
 *
 * The command's standard input is a named pipe there, and each piece of input is a script that writes it into the pipe, run
 * as any other command is: nothing depends on a connection that lasts, or on a vendor who can send input. Two files lie
 * beside each other, whose names begin with the `base`, an absolute path:
 *
 *	.in     a named pipe: what the command reads
 *	.ctl    a named pipe: words to whoever keeps it, a line each; INPUT_PIPE_EOF ends the input
 *
 * Who keeps a command holds both open, so that nobody who opens one waits, and so that the input ends when he lets go.
 */
#pragma once

#include "providers/base/buf.h"

/* Part of a script: makes both. */
#define INPUT_PIPE_MAKE "mkfifo \"$base.ctl\" \"$base.in\""
#define INPUT_PIPE_EOF  "eof"

/* How a script ends where nobody reads, or nobody does any more. */
#define INPUT_PIPE_GONE 3

/* ` 'BASE' ...` as the arguments of what follows, $1 the base, which is also $base; then the others, ended by NULL. */
void input_pipe_begin(struct buf *out, const char *base, const char *const *others);

/* Writes what comes as standard input into the pipe; ends when all of it is there. */
void input_pipe_feed(struct buf *out, const char *base);
void input_pipe_tell(struct buf *out, const char *base, const char *word);
