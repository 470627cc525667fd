/*
 * spelling.h - the distance between two words, for "did you mean".
 */
#pragma once

#include <stddef.h>

/* Longer than any option's name: later letters do not help to find the intended name. */
#define SPELLING_MAX 31

/*
 * The number of letters to add, drop or change to get from `a` to `b`. Only SPELLING_MAX letters of
 * each count.
 */
size_t spelling_distance(const char *a, size_t a_len, const char *b, size_t b_len);
