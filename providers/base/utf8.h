/*
 * utf8.h - which bytes are text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The number of bytes from `bytes` on (at least one, at most `len`, which is not 0) that belong
 * together: a character, *valid, or the longest beginning of one that cannot go on, which a reader
 * shows as a single U+FFFD.
 */
size_t utf8_next(const unsigned char *bytes, size_t len, bool *valid);

/* The code point of a character of `len` bytes (utf8_next). */
uint32_t utf8_point(const unsigned char *bytes, size_t len);

bool utf8_valid(const void *bytes, size_t len);

/* The number of bytes at the end that begin a character whose rest is missing: 0 to 3. */
size_t utf8_cut_at_end(const void *bytes, size_t len);

/* The number of bytes at the beginning that can only be the rest of a character: 0 to 3. */
size_t utf8_cut_at_start(const void *bytes, size_t len);
