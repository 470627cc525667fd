/*
 * toml.h - the part of TOML that Modal's configuration file uses: tables of one level, whose values
 * are strings, booleans and numbers.
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>

/*
 * Takes one pair, valid during the call. `table`: "" before the first table; `value`: a string's
 * text, or the literal as the file has it.
 */
typedef void (*toml_sink)(void *context, const char *table, const char *key, const char *value);

/* ERR_INVALID: the message names the line that is none of these, but never has a value's text. */
enum err toml_read(const char *text, size_t len, toml_sink sink, void *context, struct error *e);
