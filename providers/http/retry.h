/*
 * retry.h - whether and when a request is sent again; for http's own files. No state, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* After so many repetitions the answer, or the error, is the caller's. */
#define RETRY_MAX 3
/* The limit where retry_is_lock() is true. */
#define RETRY_LOCK_MAX 5

/* The server's wish in x-should-retry, used with HTTP_SHOULD_RETRY. */
enum retry_wish { RETRY_UNSAID, RETRY_NEVER, RETRY_AGAIN };

/* `value` of the header; NULL: none. */
enum retry_wish retry_wish_of(unsigned flags, const char *value);
/* Whether `status` may be a passing fault; `flags`: enum http_flags. */
bool retry_wants_status(unsigned flags, int status, enum retry_wish wish);
/* Whether the status asks for the same request at another URL, which does no harm. */
bool retry_wants_redirect(unsigned flags, int status);
/* Whether the status means a lock that another client holds: the state passes after seconds. */
bool retry_is_lock(unsigned flags, int status);
/* Whether the state may pass only after more than RETRY_MAX repetitions. */
bool retry_is_lasting(unsigned flags, int status);
/* Whether the status says that the server did nothing. */
bool retry_is_undone(unsigned flags, int status);

/* The header retry-after-ms, a number; NULL: no header. Negative: no usable value. */
int64_t retry_after_ms_of(const char *value);
/*
 * The milliseconds to wait before repetition 0, 1, 2 and on. About 250, 500, 1000, 1000, or of a
 * lock 1, 2, 4, 8 and 16 s, spread by a quarter either way so that many clients do not return at
 * once. Or the server's own pause (`retry_after_ms`, negative: none) and a little more.
 */
int64_t retry_pause_ms(unsigned repetition, bool is_lock, int64_t retry_after_ms);
