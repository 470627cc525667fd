/*
 * time.h - the clocks, and times of files compared. Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Milliseconds of the monotonic clock. */
int64_t monotonic_ms(void);
/* Microseconds of the same. */
int64_t monotonic_us(void);
/* Milliseconds of the clock that also goes on while the machine sleeps. */
int64_t boottime_ms(void);
/* The time of day, since 1970. */
struct timespec time_of_day(void);

static inline bool time_equals(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static inline bool time_is_after(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* `now`, or the first time after `last` where that is later. */
static inline struct timespec time_next(struct timespec last, struct timespec now)
{
	if (time_is_after(now, last))
		return now;
	if (++last.tv_nsec == 1000000000)
		last = (struct timespec){ .tv_sec = last.tv_sec + 1 };
	return last;
}
