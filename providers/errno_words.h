/*
 * errno_words.h - what a message means that ends in the words of an errno, as those of programs
 * written in Go or C do.
 */
#pragma once

#include "providers/base/error.h"

/* ": no such file or directory" at the end: ERR_NOT_FOUND, and so on. `otherwise`: the message ends in none of the words. */
enum err errno_words_kind(const char *message, enum err otherwise);
