#include "providers/base/time.h"

static struct timespec now_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now;
}

static int64_t us_of(clockid_t clock)
{
	struct timespec now = now_of(clock);

	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t monotonic_ms(void)
{
	return us_of(CLOCK_MONOTONIC) / 1000;
}

int64_t monotonic_us(void)
{
	return us_of(CLOCK_MONOTONIC);
}

int64_t boottime_ms(void)
{
	return us_of(CLOCK_BOOTTIME) / 1000;
}

struct timespec time_of_day(void)
{
	return now_of(CLOCK_REALTIME);
}
