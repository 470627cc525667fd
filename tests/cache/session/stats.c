#include "cache/session/stats.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <ctype.h>
#include <string.h>

TestSuite(stats, .timeout = 300);

Test(stats, a_counter_adds_up)
{
	struct stats s = { 0 };

	stats_add(&s, STATS_BLOCK_HITS, 2);
	stats_add(&s, STATS_BLOCK_HITS, 3);
	cr_assert(eq(u64, s.counters[STATS_BLOCK_HITS], 5));
	cr_assert(eq(u64, s.counters[STATS_BLOCK_MISSES], 0));
}

/* A call is in one bucket, the first whose bound it does not exceed. */
Test(stats, a_call_counts_by_outcome_and_by_how_long_it_took)
{
	static const struct {
		int64_t time_us, bound_ms;
	} rows[] = { { 0, 1 }, { 1000, 1 }, { 1001, 2 }, { 60000000, 60000 }, { 60000001, -1 } };

	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
		struct stats s = { 0 };
		struct stats_calls *list = &s.calls[STATS_LIST];

		stats_add_call(&s, STATS_LIST, ERR_NOT_FOUND, rows[row].time_us);
		cr_expect(eq(u64, list->outcomes[ERR_NOT_FOUND], 1));
		cr_expect(eq(u64, list->outcomes[ERR_OK], 0));
		cr_expect(eq(u64, list->time_us, (uint64_t)rows[row].time_us));
		for (size_t b = 0; b < STATS_BUCKETS; b++)
			cr_expect(
				eq(u64, list->buckets[b], stats_bound_ms(b) == rows[row].bound_ms),
				"row %zu, bucket %zu", row, b);
	}
}

Test(stats, nobody_who_counts_is_no_reason_to_fail)
{
	stats_add(NULL, STATS_EVENTS, 1);
	stats_add_call(NULL, STATS_FETCH, ERR_OK, 1);
	stats_add_sent(NULL, STATS_APPLY, 1);
	stats_add_received(NULL, STATS_FETCH, 1);
}

static bool is_a_name(const char *text)
{
	for (; *text; text++)
		if (!islower((unsigned char)*text) && *text != '_')
			return false;
	return true;
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) > strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

static bool is_a_sentence(const char *text)
{
	return isupper((unsigned char)*text) && ends_with(text, ".");
}

/* The names follow Prometheus: a counter that only grows ends in "_total". */
Test(stats, every_counter_has_a_name_and_says_what_it_counts)
{
	for (enum stats_counter n = 0; n < STATS_COUNTERS; n++) {
		const char *name = stats_counter_name(n);

		cr_expect(is_a_name(name) && ends_with(name, "_total"), "%s", name);
		cr_expect(is_a_sentence(stats_counter_help(n)), "%s", name);
		for (enum stats_counter other = 0; other < n; other++)
			cr_expect(strcmp(name, stats_counter_name(other)) != 0, "%s", name);
	}
}
