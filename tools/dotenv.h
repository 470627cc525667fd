/*
 * dotenv.h - the variables of a .env file, in the form that the agents' tools read.
 *
 *      NAME=value                 to the end of the line; a # behind a blank begins a comment
 *      export NAME="two\nlines"   \n \r \t \" \\ as in C, other backslashes stay
 *      NAME='as it stands'        \' and \\ alone
 *      # a comment
 *
 * A quoted value may have several lines. A line without '=' sets no variable. References in a value
 * are not replaced.
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>

/* A file of keys is short. */
#define DOTENV_MAX ((size_t)1024 * 1024)

/*
 * Adds "NAME=value" for each variable of `text` to *list, which option_list_free() frees.
 * ERR_INVALID: a quote is not closed; the sentence names `path` and the line.
 */
enum err dotenv_parse(const char *path, const char *text, char ***list, struct error *e);
