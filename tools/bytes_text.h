/*
 * bytes_text.h - sizes for people.
 */
#pragma once

#include <stdint.h>

#define BYTES_TEXT_SIZE 32

/* "4.1 MB", in units of 1000; "999 bytes". Returns `out`. */
const char *bytes_text(uint64_t bytes, char out[BYTES_TEXT_SIZE]);
