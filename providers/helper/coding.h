/*
 * coding.h - integers, strings and attributes as they lie on the wire; for the wire_*.c files only.
 *
 * Encoders append, and a failure stays in the buffer (base/buf.h), so a row of them is checked
 * once. A decoder keeps the first thing that was wrong and gives zeros from there on;
 * decoder_check() makes an error of it. A string is a u32 length, the bytes and one NUL, so that a
 * decoded string can be used in place.
 */
#pragma once

#include "providers/helper/wire.h"

void enc_u8(struct buf *out, unsigned value);
void enc_u16(struct buf *out, unsigned value);
void enc_u32(struct buf *out, uint32_t value);
void enc_u64(struct buf *out, uint64_t value);
/* An integer in as few bytes as possible: seven bits in each, the lowest first. */
void enc_var(struct buf *out, uint64_t value);
/* `to` as its signed distance from `from`: few bytes where the two are near each other. */
void enc_difference(struct buf *out, uint64_t from, uint64_t to);
/* The count of the records that follow: at most WIRE_BATCH_MAX. */
void enc_count(struct buf *out, size_t count);
void enc_string(struct buf *out, const char *string);
/* A string that may be NULL. */
void enc_optional(struct buf *out, const char *string);
void enc_data(struct buf *out, const void *bytes, size_t len);
void enc_time(struct buf *out, const struct timespec *t);
void enc_attr(struct buf *out, const struct attr *a);
void enc_space(struct buf *out, const struct space *s);
void enc_expect(struct buf *out, const struct expect *x);
void enc_version(struct buf *out, const struct version *v);

struct decoder {
	const unsigned char *bytes;
	size_t len, at;
	const char *wrong; /* the first thing that was wrong; NULL: nothing */
};

struct decoder decoder_at(const struct buf *in, size_t at);
void decoder_fail(struct decoder *d, const char *wrong);
/* ERR_OK, or the error that `what` has. */
enum err decoder_check(const struct decoder *d, const char *what, struct error *e);
/* decoder_check() for a message that must end here. */
enum err decoder_check_end(const struct decoder *d, const char *what, struct error *e);

unsigned dec_u8(struct decoder *d);
unsigned dec_u16(struct decoder *d);
uint32_t dec_u32(struct decoder *d);
uint64_t dec_u64(struct decoder *d);
/* At most `max`, and encoded in no more bytes than needed. */
uint64_t dec_var(struct decoder *d, uint64_t max);
uint64_t dec_difference(struct decoder *d, uint64_t from);
/* A number from `first` to below `end`. */
unsigned dec_enum(struct decoder *d, unsigned first, unsigned end);
bool dec_bool(struct decoder *d);
/* Bits; a bit outside `known` is an error. */
uint32_t dec_flags(struct decoder *d, uint32_t known);
enum err dec_err(struct decoder *d);
/* A string inside the message; at most `max` bytes and none of them NUL. "" after a failure. */
const char *dec_string(struct decoder *d, size_t max);
/* A string, or NULL where none was sent. */
const char *dec_optional(struct decoder *d, size_t max);
/* A string that fits `out`, which is `size` bytes. */
void dec_text(struct decoder *d, char *out, size_t size);
const void *dec_data(struct decoder *d, size_t max, size_t *len);
/* `len` bytes inside the message; NULL after a failure. */
const void *dec_bytes(struct decoder *d, size_t len);
struct timespec dec_time(struct decoder *d);
/* Any tv_nsec: the time of a request may be UTIME_NOW, and utimensat(2) checks it. */
struct timespec dec_time_asked(struct decoder *d);
/* A count of records of at least `record_min` bytes each: never more than the message can hold. */
uint32_t dec_count(struct decoder *d, uint32_t max, size_t record_min);
void dec_attr(struct decoder *d, struct attr *out);
void dec_space(struct decoder *d, struct space *out);
struct expect dec_expect(struct decoder *d);
struct version dec_version(struct decoder *d);
