/*
 * change_words.h - changes in words for people.
 */
#pragma once

#include "providers/verbs.h"

/* "mkdir", "write", ... */
const char *change_word(enum change_op op);
/*
 * The path to show for a change. For a file that is put into its place that is the file's name, not
 * the name in staging.
 */
const char *change_shown_path(const struct change *c);
/*
 * Whether a change is not shown at all: changes of a file in staging are covered by the change that
 * gives the file its name.
 */
bool change_is_in_staging(const struct change *c);
