/*
 * spelling.h - how far one word is from another, for "did you mean".
 */
#pragma once

#include <stddef.h>

/* Longer than any option's name: what comes after says nothing more about what was meant. */
#define SPELLING_MAX 31

/* How many letters must be added, dropped or changed to make `b` of `a`. At most SPELLING_MAX letters each. */
size_t spelling_distance(const char *a, size_t a_len, const char *b, size_t b_len);
