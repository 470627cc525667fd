/*
 * duration_text.h - durations for people.
 */
#pragma once

#include <stdint.h>

#define DURATION_TEXT_SIZE 32

/* "2 h 5 min", "45 s": the two largest units. "-" for a negative number, which means none. */
void duration_text(int64_t seconds, char out[DURATION_TEXT_SIZE]);
