/*
 * gzip.h - gzip (RFC 1952) of messages that fit in memory, with zlib.
 */
#pragma once

#include "providers/base/buf.h"

/*
 * Appends the contents of the `len` bytes of one gzip member. ERR_PROTOCOL: not gzip, or more
 * contents than the ceiling of `out` allows, so that a few bytes cannot fill our memory.
 */
enum err gzip_inflate(struct buf *out, const void *bytes, size_t len, struct error *e);

/* Appends the bytes, packed fast rather than small. false: no room. */
bool gzip_deflate(struct buf *out, const void *bytes, size_t len);
