/*
 * hex.h - bytes as hexadecimal digits.
 */
#pragma once

#include <stddef.h>

/* `out` gets two lower-case digits for each byte, and a NUL. */
void hex_encode(char *out, const void *bytes, size_t len);
