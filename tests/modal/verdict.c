/* The meaning of the trailers of a gRPC call. */
#include "providers/modal/grpc.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(modal_status, .timeout = 300);

Test(modal_status, words_lose_their_escapes_and_what_is_none_stays)
{
	static const struct {
		const char *in, *want;
		size_t max;
	} rows[] = {
		{ "", "", 8 },
		{ "no%20more", "no more", 30 },
		{ "%e2%82%AC", "\xe2\x82\xac", 30 },
		{ "100% of %zz and %2", "100% of %zz and %2", 30 },
		{ "0123456789", "01234567", 8 },
		{ "0123456%20%20", "0123456 ", 8 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char words[30 + 1];

		cr_expect(eq(sz, grpc_decode(words, rows[i].max, rows[i].in, strlen(rows[i].in)),
			strlen(rows[i].want)));
		cr_expect(eq(str, words, (char *)rows[i].want));
	}
}

Test(modal_status, details_that_make_no_sense_hold_no_wish)
{
	static const char *const rows[] = { "", "=", "no base64", "AAAA", "/////w", "CAg", "GgA" };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(i64, grpc_retry_after_ms(rows[i]), -1), "%s", rows[i]);
}

/* Each is an RPCStatus with an RPCRetryPolicy in its details, without base64's padding. */
Test(modal_status, a_wish_for_another_time_has_bounds)
{
	static const struct {
		const char *details;
		int64_t want_ms;
	} rows[] = {
		{ "CAgaJwoeeHgvbW9kYWwuY2xpZW50LlJQQ1JldHJ5UG9saWN5EgUNAADAPw", 1500 }, /* 1.5 */
		{ "CAgaJwoeeHgvbW9kYWwuY2xpZW50LlJQQ1JldHJ5UG9saWN5EgUNCtcjPA", 100 },  /* 0.01 */
		{ "CAgaJwoeeHgvbW9kYWwuY2xpZW50LlJQQ1JldHJ5UG9saWN5EgUNAACAvw", 100 },  /* -1.0 */
		{ "CAgaJwoeeHgvbW9kYWwuY2xpZW50LlJQQ1JldHJ5UG9saWN5EgUNAADAfw", 100 },  /* nan */
		{ "CAgaJwoeeHgvbW9kYWwuY2xpZW50LlJQQ1JldHJ5UG9saWN5EgUNyvJJcQ",
			86400000 }, /* 1e+30 */
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(i64, grpc_retry_after_ms(rows[i].details), rows[i].want_ms), "%s",
			rows[i].details);
}
