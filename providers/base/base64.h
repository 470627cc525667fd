/*
 * base64.h - bytes as text (RFC 4648, with padding) for transports that carry nothing else.
 *
 * Decoding is strict: the alphabet, whole groups of four, padding only at the end and no spare bits
 * in it. So every run of bytes has exactly one spelling. libc only.
 */
#pragma once

#include "providers/base/buf.h"

/* Appends the text of `len` bytes, without a line end. */
bool base64_encode(struct buf *out, const void *bytes, size_t len);

/* Appends the bytes of `text`. ERR_PROTOCOL: no base64; ERR_TOO_LARGE: the ceiling of `out`. */
enum err base64_decode(struct buf *out, const char *text, size_t len, struct error *e);
