/*
 * buf.h - a growing run of bytes with a ceiling.
 *
 * Invariants: `bytes` is never read past `len`. One NUL follows the last byte once anything was
 * added. `len <= max` always, so that a server cannot choose our memory use. A failed addition
 * leaves the buffer as it was and sets `failed`, so a row of additions can be checked once at its
 * end. Not locked.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	unsigned char *bytes;
	size_t len, room;
	size_t max; /* the ceiling, in bytes; set where the buffer is made */
	bool failed;
};

#define BUF_INIT(ceiling)                                                                          \
	{                                                                                          \
		.max = (ceiling)                                                                   \
	}
#define AUTO_BUF __attribute__((cleanup(buf_release)))

void buf_release(struct buf *b);

/* Empties the buffer and clears `failed`; keeps the memory. */
void buf_reset(struct buf *b);

/* Each returns false when the ceiling or the memory is reached. */
bool buf_add(struct buf *b, const void *bytes, size_t len);
bool buf_add_string(struct buf *b, const char *string);
bool buf_add_byte(struct buf *b, unsigned char byte);
__attribute__((format(printf, 2, 3))) bool buf_printf(struct buf *b, const char *format, ...);

/*
 * Room for `len` more bytes, which the caller fills and then passes to buf_filled(); NULL at the
 * ceiling.
 */
unsigned char *buf_reserve(struct buf *b, size_t len);

/* Adds the first `len` bytes of the reserved room. */
void buf_filled(struct buf *b, size_t len);

/* Drops the first `len` bytes. */
void buf_consume(struct buf *b, size_t len);

/* The text so far, always terminated; the buffer keeps it. */
const char *buf_text(const struct buf *b);

/* ERR_OK, or why additions failed. */
enum err buf_check(const struct buf *b, const char *what, struct error *e);
