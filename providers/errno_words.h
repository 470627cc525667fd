/*
 * errno_words.h - the kind of a message that ends in the words of an errno, as messages of programs
 * written in Go or C do.
 */
#pragma once

#include "providers/base/error.h"

/*
 * ": no such file or directory" at the end: ERR_NOT_FOUND, and so on. `otherwise`: the kind of a
 * message that ends in no such words.
 */
enum err errno_words_kind(const char *message, enum err otherwise);
