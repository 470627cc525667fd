/*
 * change_words.h - what people call a change.
 */
#pragma once

#include "providers/verbs.h"

/* "mkdir", "write", ... */
const char *change_word(enum change_op op);
