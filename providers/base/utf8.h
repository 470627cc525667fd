/*
 * utf8.h - which bytes are text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How many bytes from `bytes` (at least one, at most `len`, which is not 0) belong together: a character, *valid, or the
 * longest beginning of one that cannot go on, which a reader shows as a single U+FFFD.
 */
size_t utf8_next(const unsigned char *bytes, size_t len, bool *valid);

/* The code point of a character of `len` bytes (utf8_next). */
uint32_t utf8_point(const unsigned char *bytes, size_t len);

bool utf8_valid(const void *bytes, size_t len);

/* How many bytes at the end are the beginning of a character whose rest is missing: 0 to 3. */
size_t utf8_cut_at_end(const void *bytes, size_t len);

/* How many bytes at the beginning can only be the rest of a character: 0 to 3. */
size_t utf8_cut_at_start(const void *bytes, size_t len);
