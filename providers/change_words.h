/*
 * change_words.h - what people call a change.
 */
#pragma once

#include "providers/verbs.h"

/* "mkdir", "write", ... */
const char *change_word(enum change_op op);
/* The path by which people know what it is about: a file that is put into its place is no longer a name of staging. */
const char *change_shown_path(const struct change *c);
/* Whether people know nothing of it: what is done to a file of staging before that is put into its place is told by that. */
bool change_is_in_staging(const struct change *c);
