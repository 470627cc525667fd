/*
 * retry.h - what is worth sending again, and when; for http's own files. No state, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* After these the answer, or the error, is the caller's. */
#define RETRY_MAX 3
/* The same of what retry_is_lock(). */
#define RETRY_LOCK_MAX 5

/* What the server says of it in x-should-retry, where HTTP_SHOULD_RETRY asks for that. */
enum retry_wish { RETRY_UNSAID, RETRY_NEVER, RETRY_AGAIN };

/* `value` of the header; NULL: none. */
enum retry_wish retry_wish_of(unsigned flags, const char *value);
/* `status` may be a fault that passes; `flags`: enum http_flags. */
bool retry_wants_status(unsigned flags, int status, enum retry_wish wish);
/* Whether it asks for the same request elsewhere, which does no harm. */
bool retry_wants_redirect(unsigned flags, int status);
/* Whether somebody else holds what is wanted: it passes after seconds. */
bool retry_is_lock(unsigned flags, int status);
/* Whether it may pass only after more than RETRY_MAX repetitions. */
bool retry_is_lasting(unsigned flags, int status);
/* Whether the server says by it that it did nothing. */
bool retry_is_undone(unsigned flags, int status);

/* The header retry-after-ms, a number; NULL: none. Negative: it says nothing. */
int64_t retry_after_ms_of(const char *value);
/*
 * Milliseconds to wait before repetition 0, 1, 2 and on: about 250, 500, 1000, 1000, or of a lock 1, 2, 4, 8 and 16 s,
 * spread by a quarter either way so that many clients do not come back at once; or what the server asked for
 * (`retry_after_ms`, negative: nothing) and a little more.
 */
int64_t retry_pause_ms(unsigned repetition, bool is_lock, int64_t retry_after_ms);
