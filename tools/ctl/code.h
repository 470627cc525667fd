/*
 * code.h - code for an interpreter in the sandbox: the text of a command that runs the code.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"

/* Linux takes 128 KiB in one word (MAX_ARG_STRLEN); the interpreter gets the code as one word. */
#define CODE_MAX ((size_t)128 * 1024 - 1)

/* The languages, "python|node|shell". */
extern const char code_languages[];

/*
 * Adds the text of a command that runs `code`, of one of the languages, with `count` arguments.
 * Where the sandbox has no interpreter of that language the command ends with 127 and a sentence.
 * ERR_INVALID: no such language, or the code has a NUL; ERR_TOO_LARGE: the code is longer than
 * CODE_MAX.
 */
enum err code_command(struct buf *out, const char *language, const struct buf *code,
	char *const *arguments, size_t count, struct error *e);

/*
 * Reads the code from `file` to its end; "-": standard input. `call` may be cancelled meanwhile;
 * its deadline is not used.
 */
enum err code_read(struct buf *out, const char *file, const struct call *call, struct error *e);
