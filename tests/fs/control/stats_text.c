#include "fs/control/stats_text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(stats_text, .timeout = 300);

static void expect_line(const struct buf *text, const char *line)
{
	cr_expect(ne(ptr, strstr(buf_text(text), line), NULL), "%s is not in %s", line,
		buf_text(text));
}

Test(stats_text, every_metric_has_help_a_type_and_a_value)
{
	AUTO_BUF struct buf text = BUF_INIT(65536);
	struct stats s = { 0 };
	struct cache_status status = { .pending_bytes = 17, .expires_s = 300 };

	stats_add(&s, STATS_BLOCK_HITS, 5);
	stats_add_received(&s, STATS_FETCH, 42);
	stats_text(&s, &status, &text);
	expect_line(&text, "# HELP sandboxfs_block_hits_total Blocks of");
	expect_line(&text,
		"\n# TYPE sandboxfs_block_hits_total counter\nsandboxfs_block_hits_total 5\n");
	expect_line(&text, "\nsandboxfs_received_bytes_total{verb=\"fetch\"} 42\n");
	expect_line(&text, "\n# TYPE sandboxfs_pending_bytes gauge\nsandboxfs_pending_bytes 17\n");
	expect_line(&text, "\nsandboxfs_lifetime_seconds 300\n");
}

Test(stats_text, a_bucket_has_the_calls_of_those_before_it)
{
	AUTO_BUF struct buf text = BUF_INIT(65536);
	struct stats s = { 0 };

	stats_add_call(&s, STATS_LIST, ERR_OK, 500);
	stats_add_call(&s, STATS_LIST, ERR_NOT_FOUND, 15000);
	stats_add_call(&s, STATS_LIST, ERR_OK, 61000000);
	stats_text(&s, &(struct cache_status){ .expires_s = -1 }, &text);
	expect_line(&text, "\nsandboxfs_calls_total{verb=\"list\",outcome=\"OK\"} 2\n");
	expect_line(&text, "\nsandboxfs_calls_total{verb=\"list\",outcome=\"NOT_FOUND\"} 1\n");
	expect_line(&text, "_bucket{verb=\"list\",le=\"0.001\"} 1\n");
	expect_line(&text, "_bucket{verb=\"list\",le=\"0.010\"} 1\n");
	expect_line(&text, "_bucket{verb=\"list\",le=\"0.020\"} 2\n");
	expect_line(&text, "_bucket{verb=\"list\",le=\"60.000\"} 2\n");
	expect_line(&text, "_bucket{verb=\"list\",le=\"+Inf\"} 3\n");
	expect_line(&text, "_seconds_sum{verb=\"list\"} 61.015500\n");
	expect_line(&text, "_seconds_count{verb=\"list\"} 3\n");
}

Test(stats_text, a_sandbox_without_end_has_no_lifetime)
{
	AUTO_BUF struct buf text = BUF_INIT(65536);
	struct stats s = { 0 };

	stats_text(&s, &(struct cache_status){ .expires_s = -1 }, &text);
	cr_expect(eq(ptr, strstr(buf_text(&text), "lifetime"), NULL));
}

Test(stats_text, says_whether_there_is_a_stream_of_changes)
{
	struct stats s = { 0 };

	for (int has = 0; has <= 1; has++) {
		AUTO_BUF struct buf text = BUF_INIT(65536);

		stats_text(&s,
			&(struct cache_status){
				.stream = has ? CACHE_STREAM_LIVE : CACHE_STREAM_BROKEN },
			&text);
		expect_line(
			&text, has ? "\nsandboxfs_stream_live 1\n" : "\nsandboxfs_stream_live 0\n");
	}
}
