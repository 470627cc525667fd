#include "cache/clocks.h"

#include "providers/base/call.h"

#include <stddef.h>
#include <time.h>

int64_t clocks_awake_ms(const struct clocks *c)
{
	return c && c->awake_ms ? c->awake_ms(c->context) : monotonic_ms();
}

static int64_t all_ms(const struct clocks *c)
{
	struct timespec now;

	if (c && c->all_ms)
		return c->all_ms(c->context);
	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clocks_slept_ms(const struct clocks *c)
{
	return all_ms(c) - clocks_awake_ms(c);
}
