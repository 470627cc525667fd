/*
 * gzip.h - gzip (RFC 1952) of messages that fit in memory, with zlib.
 */
#pragma once

#include "providers/base/buf.h"

/*
 * Appends what the `len` bytes of one gzip member hold. ERR_PROTOCOL: they are none, or hold more than the ceiling of
 * `out` admits, so that a few bytes cannot fill our memory.
 */
enum err gzip_inflate(struct buf *out, const void *bytes, size_t len, struct error *e);

/* Appends the bytes, packed fast rather than small. false: no room. */
bool gzip_deflate(struct buf *out, const void *bytes, size_t len);
