#include "providers/base/condition.h"

#include <time.h>

void condition_init(pthread_cond_t *c)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(c, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

bool condition_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t end_ms)
{
	const struct timespec end = { .tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000 };

	return pthread_cond_timedwait(c, lock, &end) == 0;
}
