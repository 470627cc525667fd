#include "cache/session/bandwidth.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)

TestSuite(bandwidth, .timeout = 300);

static uint64_t product(struct bandwidth *b)
{
	return bandwidth_delay_product(b, 512 * KIB, 4 * MIB);
}

Test(bandwidth, nothing_is_known_at_first)
{
	struct bandwidth b = { 0 };

	cr_expect(eq(u64, product(&b), 512 * KIB));
	bandwidth_note(&b, 100000, 100, 50);
	cr_expect(eq(u64, product(&b), 512 * KIB));
}

Test(bandwidth, a_distant_sandbox_sends_more_in_a_round_trip)
{
	struct bandwidth b = { 0 };

	bandwidth_note(&b, 100000, 12500000, 1000000); /* 100 ms, 100 Mbit/s */
	cr_expect(eq(u64, product(&b), 1250000));
}

Test(bandwidth, both_bounds_hold)
{
	struct bandwidth near = { 0 }, far = { 0 };

	bandwidth_note(&near, 1000, 12500000, 1000000);
	cr_expect(eq(u64, product(&near), 512 * KIB));
	bandwidth_note(&far, 300000, 125000000, 1000000);
	cr_expect(eq(u64, product(&far), 4 * MIB));
}

Test(bandwidth, what_disturbs_an_answer_hardly_counts)
{
	struct bandwidth b = { 0 };

	bandwidth_note(&b, 100000, 12500000, 1000000);
	bandwidth_note(&b, 5000000, 12500000, 9000000);
	cr_expect(le(u64, product(&b), 1250000));
	cr_expect(ge(u64, product(&b), 1200000));
}

Test(bandwidth, a_connection_that_changed_is_noticed)
{
	struct bandwidth b = { 0 };

	bandwidth_note(&b, 100000, 12500000, 1000000);
	for (int n = 0; n < 30; n++)
		bandwidth_note(&b, 200000, 12500000, 2000000);
	cr_expect(eq(u64, product(&b), 1250000));
	cr_expect(eq(i64, b.bytes_per_s, 6250000));
	cr_expect(eq(i64, b.round_trip_us, 200000));
}
