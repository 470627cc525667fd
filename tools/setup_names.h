/*
 * setup_names.h - the names to which a shell script gives values of its own.
 *
 *      NAME=value  NAME+=value  ${NAME:=value}  for NAME in  read NAME  local NAME  unset NAME  ...
 *
 * NAME=$NAME, in any quotes, gives no value. The script is read word by word, quotes and documents
 * in it like the rest: too many names are found rather than too few.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/base/path_set.h"

/* The number of bytes of `text` that are a name: 0 where none begins. */
size_t setup_name_len(const char *text);

/* Puts the names into `out`, which the caller releases. */
enum err setup_names_given(const char *script, struct path_set *out, struct error *e);

/*
 * Whether the name describes the machine or its user: HOME, PATH, USER, LANG ..., or is the shell's
 * own, such as _.
 */
bool setup_name_is_of_machine(const char *name);
