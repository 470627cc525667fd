/*
 * shell_text.h - a program for a daemon that feeds text to some shell's standard input and returns
 * the shell's two outputs as one.
 *
 * The shell may be zsh, bash or any sh, and the shell's programs read the same standard input. So
 * the text is one compound command, which is parsed whole before anything runs, and the program's
 * input is /dev/null. The output of a starting shell stands before a first mark. The program's
 * standard output follows, up to a second mark. The program's standard error comes last.
 */
#pragma once

#include "providers/base/buf.h"

#define SHELL_TEXT_MARK_SIZE 32

/* A mark that no output holds by accident. ERR_IO: no random bytes. */
enum err shell_text_new_mark(char out[SHELL_TEXT_MARK_SIZE], struct error *e);

/*
 * Adds the text for `argv` (ended by NULL). The shell's exit code is the program's. False: no
 * memory.
 */
bool shell_text_make(struct buf *out, const char *const *argv, const char *mark);

struct shell_text_piece {
	const char *text; /* not ended by a NUL */
	size_t len;
};

/*
 * Splits the shell's output `all` into the program's two, which point into `all`. False: a mark is
 * missing, so the shell did not run to its end.
 */
bool shell_text_split(const struct shell_text_piece *all, const char *mark,
	struct shell_text_piece *out, struct shell_text_piece *err);
