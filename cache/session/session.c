#include "cache/session/session.h"

int64_t cache_attr_until(const struct cache *c)
{
	return monotonic_ms() + c->options.attr_ms;
}

int64_t cache_name_until(const struct cache *c)
{
	return monotonic_ms() + c->options.entry_ms;
}

/* Atomic, because tests change the deadline while threads of the cache read it. */
int64_t cache_progress_ms(const struct cache *c)
{
	return __atomic_load_n(&c->options.progress_ms, __ATOMIC_RELAXED);
}

struct call cache_call_of_ours(const struct cache *c, const struct cancel *cancel)
{
	return (struct call){
		.progress_ms = cache_progress_ms(c), .cancel = cancel, .is_background = true
	};
}

uint64_t cache_uses(const struct cache *c)
{
	return atomic_load(&c->uses);
}

const char *cache_staging(const struct cache *c)
{
	return c->provider->staging;
}
