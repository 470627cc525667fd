/*
 * times.h - times of files, compared.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

static inline bool time_equals(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static inline bool time_is_after(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}
