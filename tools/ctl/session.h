/*
 * session.h - named sessions of a sandbox: commands that keep directory and variables from one to the next.
 *
 * A session is a file of the sandbox, which its user alone can read: a shell's text that brings both
 * back. Each command of the session reads it first and writes it when its shell ends, whole, so that of
 * two at one time the later one counts. A command that is killed, or that replaces its shell by exec,
 * leaves the session as it was.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

/* So long is the name of a file at most (NAME_MAX), with what stands behind it while it is written. */
#define SESSION_NAME_MAX 200

/* Letters, digits, '_', '-', '.' and no '.' or '-' first: a word of a shell, and of a path. */
bool session_name_is_valid(const char *name);

/* Adds what stands before a command of the session. */
void session_begin(struct buf *out, const char *name);
/* A command that prints the names, a line each; one that ends with 1 where there is none of that name. */
void session_list(struct buf *out);
void session_end(struct buf *out, const char *name);
