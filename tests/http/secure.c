/* TLS and HTTP/2, with a server of Node's: skipped where there is no node or no openssl. */
#include "tests/http/secure_room.h"

#include "tests/http/room.h"

#include "providers/base/cleanup.h"
#include "providers/http/client.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG ((size_t)20 * 1024 * 1024)
/* How soon silence is suspicious; set before any request. */
#define SUSPECT_MS 50

TestSuite(http_secure, .fini = secure_close, .timeout = 300);

Test(http_secure, an_unknown_authority_is_refused)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct error e = { 0 };

	secure_open(SECURE_SERVER, "2", false);
	request = secure_request("/");
	cr_expect(eq(int, http_perform(secure.http, NULL, &request, &answer, &e), ERR_AUTH), "%s",
		e.text);
	cr_expect(not(answer.may_have_arrived));
	cr_expect(ne(ptr, strstr(e.text, "SSL_CERT_FILE"), NULL), "%s", e.text);
}

/* A daemon leaves the directory that a relative path was meant for, and makes connections later. */
Test(http_secure, an_authority_named_by_a_relative_path_is_found_from_elsewhere)
{
	secure_open(SECURE_SERVER, "2", true);
	http_free(secure.http);
	cr_assert(zero(int, chdir(secure.scratch.path)));
	setenv("SSL_CERT_FILE", "ca.pem", 1);
	cr_assert(eq(int, http_new(&secure.http, "test/1", NULL), ERR_OK));
	cr_assert(zero(int, chdir("/")));
	secure_expect("/", "2.0 1");
}

/* The authority is trusted, but its certificate is not for this host. */
Test(http_secure, a_certificate_of_another_name_is_refused)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct error e = { 0 };

	secure_open(SECURE_SERVER, "2", true);
	request = secure_request("/");
	snprintf(secure.url, sizeof secure.url, "https://elsewhere.example:%d/", secure.port);
	request.address = "127.0.0.1";
	cr_expect(eq(int, http_perform(secure.http, NULL, &request, &answer, &e), ERR_AUTH), "%s",
		e.text);
	cr_expect(not(answer.may_have_arrived));
}

Test(http_secure, http_1_1_works_where_the_server_has_nothing_else)
{
	secure_open(SECURE_SERVER, "1", true);
	secure_expect("/", "1.1 1");
	secure_expect("/", "1.1 1");
}

/* The TLS handshake is on a connection that stood before the request. */
static void expect_preconnected(const char *version, const char *want)
{
	secure_open(SECURE_SERVER, version, true);
	snprintf(secure.url, sizeof secure.url, "https://127.0.0.1:%d", secure.port);
	http_preconnect(secure.http, secure.url);
	room_await_preconnected(secure.http, 1);
	secure_expect("/", want);
	secure_expect("/sockets", "1");
}

Test(http_secure, a_connection_that_is_there_is_taken)
{
	expect_preconnected("1", "1.1 1");
	secure_close();
	expect_preconnected("2", "2.0 1");
}

Test(http_secure, streams_share_a_connection_over_http_2)
{
	struct http_exchange *waiting[20];

	secure_open(SECURE_SERVER, "2", true);
	secure_expect("/", "2.0 1");
	for (int i = 0; i < 20; i++)
		waiting[i] = secure_begin("/wait");
	secure_expect("/release", "1");
	/* A request that reaches the server after this one is released by the next. */
	secure_expect("/release", "1");
	for (int i = 0; i < 20; i++)
		secure_expect_end(waiting[i], 8);
}

Test(http_secure, a_stream_nobody_reads_does_not_hold_up_the_others)
{
	struct http_exchange *idle;

	secure_open(SECURE_SERVER, "2", true);
	idle = secure_begin("/long");
	for (int i = 0; i < 50; i++)
		secure_expect("/", "2.0 1");
	secure_expect_end(idle, LONG);
}

/* ---- Large requests on connections of their own ---- */

static void expect_answer_of(struct http_request request, const char *want)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error e = { 0 };

	cr_assert(eq(int, http_perform(secure.http, NULL, &request, &answer, &e), ERR_OK), "%s",
		e.text);
	cr_expect(eq(str, (char *)buf_text(&answer.body), (char *)want));
}

/* A small request finds its connection as it was, whatever the large requests have. */
static void expect_apart(unsigned flags, uint64_t len, const char *want)
{
	AUTO_FREE char *body = calloc(1, HTTP_BULK_MIN);
	struct http_request large;

	secure_open(SECURE_SERVER, "2", true);
	secure_expect("/", "2.0 1");
	large = secure_request("/");
	large.flags = flags;
	large.body = body;
	large.body_len = len;
	expect_answer_of(large, want);
	expect_answer_of(large, want);
	secure_expect("/", "2.0 2");
}

Test(http_secure, a_large_body_goes_over_http_1_1_on_a_connection_that_is_kept)
{
	expect_apart(0, HTTP_BULK_MIN, "1.1 2");
}

