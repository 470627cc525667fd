#include "tests/http/room.h"

#include <stdio.h>
#include <unistd.h>

TestSuite(http_preconnect, .timeout = 300);

static void perform_ok(struct room *r)
{
	struct http_request request = room_request(r, HTTP_GET, 0);
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;

	cr_assert(eq(int, room_perform(r, &request, &answer), ERR_OK), "%s", r->e.text);
	cr_expect(eq(int, answer.status, 200));
}

static void await_connections(const struct room *r, int count)
{
	while (r->server.connections < count)
		usleep(1000);
}

static void preconnect(struct room *r, int count)
{
	http_preconnect(r->http, r->url);
	await_connections(r, count);
	room_await_preconnected(r->http, count);
}

Test(http_preconnect, a_request_takes_the_connection_that_is_there)
{
	struct room r;

	room_open(&r, answer_ok, NULL);
	preconnect(&r, 1);
	cr_expect(eq(int, r.server.requests, 0));
	for (int n = 0; n < 3; n++)
		perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 1));
	cr_expect(eq(int, r.server.requests, 3));
	room_close(&r);
}

Test(http_preconnect, each_is_for_one)
{
	struct room r;

	room_open(&r, answer_ok, NULL);
	preconnect(&r, 1);
	preconnect(&r, 2);
	struct http_request request = room_request(&r, HTTP_GET, HTTP_OWN_CONNECTION);

	for (int n = 0; n < 3; n++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;

		cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	}
	cr_expect(eq(int, r.server.connections, 3));
	room_close(&r);
}

/* The server closes the first connection at once. */
static void close_the_first(struct peer *p)
{
	if (p->number)
		answer_ok(p);
}

Test(http_preconnect, a_connection_that_the_server_has_closed_is_not_used)
{
	struct room r;

	room_open(&r, close_the_first, NULL);
	preconnect(&r, 1);
	server_join_peer(&r.server, 0);
	perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 2));
	room_close(&r);
}

Test(http_preconnect, dropped_ones_are_closed_and_not_used)
{
	struct room r;

	room_open(&r, answer_ok, NULL);
	preconnect(&r, 1);
	http_drop_connections(r.http);
	/* The server's thread ends only when the client has closed the connection. */
	server_join_peer(&r.server, 0);
	perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 2));
	room_close(&r);
}

Test(http_preconnect, where_nobody_listens_nothing_happens)
{
	struct room r;
	char url[64];

	room_open(&r, answer_ok, NULL);
	snprintf(url, sizeof url, "http://127.0.0.1:%d", unused_port());
	http_preconnect(r.http, url);
	http_preconnect(r.http, "http://example.com");
	http_preconnect(r.http, "nonsense");
	perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 1));
	room_close(&r);
}
