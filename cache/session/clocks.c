#include "cache/session/clocks.h"

#include "cache/session/session.h"

#include "providers/base/call.h"

#include <stddef.h>

int64_t clocks_awake_ms(const struct clocks *c)
{
	return c && c->awake_ms ? c->awake_ms(c->context) : monotonic_ms();
}

static int64_t all_ms(const struct clocks *c)
{
	return c && c->all_ms ? c->all_ms(c->context) : boottime_ms();
}

int64_t clocks_slept_ms(const struct clocks *c)
{
	return all_ms(c) - clocks_awake_ms(c);
}