Test(http_secure, a_large_answer_comes_over_http_1_1_on_a_connection_that_is_kept)
{
	expect_apart(HTTP_BULK, 0, "1.1 2");
}

Test(http_secure, a_large_body_that_needs_http_2_has_another_connection_than_small_requests)
{
	expect_apart(HTTP_REQUIRE_2, HTTP_BULK_MIN, "2.0 2");
}

Test(http_secure, a_body_below_the_initial_window_keeps_the_connection_of_small_requests)
{
	AUTO_FREE char *body = calloc(1, HTTP_BULK_MIN);
	struct http_request request;

	secure_open(SECURE_SERVER, "2", true);
	request = secure_request("/");
	request.body = body;
	request.body_len = HTTP_BULK_MIN - 1;
	expect_answer_of(request, "2.0 1");
}

/* ---- A peer that takes nothing ---- */

#define SAMPLE_MS 300

static int number_at(const char *path)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request = secure_request(path);

	cr_assert(eq(int, http_perform(secure.http, NULL, &request, &answer, NULL), ERR_OK));
	return atoi(buf_text(&answer.body));
}

/* The socket is writable, and libcurl wants to write: only the window of the stream is full. */
Test(http_secure, a_full_window_of_http_2_does_not_turn_the_thread)
{
	AUTO_FREE char *body = calloc(1, LONG);
	struct http_request large;
	struct http_exchange *x = NULL;

	secure_open(SECURE_SERVER, "2", true);
	large = secure_request("/hold");
	large.flags = HTTP_REQUIRE_2;
	large.body = body;
	large.body_len = LONG;
	cr_assert(eq(int, http_begin(secure.http, &large, &x, NULL), ERR_OK));
	while (!number_at("/held"))
		usleep(1000);

	uint64_t turns = secure.http->turns;
	int64_t begun_ms = monotonic_ms();

	usleep(SAMPLE_MS * 1000);
	turns = secure.http->turns - turns;
	/*
	 * A few hundred turns for bytes that are still taken on the way, and one turn a
	 * millisecond.
	 */
	cr_expect(lt(u64, turns, (uint64_t)(monotonic_ms() - begun_ms) + 500));
	secure_expect("/take", "");
	secure_expect_end(x, strlen("taken"));
}

/* ---- Connections that die ---- */

Test(http_secure, a_connection_that_dies_before_it_stands_is_made_again)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	const struct call call = { .progress_ms = 100000 };
	struct http_request request;
	struct error e = { 0 };
	int64_t begun_ms = monotonic_ms();

	secure_open(SECURE_SERVER, "2//1", true);
	request = secure_request("/");
	cr_expect(eq(int, http_perform(secure.http, &call, &request, &answer, &e), ERR_OK), "%s",
		e.text);
	cr_expect(lt(i64, monotonic_ms() - begun_ms, 90000));
}

/* ---- Answers that may take long ---- */

/* A connection on which nothing comes any more, and a request on it. */
static enum err perform_on_muted(unsigned flags, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;

	secure_open(SECURE_SERVER, "2", true);
	secure.http->silence.least_ms = SUSPECT_MS;
	secure_expect("/", "2.0 1");
	secure_expect("/mute", "muted");
	request = secure_request("/");
	request.flags = flags;
	return http_perform(secure.http, NULL, &request, &answer, e);
}

Test(http_secure, a_late_answer_is_asked_for_elsewhere_when_its_connection_is_dead)
{
	struct error e = { 0 };

	cr_expect(eq(int, perform_on_muted(HTTP_REPEATABLE, &e), ERR_OK), "%s", e.text);
}

Test(http_secure, what_is_not_repeatable_fails_when_the_connection_of_its_late_answer_is_dead)
{
	struct error e = { 0 };

	cr_expect(eq(int, perform_on_muted(0, &e), ERR_UNREACHABLE), "%s", e.text);
	cr_expect(ne(ptr, strstr(e.text, "is dead"), NULL), "%s", e.text);
}

Test(http_secure, a_late_answer_is_waited_for_while_its_connection_lives)
{
	struct http_exchange *x;
	int asked;

	secure_open(SECURE_SERVER, "2", true);
	secure.http->silence.least_ms = SUSPECT_MS;
	secure_expect("/", "2.0 1");
	x = secure_begin("/wait");
	asked = number_at("/roots");
	while (number_at("/roots") < asked + 2)
		usleep(1000);
	number_at("/release");
	secure_expect_end(x, strlen("released"));
}

Test(http_secure, the_connection_of_a_large_request_is_not_doubted_for_what_is_on_the_way)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_FREE char *body = calloc(1, HTTP_BULK_MIN);
	struct http_request request;
	struct error e = { 0 };

	secure_open(SECURE_SERVER, "2", true);
	secure.http->silence.least_ms = SUSPECT_MS;
	request = secure_request("/late");
	request.flags = HTTP_REQUIRE_2;
	request.body = body;
	request.body_len = HTTP_BULK_MIN;
	cr_expect(eq(int, http_perform(secure.http, NULL, &request, &answer, &e), ERR_OK), "%s",
		e.text);
}

