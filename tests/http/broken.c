/* Servers that break off, lie or talk nonsense. */
#include "tests/http/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(http_broken, .timeout = 300);

/* Sends the test's answer and closes the connection. */
static void say_and_close(struct peer *p)
{
	if (peer_read_request(p))
		peer_say(p, p->server->context);
}

static void expect_failure(const char *answer, enum err want)
{
	AUTO_HTTP_ANSWER struct http_answer got = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, say_and_close, (void *)answer);
	request = room_request(&r, HTTP_POST, 0);
	cr_expect(eq(int, room_perform(&r, &request, &got), want), "'%.60s': %s", answer, r.e.text);
	cr_expect(got.may_have_arrived, "'%.60s'", answer);
	cr_expect(eq(int, r.server.requests, 1), "'%.60s'", answer);
	cr_expect(ne(ptr, strstr(r.e.text, r.url), NULL), "%s", r.e.text);
	room_close(&r);
}

Test(http_broken, an_answer_cut_anywhere_is_unreachable)
{
	static const char *const answers[] = {
		"",
		"HTTP/1.1 200 OK\r\nContent-Le",
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n",
	};

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
		expect_failure(answers[i], ERR_UNREACHABLE);
}

Test(http_broken, what_is_not_http_is_said_to_be)
{
	expect_failure("SSH-2.0-OpenSSH_9.2p1 Debian\r\n", ERR_PROTOCOL);
	expect_failure("\x15\x03\x01\x02\x02\x50nonsense and nonsense\n", ERR_PROTOCOL);
}

Test(http_broken, headers_without_end_are_refused)
{
	size_t line = 60000, len = 8 * line;
	char *answer = malloc(len + 100), *long_line = malloc(200 * 1024);
	int at = sprintf(answer, "HTTP/1.1 200 OK\r\n");

	memset(answer + at, 'x', len);
	for (size_t i = 0; i < 8; i++) {
		memcpy(answer + at + i * line, "X: ", 3);
		memcpy(answer + at + (i + 1) * line - 2, "\r\n", 2);
	}
	strcpy(answer + (size_t)at + len, "\r\n");
	expect_failure(answer, ERR_PROTOCOL);
	free(answer);

	at = sprintf(long_line, "HTTP/1.1 200 OK\r\nX: ");
	memset(long_line + at, 'x', 150 * 1024);
	strcpy(long_line + at + 150 * 1024, "\r\n\r\n");
	expect_failure(long_line, ERR_PROTOCOL);
	free(long_line);
}

Test(http_broken, bytes_that_came_before_the_break_are_read_first)
{
	struct http_request request;
	struct http_exchange *x;
	const void *bytes;
	struct room r;
	size_t len, got = 0;
	enum err kind;

	room_open(&r, say_and_close, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
	request = room_request(&r, HTTP_GET, 0);
	x = room_begin(&r, &request);
	while ((kind = http_read(x, NULL, &bytes, &len, &r.e)) == ERR_OK)
		got += len;
	cr_expect(eq(int, kind, ERR_UNREACHABLE));
	cr_expect(eq(sz, got, 5));
	http_end(x);
	room_close(&r);
}

/* The part is more than a window holds, and less than was announced. */
static void answer_half(struct peer *p)
{
	static char piece[64 * 1024];

	peer_read_request(p);
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n");
	for (int i = 0; i < 64; i++)
		peer_send(p, piece, sizeof piece);
}

Test(http_broken, what_was_read_in_part_is_not_begun_again)
{
	struct http_request request;
	struct http_exchange *x;
	const void *bytes;
	struct room r;
	size_t len, got = 0;
	enum err kind;

	room_open(&r, answer_half, NULL);
	request = room_request(&r, HTTP_GET, HTTP_REPEATABLE);
	x = room_begin(&r, &request);
	while ((kind = http_read(x, NULL, &bytes, &len, &r.e)) == ERR_OK)
		got += len;
	cr_expect(eq(int, kind, ERR_UNREACHABLE));
	cr_expect(eq(sz, got, (size_t)64 * 64 * 1024));
	cr_expect(eq(int, r.server.requests, 1));
	http_end(x);
	room_close(&r);
}

static void answer_endlessly(struct peer *p)
{
	static char piece[64 * 1024];

	peer_read_request(p);
	peer_say(p, "HTTP/1.1 200 OK\r\n\r\n");
	while (peer_send(p, piece, sizeof piece))
		;
}

Test(http_broken, an_answer_without_end_is_cut_at_the_limit)
{
	AUTO_HTTP_ANSWER struct http_answer got = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, answer_endlessly, NULL);
	request = room_request(&r, HTTP_GET, 0);
	cr_expect(eq(int, room_perform(&r, &request, &got), ERR_TOO_LARGE));
	room_close(&r);
}

/* ---- Connections that die between requests ---- */

/* On a kept connection the second request is read and not answered. */
static void die_at_the_second(struct peer *p)
{
	if (peer_read_request(p) && peer_say(p, OK_ANSWER) && p->number == 0)
		peer_read_request(p);
	else
		answer_ok(p);
}

static void die_hard_at_the_second(struct peer *p)
{
	if (p->number == 0)
		peer_reset(p);
	die_at_the_second(p);
}

static void expect_exactly_once(void (*handler)(struct peer *p))
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, handler, NULL);
	request = room_request(&r, HTTP_POST, 0);
	request.body = "spend";
	request.body_len = 5;
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_UNREACHABLE));
	cr_expect(answer.may_have_arrived);
	cr_expect(eq(int, r.server.requests, 2));
	/* A second sending of the request before would make this one the fourth. */
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, r.server.requests, 3));
	room_close(&r);
}

Test(http_broken, a_post_is_sent_once_when_its_kept_connection_dies)
{
	expect_exactly_once(die_at_the_second);
	expect_exactly_once(die_hard_at_the_second);
}

Test(http_broken, a_repeatable_request_is_sent_again_at_once_when_its_kept_connection_dies)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, die_at_the_second, NULL);
	request = room_request(&r, HTTP_GET, HTTP_REPEATABLE);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, r.server.requests, 3));
	room_close(&r);
}
