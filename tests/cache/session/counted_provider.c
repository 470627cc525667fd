#include "cache/session/counted_provider.h"
#include "tests/support/changes.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(counted_provider, .timeout = 300);

/* ---- A vendor that answers the same each time ---- */

static enum err refuse_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	(void)p, (void)call, (void)out;
	return error_set(e, ERR_GONE, "as the test wants it");
}

static enum err give_pieces(struct provider *p, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e)
{
	const struct fetch_piece pieces[] = { { .kind = FETCH_DATA, .bytes = "abc", .len = 3 },
		{ .kind = FETCH_DATA, .offset = 3, .bytes = "de", .len = 2 },
		{ .kind = FETCH_DONE } };
	enum err kind = ERR_OK;

	(void)p, (void)call, (void)items, (void)items_count;
	for (size_t i = 0; !kind && i < sizeof pieces / sizeof *pieces; i++)
		kind = sink(context, &pieces[i], e);
	return kind;
}

static enum err do_changes(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	(void)p, (void)call, (void)request, (void)e;
	results[0] = (struct change_result){ 0 };
	return ERR_OK;
}

static enum err say_hello(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	(void)p, (void)call, (void)request;
	*result = (struct execute_result){ .has_exit_code = true };
	return sink(context, STREAM_OUT, "hello\n", 6, e);
}

static const struct provider_ops vendor_ops = {
	.name = "vendor",
	.info = refuse_info,
	.fetch = give_pieces,
	.apply = do_changes,
	.execute = say_hello,
};

struct fixture {
	struct provider vendor;
	struct stats stats;
	struct counted_provider counted;
	unsigned reports;
};

static void start(struct fixture *f)
{
	*f = (struct fixture){ .vendor.ops = &vendor_ops };
	f->counted = (struct counted_provider){ .provider = &f->vendor, .stats = &f->stats };
}

static enum err receive_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	(void)piece, (void)e;
	++*(unsigned *)context;
	return ERR_OK;
}

static enum err stop_receiving(void *context, const struct fetch_piece *piece, struct error *e)
{
	(void)context, (void)piece;
	return error_set(e, ERR_INTERRUPTED, "enough");
}

static enum err receive_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)stream, (void)bytes, (void)e;
	*(unsigned *)context += (unsigned)len;
	return ERR_OK;
}

static uint64_t calls_in_buckets(const struct stats_calls *calls)
{
	uint64_t sum = 0;

	for (size_t b = 0; b < STATS_BUCKETS; b++)
		sum += calls->buckets[b];
	return sum;
}

/* ---- The counters ---- */

Test(counted_provider, a_fetch_counts_the_bytes_that_came)
{
	struct fixture f;
	struct stats_calls *fetch = &f.stats.calls[STATS_FETCH];
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX };

	start(&f);
	cr_assert(
		eq(int, counted_fetch(&f.counted, NULL, &item, 1, receive_piece, &f.reports, NULL),
			ERR_OK));
	cr_expect(eq(uint, f.reports, 3));
	cr_expect(eq(u64, fetch->received, 5));
	cr_expect(eq(u64, fetch->outcomes[ERR_OK], 1));
	cr_expect(eq(u64, calls_in_buckets(fetch), 1));
}

Test(counted_provider, a_fetch_shows_how_far_the_sandbox_is)
{
	struct fixture f;
	struct bandwidth bandwidth = { .round_trip_us = 60000000 };
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX };

	start(&f);
	f.counted.bandwidth = &bandwidth;
	cr_assert(
		eq(int, counted_fetch(&f.counted, NULL, &item, 1, receive_piece, &f.reports, NULL),
			ERR_OK));
	cr_expect(lt(i64, bandwidth.round_trip_us, 60000000));
}

Test(counted_provider, who_stops_a_fetch_is_its_outcome)
{
	struct fixture f;
	struct stats_calls *fetch = &f.stats.calls[STATS_FETCH];
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX };

	start(&f);
	cr_assert(eq(int, counted_fetch(&f.counted, NULL, &item, 1, stop_receiving, NULL, NULL),
		ERR_INTERRUPTED));
	cr_expect(eq(u64, fetch->outcomes[ERR_INTERRUPTED], 1));
	cr_expect(eq(u64, fetch->outcomes[ERR_OK], 0));
}

Test(counted_provider, whose_time_is_over_asks_nothing_more)
{
	struct fixture f;
	struct progress progress = { .since_ms = monotonic_ms() - 60000 };
	const struct call call = { .progress_ms = 60000, .progress = &progress };
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .length = 5 };
	struct change change = CHANGE(WRITE, "f");
	struct apply_request request = { .changes = &change, .changes_count = 1 };
	struct change_result result = { .err = ERR_IO };

	start(&f);
	cr_expect(
		eq(int, counted_fetch(&f.counted, &call, &item, 1, receive_piece, &f.reports, NULL),
			ERR_TIMEOUT));
	cr_expect(eq(uint, f.reports, 0));
	cr_expect(eq(int, counted_apply(&f.counted, &call, &request, &result, NULL), ERR_TIMEOUT));
	cr_expect(eq(int, result.err, ERR_IO));
}

Test(counted_provider, changes_count_what_they_carry)
{
	struct fixture f;
	struct change changes[] = { CHANGE_ROW(WRITE, "f", TEXT("four")),
		CHANGE_ROW(APPEND, "f", TEXT("six")) };
	struct apply_request request = { .changes = changes, .changes_count = 2 };
	struct change_result results[2];

	start(&f);
	cr_assert(eq(int, counted_apply(&f.counted, NULL, &request, results, NULL), ERR_OK));
	cr_expect(eq(u64, f.stats.calls[STATS_APPLY].sent, 7));
}

Test(counted_provider, a_command_counts_its_text_its_input_and_its_output)
{
	struct fixture f;
	struct execute_request request = { .command = "cat", .input = "12", .input_len = 2 };
	struct execute_result result;

	start(&f);
	cr_assert(eq(int,
		counted_execute(
			&f.counted, NULL, &request, receive_output, &f.reports, &result, NULL),
		ERR_OK));
	cr_expect(eq(uint, f.reports, 6));
	cr_expect(eq(u64, f.stats.calls[STATS_EXECUTE].sent, 5));
	cr_expect(eq(u64, f.stats.calls[STATS_EXECUTE].received, 6));
}

Test(counted_provider, a_failure_is_counted_as_what_it_was)
{
	struct fixture f;
	struct sandbox_info info;

	start(&f);
	cr_assert(eq(int, counted_info(&f.counted, NULL, &info, NULL), ERR_GONE));
	cr_expect(eq(u64, f.stats.calls[STATS_INFO].outcomes[ERR_GONE], 1));
	cr_expect(eq(str, (char *)error_name(ERR_GONE), "GONE"));
}

Test(counted_provider, nothing_needs_to_be_counted)
{
	struct fixture f;
	struct sandbox_info info;

	start(&f);
	f.counted.stats = NULL;
	cr_expect(eq(int, counted_info(&f.counted, NULL, &info, NULL), ERR_GONE));
	cr_expect(eq(int, counted_extend(&f.counted, NULL, 1, NULL), ERR_OK));
}
