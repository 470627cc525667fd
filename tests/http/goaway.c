/* Requests that an HTTP/2 server reports as not processed, and requests that only seem to be. */
#include "tests/http/secure_room.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#define ALONG 4

TestSuite(http_goaway, .fini = secure_close, .timeout = 300);

/*
 * The server's counts when it answered: the requests done and arrived, and the connection's number.
 */
struct counts {
	int done, arrived, connection;
};

static struct counts counts_of(struct http_answer *answer)
{
	struct counts c = { 0 };

	cr_assert(eq(int,
		sscanf(buf_text(&answer->body), "%d %d %d", &c.done, &c.arrived, &c.connection),
		3));
	return c;
}

static enum err perform(unsigned flags, struct http_answer *answer, struct error *e)
{
	struct http_request request = secure_request("/");

	request.flags = flags;
	return http_perform(secure.http, NULL, &request, answer, e);
}

static struct counts expect_answer(unsigned flags)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error e = { 0 };

	cr_assert(eq(int, perform(flags, &answer, &e), ERR_OK), "%s", e.text);
	return counts_of(&answer);
}

static void expect_counts(struct counts c, int done, int arrived)
{
	cr_expect(eq(int, c.done, done));
	cr_expect(eq(int, c.arrived, arrived));
}

/*
 * The last of `words` says that a request is not processed. The client repeats the request: `done`
 * are done, of `arrived`.
 */
static void expect_repeated(const char *words, int before, int done, int arrived)
{
	struct counts first = { 0 }, last;

	secure_open(GOAWAY_SERVER, words, true);
	for (int i = 0; i < before; i++)
		first = expect_answer(0);
	last = expect_answer(0);
	expect_counts(last, done, arrived);
	cr_expect(lt(int, before ? first.connection : 1, last.connection), "%s", words);
}

Test(http_goaway, what_a_new_connection_does_not_process_is_sent_on_another)
{
	expect_repeated("goaway", 0, 1, 2);
}

Test(http_goaway, what_a_kept_connection_does_not_process_is_sent_on_another)
{
	expect_repeated("answer goaway", 1, 2, 3);
}

Test(http_goaway, what_is_not_processed_by_a_connection_that_closes_is_sent_on_another)
{
	expect_repeated("answer close", 1, 2, 3);
}

Test(http_goaway, what_is_not_processed_after_a_goaway_in_two_phases_is_sent_on_another)
{
	expect_repeated("answer phases", 1, 2, 3);
}

static void expect_once(const char *words)
{
	struct counts before, after;

	secure_open(GOAWAY_SERVER, words, true);
	expect_counts(expect_answer(0), 1, 1);
	before = expect_answer(0);
	expect_counts(before, 2, 2);
	after = expect_answer(0);
	expect_counts(after, 3, 3);
	cr_expect(lt(int, before.connection, after.connection));
}

Test(http_goaway, an_answered_stream_before_a_goaway_is_not_repeated)
{
	expect_once("answer last");
}

Test(http_goaway, a_connection_that_was_closed_while_idle_takes_no_request)
{
	expect_once("answer idle");
}

/* The last try has a connection of its own: other requests cannot use it up. */
Test(http_goaway, an_unprocessed_request_is_repeated_three_times)
{
	expect_repeated("goaway goaway goaway", 0, 1, 4);
}

Test(http_goaway, a_server_that_processes_nothing_is_given_up_as_one_that_did_not_get_it)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error e = { 0 };

	secure_open(GOAWAY_SERVER, "goaway goaway goaway goaway", true);
	cr_expect(eq(int, perform(0, &answer, &e), ERR_UNREACHABLE), "%s", e.text);
	cr_expect(not(answer.may_have_arrived));
	expect_counts(expect_answer(0), 1, 5);
}

/* The server processes the first two of four streams on a connection. */
Test(http_goaway, streams_up_to_the_last_that_is_processed_are_answered_and_others_repeated)
{
	struct http_exchange *x[ALONG];

	secure_open(GOAWAY_SERVER, "answer hold hold phases", true);
	expect_counts(expect_answer(0), 1, 1);
	for (int i = 0; i < ALONG; i++)
		x[i] = secure_begin("/");
	for (int i = 0; i < ALONG; i++)
		secure_expect_end(x[i], strlen("5 6 2"));
	cr_expect(eq(int, expect_answer(0).done, 1 + ALONG + 1));
}

static void expect_unknown(const char *words)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error e = { 0 };

	secure_open(GOAWAY_SERVER, words, true);
	expect_counts(expect_answer(0), 1, 1);
	cr_expect(eq(int, perform(0, &answer, &e), ERR_UNREACHABLE), "%s: %s", words, e.text);
	cr_expect(answer.may_have_arrived, "%s", words);
	expect_counts(expect_answer(0), 3, 3);
}

/* The request's stream is the last one that the server processes. */
Test(http_goaway, a_stream_that_is_processed_but_not_answered_is_not_repeated)
{
	expect_unknown("answer closed");
}

Test(http_goaway, a_refused_stream_is_not_repeated_for_it_may_have_been_processed)
{
	expect_unknown("answer refuse");
}

Test(http_goaway, a_refused_stream_is_repeated_where_that_does_no_harm)
{
	secure_open(GOAWAY_SERVER, "answer refuse", true);
	expect_counts(expect_answer(0), 1, 1);
	expect_counts(expect_answer(HTTP_REPEATABLE), 3, 3);
}
