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

/* How a script ends where nobody reads, or nobody does any more; and where nobody does who is still awaited. */
#define INPUT_PIPE_GONE    3
#define INPUT_PIPE_NOT_YET 4

/* ` 'BASE' ...` as the arguments of what follows, $1 the base, which is also $base; then the others, ended by NULL. */
void input_pipe_begin(struct buf *out, const char *base, const char *const *others);

enum input_pipe_feed {
	INPUT_PIPE_AWAIT = 1, /* it may be about to be made: looks for it for some seconds */
	INPUT_PIPE_LAST = 2,  /* and then the input ends */
};

/* Writes what comes as standard input into the pipe; ends when all of it is there. `flags`: enum input_pipe_feed. */
void input_pipe_feed(struct buf *out, const char *base, unsigned flags);
void input_pipe_tell(struct buf *out, const char *base, const char *word);

/* ---- A command that is kept in the foreground ---- */

#define INPUT_PIPE_BASE_SIZE 1200

/* Such a base, which nobody else has, in `staging`. ERR_TOO_LARGE: its name is too long. */
enum err input_pipe_base(char out[INPUT_PIPE_BASE_SIZE], const char *staging, struct error *e);

/*
 * Runs `command`, as short as an argument must be (INPUT_PIPE_COMMAND_MAX), with the pipe as its input; its output, its end
 * and who its processes belong to are as if it were run itself. The files are removed at its end, also when TERM is sent
 * to all of it; those that were left a week ago, when another one starts. Where the sandbox cannot make pipes it ends with
 * 125 and says so; `is_optional`: the command has no input then.
 */
void input_pipe_command(struct buf *out, const char *base, const char *command, bool is_optional);
#define INPUT_PIPE_COMMAND_MAX ((size_t)120 * 1024)
/* How the names of its files end, behind the base; then NULL. */
#define INPUT_PIPE_ENDS                                                                            \
	{                                                                                          \
		".in", ".ctl", ".new", NULL                                                        \
	}
