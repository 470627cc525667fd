#include "cache/session/stats.h"

/* The shortest is a call within this machine, the longest one that moved a large file. */
static const int64_t bounds_ms[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000,
	30000, 60000 };

#define BOUNDS_COUNT (sizeof bounds_ms / sizeof *bounds_ms)

_Static_assert(BOUNDS_COUNT + 1 == STATS_BUCKETS, "a bucket for each bound, and one more");

/* No other memory is read by way of the counters: no order is needed. */
static void add(_Atomic uint64_t *to, uint64_t count)
{
	atomic_fetch_add_explicit(to, count, memory_order_relaxed);
}

void stats_add(struct stats *s, enum stats_counter counter, uint64_t count)
{
	if (s)
		add(&s->counters[counter], count);
}

static size_t bucket_of(int64_t time_us)
{
	size_t bucket = 0;

	while (bucket < BOUNDS_COUNT && time_us > bounds_ms[bucket] * 1000)
		bucket++;
	return bucket;
}

void stats_add_call(struct stats *s, enum stats_verb verb, enum err outcome, int64_t time_us)
{
	if (!s)
		return;
	add(&s->calls[verb].outcomes[outcome], 1);
	add(&s->calls[verb].buckets[bucket_of(time_us)], 1);
	add(&s->calls[verb].time_us, (uint64_t)time_us);
}

void stats_add_sent(struct stats *s, enum stats_verb verb, uint64_t bytes)
{
	if (s)
		add(&s->calls[verb].sent, bytes);
}

void stats_add_received(struct stats *s, enum stats_verb verb, uint64_t bytes)
{
	if (s)
		add(&s->calls[verb].received, bytes);
}

/* ---- Words ---- */

const char *stats_counter_name(enum stats_counter counter)
{
	static const char *const names[] = {
#define X(counter, name, help) [STATS_##counter] = (name),
		STATS_COUNTER_ROWS(X)
#undef X
	};

	return names[counter];
}

const char *stats_counter_help(enum stats_counter counter)
{
	static const char *const helps[] = {
#define X(counter, name, help) [STATS_##counter] = (help),
		STATS_COUNTER_ROWS(X)
#undef X
	};

	return helps[counter];
}

const char *stats_verb_name(enum stats_verb verb)
{
	static const char *const names[] = {
#define X(verb, label) [STATS_##verb] = (label),
		STATS_VERB_ROWS(X)
#undef X
	};

	return names[verb];
}

int64_t stats_bound_ms(size_t bucket)
{
	return bucket < BOUNDS_COUNT ? bounds_ms[bucket] : -1;
}
