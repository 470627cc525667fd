/*
 * input_pipe.h - input for a command in the sandbox while it runs, as shell text.
 *
 * The command's standard input is a named pipe there. Each piece of input is a script that writes
 * it into the pipe, run like any other command. So no connection has to last, and no vendor has to
 * send input. Two files lie in one directory, whose names begin with the `base`, an absolute path:
 *
 *	.in     a named pipe: the command's input
 *	.ctl    a named pipe: words to the keeper, a line each; INPUT_PIPE_EOF: no more input
 *
 * The keeper of a command holds both open. So no process that opens one waits, and the input ends
 * when the keeper closes it.
 */
#pragma once

#include "providers/base/buf.h"

/* Part of a script: makes both pipes. */
#define INPUT_PIPE_MAKE "mkfifo \"$base.ctl\" \"$base.in\""
#define INPUT_PIPE_EOF  "eof"

/*
 * Exit codes of a script. GONE: no process reads the pipe, or none does any more. NOT_YET: no
 * process reads the pipe, but one may soon.
 */
#define INPUT_PIPE_GONE    3
#define INPUT_PIPE_NOT_YET 4

/*
 * ` 'BASE' ...`: the arguments of the script text that is added next. $1 is the base, which is also
 * $base; then come the others, ended by NULL.
 */
void input_pipe_begin(struct buf *out, const char *base, const char *const *others);

enum input_pipe_feed {
	INPUT_PIPE_AWAIT = 1, /* the pipe may be about to be made: looks for it for some seconds */
	INPUT_PIPE_LAST = 2,  /* the input ends after this piece */
};

/*
 * Writes the script's standard input into the pipe; ends when all of it is written. `flags`: enum
 * input_pipe_feed.
 */
void input_pipe_feed(struct buf *out, const char *base, unsigned flags);
void input_pipe_tell(struct buf *out, const char *base, const char *word);

/* ---- A command whose keeper runs in the foreground ---- */

#define INPUT_PIPE_BASE_SIZE 1200

/* A new, unique base in `staging`. ERR_TOO_LARGE: its name is too long. */
enum err input_pipe_base(char out[INPUT_PIPE_BASE_SIZE], const char *staging, struct error *e);

/*
 * Runs `command`, as short as an argument must be (INPUT_PIPE_COMMAND_MAX), with the pipe as its
 * input. The output, the end and the owner of the processes are as if the command ran by itself.
 * The files are removed at its end, also when all its processes get TERM. Files that were left a
 * week ago are removed when another command starts. Where the sandbox cannot make pipes the command
 * ends with 125 and a message. `is_optional`: then the command runs without input.
 */
void input_pipe_command(struct buf *out, const char *base, const char *command, bool is_optional);
#define INPUT_PIPE_COMMAND_MAX ((size_t)120 * 1024)
/* The ends of its files' names, behind the base; then NULL. */
#define INPUT_PIPE_ENDS                                                                            \
	{                                                                                          \
		".in", ".ctl", ".new", NULL                                                        \
	}