/* ---- Needs of gRPC ---- */

/* Reads the answer to its end, or to its error. */
static enum err read_whole(struct http_exchange *x, struct buf *body, struct error *e)
{
	const void *bytes;
	size_t len;
	enum err kind;

	do
		kind = http_read(x, NULL, &bytes, &len, e);
	while (!kind && len && buf_add(body, bytes, len));
	return kind;
}

static void expect_trailers(const char *version)
{
	AUTO_BUF struct buf body = BUF_INIT(100);
	struct http_exchange *x;
	struct error e = { 0 };

	secure_open(SECURE_SERVER, version, true);
	x = secure_begin("/trailers");
	cr_assert(eq(int, read_whole(x, &body, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&body), "body"));
	cr_assert(ne(ptr, (void *)http_header(x, "grpc-status"), NULL));
	cr_expect(eq(str, (char *)http_header(x, "Grpc-Status"), "7"));
	cr_expect(eq(str, (char *)http_header(x, "x-both"), "header"));
	http_end(x);
}

Test(http_secure, trailers_are_there_at_the_end_over_http_2)
{
	expect_trailers("2");
}

Test(http_secure, trailers_are_there_at_the_end_over_http_1_1)
{
	expect_trailers("1");
}

Test(http_secure, what_was_said_before_a_reset_is_known)
{
	AUTO_BUF struct buf body = BUF_INIT(100);
	struct http_exchange *x;
	struct error e = { 0 };

	secure_open(SECURE_SERVER, "2", true);
	x = secure_begin("/reset");
	cr_expect(eq(int, read_whole(x, &body, &e), ERR_UNREACHABLE), "%s", e.text);
	cr_assert(ne(ptr, (void *)http_header(x, "grpc-status"), NULL));
	cr_expect(eq(str, (char *)http_header(x, "grpc-status"), "12"));
	http_end(x);
}

static enum err require_2(const char *url, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	const struct http_request request = {
		.method = HTTP_POST, .flags = HTTP_REQUIRE_2, .url = url
	};

	return http_perform(secure.http, NULL, &request, &answer, e);
}

Test(http_secure, http_2_can_be_required)
{
	struct error e = { 0 };

	secure_open(SECURE_SERVER, "2", true);
	cr_expect(eq(int, require_2(secure_request("/").url, &e), ERR_OK), "%s", e.text);
	secure_close();
	secure_open(SECURE_SERVER, "1", true);
	cr_expect(eq(int, require_2(secure_request("/").url, &e), ERR_PROTOCOL));
	cr_expect(ne(ptr, strstr(e.text, "does not speak HTTP/2"), NULL), "%s", e.text);
}

/*
 * A connection has room for 100 streams, as those of gRPC's servers have. Further streams get
 * another connection, of which there are at most 64.
 */
Test(http_secure, long_streams_starve_no_short_requests)
{
	struct http_exchange *waiting[130];
	int connections = 0;

	secure_open(SECURE_SERVER, "2/100", true);
	secure_expect("/", "2.0 1");
	for (int i = 0; i < 130; i++)
		waiting[i] = secure_begin("/wait");
	for (int i = 0; i < 50; i++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		struct http_request request = secure_request("/");
		struct error e = { 0 };

		cr_assert(eq(int, http_perform(secure.http, NULL, &request, &answer, &e), ERR_OK),
			"%s", e.text);
		connections = atoi(buf_text(&answer.body) + strlen("2.0 "));
	}
	cr_expect(le(int, connections, 64));
	for (int i = 0; i < 130; i++)
		http_end(waiting[i]);
}

#define MANY 12

/*
 * The server refuses streams that were opened before it announced how many a connection may have.
 */
Test(http_secure, what_exceeds_the_streams_of_a_connection_is_answered_on_others)
{
	struct http_exchange *x[MANY];

	secure_open(SECURE_SERVER, "2/1", true);
	for (int i = 0; i < MANY; i++) {
		struct http_request request = secure_request("/");

		request.flags = HTTP_REPEATABLE;
		cr_assert(eq(int, http_begin(secure.http, &request, &x[i], NULL), ERR_OK));
	}
	for (int i = 0; i < MANY; i++) {
		AUTO_BUF struct buf body = BUF_INIT(1000);
		struct error e = { 0 };

		cr_expect(eq(int, read_whole(x[i], &body, &e), ERR_OK), "%d: %s", i, e.text);
		cr_expect(eq(int, strncmp(buf_text(&body), "2.0 ", 4), 0));
		http_end(x[i]);
	}
}

Test(http_secure, a_new_connection_is_made_after_dropping)
{
	secure_open(SECURE_SERVER, "2", true);
	secure_expect("/", "2.0 1");
	http_drop_connections(secure.http);
	secure_expect("/", "2.0 2");
}
