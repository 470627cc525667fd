/*
 * words.h - the argument list of a program to be started.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

#define WORDS_MAX 128

struct words {
	char *argv[WORDS_MAX + 1]; /* ended by NULL */
	size_t count;
	bool failed; /* a word is missing: no memory, or too many */
};

#define AUTO_WORDS __attribute__((cleanup(words_release)))
void words_release(struct words *w);

__attribute__((format(printf, 2, 3))) void words_add(struct words *w, const char *format, ...);
/* Adds several words, ended by NULL. */
void words_add_all(struct words *w, const char *const *words);
/* ERR_OK, or the error why a word is missing. */
enum err words_check(const struct words *w, struct error *e);
