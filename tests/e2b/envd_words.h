/*
 * envd_words.h - answers of envd, byte by byte: written here by hand and not with the decoder's own
 * schema.
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

/* Events of a command. */
void say_started(struct buf *out, uint32_t pid);
void say_output(struct buf *out, unsigned field, const void *bytes, size_t len);
#define SAY_OUT 1
#define SAY_ERR 2
/* NULL: left out. */
void say_ended(struct buf *out, int exit_code, const char *status, const char *error);
void say_keepalive(struct buf *out);
