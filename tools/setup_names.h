/*
 * setup_names.h - to which names a script of a shell gives values of its own.
 *
 *      NAME=value  NAME+=value  ${NAME:=value}  for NAME in  read NAME  local NAME  unset NAME  ...
 *
 * NAME=$NAME, in whatever quotes, gives nothing. The script is read word by word, quotes and documents
 * in it like the rest: a name too many is found rather than one too few.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/base/path_set.h"

/* How many bytes of `text` are a name: 0 where none begins. */
size_t setup_name_len(const char *text);

/* Puts the names into `out`, which the caller releases. */
enum err setup_names_given(const char *script, struct path_set *out, struct error *e);

/*
 * Whether a name says where or who somebody is, on each machine for itself: HOME, PATH, USER,
 * LANG ..., or is the shell's own, as _ is.
 */
bool setup_name_is_of_machine(const char *name);
