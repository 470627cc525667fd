/*
 * envd_words.h - what envd says, byte by byte: written down here by hand and not with the decoder's own schema.
 */
#pragma once

#include "providers/base/buf.h"

/* ---- Protobuf ---- */

void put_number(struct buf *out, unsigned field, uint64_t value);
void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t len);
void put_text(struct buf *out, unsigned field, const char *text);

/* ---- Streams: each appends an envelope ---- */

void say(struct buf *out, unsigned flags, const void *message, size_t len);
void say_end_of_stream(struct buf *out, const char *json);

/* Of a command. */
void say_started(struct buf *out, uint32_t pid);
void say_output(struct buf *out, unsigned field, const void *bytes, size_t len);
#define SAY_OUT 1
#define SAY_ERR 2
/* NULL: left out. */
void say_ended(struct buf *out, int exit_code, const char *status, const char *error);
void say_keepalive(struct buf *out);

/* Of a watch. `entry_type`: FILE 1, DIRECTORY 2; 0: no entry. `link`: what it leads to, or NULL. */
void say_watching(struct buf *out);
void say_change(
	struct buf *out, const char *name, unsigned type, unsigned entry_type, const char *link);
#define SAY_CREATE 1
#define SAY_WRITE  2
#define SAY_REMOVE 3
#define SAY_RENAME 4
#define SAY_CHMOD  5
