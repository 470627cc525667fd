/*
 * command_line.h - shared by exec and run: the words behind `--`, which become the text that a
 * sandbox's shell runs, and the options for that.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"

#include <argp.h>
#include <stdbool.h>

/* Linux takes 128 KiB of one argument and 2 MB of all. */
#define COMMAND_LINE_MAX ((size_t)16 * 1024 * 1024)

struct command_line {
	char *const *words; /* in argv */
	size_t count;
	char *dir;          /* working directory; NULL: where the provider starts commands */
	char **env;         /* "NAME=value", ended by NULL; NULL: none added */
	char *shell;        /* providers/user_shell.h; NULL: auto */
	int merges;         /* standard error goes to standard output */
	int64_t timeout_ms; /* 0: none */
	/* code.h: the first word is code in this language; NULL: a shell's command */
	char *language;
	char *file; /* the code is in this file, "-" standard input; NULL: it is a word */
	/* user_session.h: the session whose directory and variables the command has; NULL: none */
	char *session;
	/* --json: prints the result, not the output (fs/control/exec_response.h) */
	bool as_response;
};

#define AUTO_COMMAND_LINE __attribute__((cleanup(command_line_release)))

void command_line_release(struct command_line *line);

/* Options without a letter. */
#define COMMAND_LINE_SHELL   0x4000
#define COMMAND_LINE_LANG    0x4001
#define COMMAND_LINE_FILE    0x4002
#define COMMAND_LINE_SESSION 0x4003

/* Rows of an argp with these keys. */
#define COMMAND_LINE_OPTIONS                                                                       \
	{ "workdir", 'w', "DIRECTORY", 0, "run it there", 0 },                                     \
		{ "env", 'e', "NAME=VALUE", 0, "a variable for it; may be repeated", 0 },          \
		{ "shell", COMMAND_LINE_SHELL, "SHELL", 0,                                         \
			"what runs it: auto, sh, bash (which reads ~/.bashrc), login (also "       \
			"/etc/profile and ~/.profile), or a path; auto is login where the "        \
			"provider's own SDK does so, else "                                        \
			"bash; without bash it is /bin/sh",                                        \
			0 },                                                                       \
		{ "merge", 'm', NULL, 0,                                                           \
			"what it says on standard error comes on standard output, in order", 0 },  \
		{ "lang", COMMAND_LINE_LANG, "LANGUAGE", 0,                                        \
			"the first word is code: python, node or shell; without a word it is "     \
			"read from standard input",                                                \
			0 },                                                                       \
		{ "file", COMMAND_LINE_FILE, "FILE", 0,                                            \
			"with --lang: the code is in this file here; - is standard input", 0 },    \
		{ "session", COMMAND_LINE_SESSION, "NAME", 0,                                      \
			"go on where the last command of this session ended: its directory, its "  \
			"variables; sandboxctl session lists and ends them",                       \
			0 },                                                                       \
	{                                                                                          \
		"timeout", 't', "SECONDS", 0, "end it after so long; 0: never, as without this", 0 \
	}

/*
 * For a parser whose input begins with a struct command_line: takes the options that the parser
 * does not know.
 */
error_t command_line_take(int key, const char *value, const struct argp_state *state);
/* At the first word of the command: takes all words that are left. */
error_t command_line_take_words(struct command_line *line, struct argp_state *state);

/* Whether there is no text to run. */
bool command_line_is_empty(const struct command_line *line);

/*
 * One word is shell text, passed on unchanged. Several words are a program and its arguments, and
 * no shell splits them. With a language the first word is code (code.h), which may be read from
 * standard input until `call` is cancelled.
 */
enum err command_line_text(
	const struct command_line *line, const struct call *call, struct buf *out, struct error *e);
