/*
 * user_session.h - named sessions of a sandbox: commands that keep directory and variables from one to
 * the next.
 *
 * A session is a directory of the sandbox, which its user alone can read, with the directory where
 * the last command ended and, for each kind of shell, a text that brings its variables back. Each
 * command of the session reads these first and writes them when its shell ends, whole, so that of
 * two at one time the later one counts. A command that a signal ends, or that replaces its shell or
 * the shell's EXIT trap, leaves the session as it was.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

/* So long is the name of a file at most (NAME_MAX), with room to spare. */
#define USER_SESSION_NAME_MAX 200

/* Letters, digits, '_', '-', '.' and no '.' or '-' first: a word of a shell, and of a path. */
bool user_session_name_is_valid(const char *name);

/* What stands before a command that is given no variables takes less. */
#define USER_SESSION_TEXT_MAX ((size_t)8 * 1024)

/*
 * Adds what stands before a command of the session. `env`: "NAME=value", ended by NULL, or NULL:
 * what the command alone is given, which goes before what was kept, and is not kept.
 */
void user_session_begin(struct buf *out, const char *name, char *const *env);
/*
 * A command that prints the names, a line each; one that ends with 1 where there is none of that
 * name.
 */
void user_session_list(struct buf *out);
void user_session_end(struct buf *out, const char *name);
