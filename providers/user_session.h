/*
 * user_session.h - named sessions of a sandbox: commands that keep directory and variables from one
 * to the next.
 *
 * A session is a directory of the sandbox, which only its user can read. It has the directory where
 * the last command ended and, for each kind of shell, a text that restores its variables. Each
 * command of the session reads these first and writes them when its shell ends, whole: of two
 * commands at one time the later one counts. A command that a signal ends, or that replaces its
 * shell or the shell's EXIT trap, leaves the session as it was.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

/* Shorter than the longest name of a file (NAME_MAX), with room to spare. */
#define USER_SESSION_NAME_MAX 200

/* Letters, digits, '_', '-', '.' and no '.' or '-' first: a word of a shell, and of a path. */
bool user_session_name_is_valid(const char *name);

/* More than the text before a command without variables takes. */
#define USER_SESSION_TEXT_MAX ((size_t)8 * 1024)

/*
 * Adds the text before a command of the session. `env`: "NAME=value", ended by NULL, or NULL:
 * variables of this command alone, which take precedence over the session's and are not kept.
 */
void user_session_begin(struct buf *out, const char *name, char *const *env);
/*
 * user_session_list(): a command that prints the names, a line each. user_session_end(): a command
 * that ends a session, with exit code 1 where there is none of that name.
 */
void user_session_list(struct buf *out);
void user_session_end(struct buf *out, const char *name);
