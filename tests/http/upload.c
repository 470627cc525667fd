/* Bodies of requests. */
#include "tests/http/room.h"

#include <stdatomic.h>
#include <stdio.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

TestSuite(http_upload, .timeout = 300);

#define MIB  ((size_t)1024 * 1024)
#define LONG (20 * MIB)

static unsigned char byte_at(uint64_t offset)
{
	return (unsigned char)(offset ^ offset >> 8 ^ offset >> 16);
}

struct made {
	uint64_t next; /* the offset at which the next piece must begin */
	uint64_t fails_at;
	int times; /* how often the body was begun */
};

static enum err make(void *context, uint64_t offset, void *dst, size_t len, struct error *e)
{
	struct made *m = context;
	unsigned char *out = dst;

	m->times += offset == 0;
	cr_assert(offset == 0 || offset == m->next);
	if (m->fails_at && offset + len > m->fails_at)
		return error_set(e, ERR_STALE, "the file changed");
	for (size_t i = 0; i < len; i++)
		out[i] = byte_at(offset + i);
	m->next = offset + len;
	return ERR_OK;
}

/* "ok" where the whole body is right. The first requests, as many as `context` says, get 503. */
static void check_body(struct peer *p)
{
	int faults = p->server->context ? *(int *)p->server->context : 0;

	while (peer_read_request(p)) {
		const char *body = peer_body(p);
		size_t len = p->request.len - (size_t)(body - buf_text(&p->request));
		bool is_right = len == LONG;

		for (size_t i = 0; is_right && i < len; i++)
			is_right = (unsigned char)body[i] == byte_at(i);
		if (p->server->requests <= faults)
			peer_say(p, "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n");
		else
			peer_say(p,
				is_right ? OK_ANSWER
					 : "HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n");
	}
}

static struct http_request long_request(const struct room *r, struct made *m, unsigned flags)
{
	struct http_request request = room_request(r, HTTP_POST, flags);

	request.source = make;
	request.source_context = m;
	request.body_len = LONG;
	return request;
}

Test(http_upload, a_body_from_a_source_arrives_whole)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct made made = { 0 };
	struct room r;

	room_open(&r, check_body, NULL);
	request = long_request(&r, &made, 0);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, answer.status, 200));
	cr_expect(eq(int, made.times, 1));
	room_close(&r);
}

Test(http_upload, a_body_in_memory_arrives_whole)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	unsigned char *body = malloc(LONG);
	struct http_request request;
	struct room r;

	for (size_t i = 0; i < LONG; i++)
		body[i] = byte_at(i);
	room_open(&r, check_body, NULL);
	request = room_request(&r, HTTP_POST, 0);
	request.body = body;
	request.body_len = LONG;
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, answer.status, 200));
	room_close(&r);
	free(body);
}

static void count_sent(struct progress *p)
{
	cr_expect(le(u64, p->sent, LONG));
	atomic_fetch_add((atomic_uint *)(p + 1), 1);
}

Test(http_upload, who_waits_hears_how_much_has_left)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct {
		struct progress progress;
		atomic_uint sent_reports;
	} caller = { .progress = progress_now() };
	const struct call call = { .progress_ms = 60000, .progress = &caller.progress };
	struct made made = { 0 };
	struct room r;

	caller.progress.on_sent = count_sent;
	room_open(&r, check_body, NULL);
	struct http_request request = long_request(&r, &made, 0);

	cr_assert(eq(int, http_perform(r.http, &call, &request, &answer, &r.e), ERR_OK), "%s",
		r.e.text);
	cr_expect(eq(u64, caller.progress.sent, LONG));
	cr_expect(lt(uint, 0, caller.sent_reports));
	room_close(&r);
}

Test(http_upload, a_source_begins_anew_for_a_repetition)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct made made = { 0 };
	struct room r;
	int faults = 1;

	room_open(&r, check_body, &faults);
	request = long_request(&r, &made, HTTP_REPEATABLE);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, answer.status, 200));
	cr_expect(eq(int, made.times, 2));
	room_close(&r);
}

Test(http_upload, a_source_that_fails_is_the_error)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct made made = { .fails_at = 5 * MIB };
	struct room r;

	room_open(&r, check_body, NULL);
	request = long_request(&r, &made, HTTP_REPEATABLE);
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_STALE));
	cr_expect(eq(str, r.e.text, "the file changed"));
	cr_expect(eq(int, r.server.requests, 0));
	room_close(&r);
}

/* Answers before the body arrives, and never reads it. */
static void refuse_early(struct peer *p)
{
	char scrap[1000];

	cr_assert(peer_receive(p, scrap, sizeof scrap) > 0);
	peer_say(p, "HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 4\r\n\r\nmuch");
	peer_wait_end(p);
}

Test(http_upload, an_answer_may_come_before_the_body_has_left)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct made made = { 0 };
	struct room r;

	room_open(&r, refuse_early, NULL);
	request = long_request(&r, &made, 0);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, answer.status, 413));
	cr_expect(eq(str, (char *)buf_text(&answer.body), "much"));
	room_close(&r);
}

/* ---- Bytes in a socket ---- */

#define DESCRIPTORS 1024

/* This process's socket to the server; -1: none. */
static int socket_to(const struct server *s)
{
	for (int fd = 3; fd < DESCRIPTORS; fd++) {
		struct sockaddr_in peer = { 0 };
		socklen_t len = sizeof peer;

		if (!getpeername(fd, (struct sockaddr *)&peer, &len) &&
			peer.sin_port == htons((uint16_t)s->port))
			return fd;
	}
	return -1;
}

/* Without the limit a socket takes megabytes, and later data waits behind them. */
Test(http_upload, a_socket_takes_little_beyond_what_is_under_way)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	socklen_t len = sizeof(int);
	int unsent = 0;
	struct room r;

	room_open(&r, answer_ok, NULL);
	request = room_request(&r, HTTP_GET, 0);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_assert(zero(int,
		getsockopt(socket_to(&r.server), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, &len)));
	cr_expect(eq(int, unsent, 128 * 1024));
	room_close(&r);
}

/* A stream of events has nothing to send, so no failed write would show that the peer is gone. */
Test(http_upload, a_socket_asks_for_its_peer_and_is_broken_when_that_is_gone_for_30_s)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	socklen_t len = sizeof(int);
	int asks = 0, idle_s = 0, lost_ms = 0, fd;
	struct room r;

	room_open(&r, answer_ok, NULL);
	request = room_request(&r, HTTP_GET, 0);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	fd = socket_to(&r.server);
	getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &asks, &len);
	getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, &len);
	getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, &len);
	cr_expect(eq(int, asks, 1));
	cr_expect(eq(int, idle_s, 15));
	cr_expect(eq(int, lost_ms, 30000));
	room_close(&r);
}
