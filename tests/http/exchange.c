#include "providers/base/cleanup.h"
#include "providers/http/client.h"
#include "tests/http/room.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(http_exchange, .timeout = 300);

#define MIB ((size_t)1024 * 1024)

static void perform_ok(struct room *r)
{
	struct http_request request = room_request(r, HTTP_GET, HTTP_REPEATABLE);
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;

	cr_assert(eq(int, room_perform(r, &request, &answer), ERR_OK), "%s", r->e.text);
	cr_expect(eq(int, answer.status, 200));
	cr_expect(eq(str, (char *)buf_text(&answer.body), "ok"));
	cr_expect(answer.may_have_arrived);
}

Test(http_exchange, a_connection_is_kept_and_used_again)
{
	struct room r;

	room_open(&r, answer_ok, NULL);
	for (int i = 0; i < 20; i++)
		perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 1));
	room_close(&r);
}

Test(http_exchange, dropped_connections_are_closed_and_not_used_again)
{
	struct room r;

	room_open(&r, answer_ok, NULL);
	perform_ok(&r);
	http_drop_connections(r.http);
	/* The server's thread ends only when the client has closed the connection. */
	server_join_peer(&r.server, 0);
	perform_ok(&r);
	perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 2));
	room_close(&r);
}

Test(http_exchange, connections_from_before_a_sleep_are_not_used_again)
{
	struct room r;

	room_open(&r, answer_ok, NULL);
	perform_ok(&r);
	r.http->slept_ms -= 60000;
	perform_ok(&r);
	perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 2));
	room_close(&r);
}

/* Sends all but HTTP's end. The end follows when the eventfd of the context is written to. */
static void say_without_end(struct peer *p)
{
	eventfd_t ignored;

	while (peer_read_request(p)) {
		peer_say(p, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
		eventfd_read(*(const int *)p->server->context, &ignored);
		peer_say(p, "0\r\n\r\n");
	}
}

Test(http_exchange, an_end_of_http_that_comes_late_is_not_waited_for_and_keeps_its_connection)
{
	int gate = eventfd(0, EFD_CLOEXEC);
	struct http_exchange *x = NULL;
	struct room r;
	const void *bytes;
	size_t len;

	room_open(&r, say_without_end, &gate);
	struct http_request request = room_request(&r, HTTP_GET, 0);

	cr_assert(eq(int, http_begin(r.http, &request, &x, &r.e), ERR_OK), "%s", r.e.text);
	cr_assert(eq(int, http_read(x, NULL, &bytes, &len, &r.e), ERR_OK), "%s", r.e.text);
	cr_expect(not(http_is_ending(x, NULL)));
	eventfd_write(gate, 1);
	for (int tries = 0; tries < 60 && !http_is_ending(x, NULL); tries++)
		continue;
	cr_assert(eq(int, http_read(x, NULL, &bytes, &len, &r.e), ERR_OK), "%s", r.e.text);
	cr_expect(eq(sz, len, 0));
	http_end(x);
	eventfd_write(gate, 1);
	perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 1));
	room_close(&r);
	close(gate);
}

/* ---- Requests ---- */

static void tell_first_read(struct peer *p)
{
	char answer[200];

	while (peer_read_request(p)) {
		snprintf(answer, sizeof answer,
			"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n%10zu,%10zu", p->first_read,
			p->request.len);
		peer_say(p, answer);
	}
}

Test(http_exchange, a_small_request_leaves_in_one_write)
{
	static const enum http_method methods[] = { HTTP_POST, HTTP_PATCH, HTTP_PUT, HTTP_DELETE };
	char body[1000];
	struct room r;

	memset(body, 'b', sizeof body);
	room_open(&r, tell_first_read, NULL);
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		struct http_request request = room_request(&r, methods[i], 0);
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		size_t first, all;

		request.body = body;
		request.body_len = sizeof body;
		cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
		cr_assert(eq(int, sscanf(buf_text(&answer.body), "%zu,%zu", &first, &all), 2));
		cr_expect(all > sizeof body);
		cr_expect(eq(sz, first, all));
	}
	room_close(&r);
}

static void echo(struct peer *p)
{
	char head[100];

	while (peer_read_request(p)) {
		snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
			p->request.len);
		peer_say(p, head);
		peer_send(p, p->request.bytes, p->request.len);
	}
}

Test(http_exchange, headers_are_the_callers_and_no_others)
{
	struct http_header headers[] = { { .name = "X-Key", .value = "k", .is_secret = true },
		{ .name = "X-Empty", .value = "" } };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	const char *text;
	struct room r;

	room_open(&r, echo, NULL);
	request = room_request(&r, HTTP_POST, 0);
	request.headers = headers;
	request.headers_count = 2;
	request.body = "{}";
	request.body_len = 2;
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	text = buf_text(&answer.body);
	cr_expect(ne(ptr, strstr(text, "POST /x HTTP/1.1\r\n"), NULL));
	cr_expect(ne(ptr, strstr(text, "\r\nX-Key: k\r\n"), NULL));
	cr_expect(ne(ptr, strstr(text, "\r\nX-Empty:"), NULL));
	cr_expect(ne(ptr, strstr(text, "\r\nUser-Agent: test/1\r\n"), NULL));
	cr_expect(ne(ptr, strstr(text, "\r\nContent-Length: 2\r\n"), NULL));
	cr_expect(eq(ptr, strcasestr(text, "Expect"), NULL));
	cr_expect(eq(ptr, strcasestr(text, "Content-Type"), NULL));
	room_close(&r);
}

static void say_back(struct peer *p)
{
	const char *status = p->server->context;
	char head[100];

	while (peer_read_request(p)) {
		snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", status,
			p->request.len);
		peer_say(p, head);
		peer_send(p, p->request.bytes, p->request.len);
	}
}

Test(http_exchange, a_refusal_does_not_say_a_secret_back)
{
	static const struct {
		char *status;
		bool is_shown;
	} rows[] = { { "200 OK", true }, { "400 Bad", false }, { "404 None", false } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct http_header headers[] = {
			{ .name = "X-Key", .value = "k123", .is_secret = true },
			{ .name = "X-Open", .value = "o456 k123 k123" }
		};
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		struct http_request request;
		struct room r;

		room_open(&r, say_back, rows[i].status);
		request = room_request(&r, HTTP_GET, 0);
		request.headers = headers;
		request.headers_count = 2;
		cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
		cr_expect(eq(int, strstr(buf_text(&answer.body), "k123") != NULL, rows[i].is_shown),
			"row %zu", i);
		cr_expect(ne(ptr, strstr(buf_text(&answer.body), "o456"), NULL), "row %zu", i);
		room_close(&r);
	}
}

Test(http_exchange, a_header_that_would_break_the_line_is_refused)
{
	struct http_header header = { .name = "X", .value = "1\r\nY: 2" };
	struct http_exchange *x = NULL;
	struct http_request request;
	struct room r;

	room_open(&r, answer_ok, NULL);
	request = room_request(&r, HTTP_GET, 0);
	request.headers = &header;
	request.headers_count = 1;
	cr_expect(eq(int, http_begin(r.http, &request, &x, &r.e), ERR_INVALID));
	cr_expect(eq(int, r.server.connections, 0));
	room_close(&r);
}

static void answer_with_headers(struct peer *p)
{
	peer_read_request(p);
	peer_say(p,
		"HTTP/1.1 103 Early Hints\r\nX-Next-Token: early\r\n\r\n"
		"HTTP/1.1 404 Not Found\r\nX-Next-Token:  t1 \r\nContent-Type: text/plain\r\n"
		"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n");
	peer_wait_end(p);
}

Test(http_exchange, headers_of_the_answer_are_found_in_any_case)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, answer_with_headers, NULL);
	request = room_request(&r, HTTP_GET, 0);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, answer.status, 404));
	cr_expect(eq(str, answer.next_token, "t1"));
	cr_expect(eq(str, answer.content_type, "text/plain"));
	cr_expect(eq(str, (char *)buf_text(&answer.body), "abc"));
	room_close(&r);
}

/* ---- Long answers ---- */

#define LONG (50 * MIB)

/* Bytes that depend on their offset, so that one that is lost, doubled or moved is found. */
static unsigned char byte_at(uint64_t offset)
{
	return (unsigned char)(offset ^ offset >> 8 ^ offset >> 16);
}

/*
 * Does not block while the client takes nothing. Writes to the pipe, once, when half a second
 * brought no room.
 */
static void answer_long(struct peer *p)
{
	char head[100];
	unsigned char *piece = malloc(MIB);
	int *stuck = p->server->context;
	bool signalled = false;

	peer_read_request(p);
	snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", LONG);
	peer_say(p, head);
	for (uint64_t at = 0; at < LONG;) {
		struct pollfd room = { .fd = p->fd, .events = POLLOUT };
		ssize_t sent;

		if (poll(&room, 1, signalled ? 20000 : 500) == 0 && !signalled) {
			signalled = true;
			cr_assert(eq(sz, (size_t)write(stuck[1], "", 1), 1));
			continue;
		}
		for (size_t i = 0; i < MIB; i++)
			piece[i] = byte_at(at + i);
		sent = send(p->fd, piece, at + MIB < LONG ? MIB : LONG - at,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0) {
			at += (uint64_t)sent;
			p->server->sent += sent;
		}
	}
	free(piece);
	peer_wait_end(p);
}

static bool check_piece(const unsigned char *bytes, size_t len, uint64_t from)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != byte_at(from + i))
			return false;
	return true;
}

Test(http_exchange, an_answer_nobody_reads_waits_at_the_server)
{
	struct http_exchange *x;
	struct http_request request;
	uint64_t got = 0;
	const void *bytes;
	struct room r;
	size_t len;
	int stuck[2];
	char signalled;

	cr_assert(eq(int, pipe(stuck), 0));
	room_open(&r, answer_long, stuck);
	request = room_request(&r, HTTP_GET, HTTP_REPEATABLE);
	x = room_begin(&r, &request);
	cr_assert(eq(sz, (size_t)read(stuck[0], &signalled, 1), 1));
	/* The rest of the bytes sent is in the kernel's buffers for sockets. */
	cr_expect(lt(long, r.server.sent, (long)LONG / 2));
	do {
		cr_assert(eq(int, http_read(x, NULL, &bytes, &len, &r.e), ERR_OK), "%s", r.e.text);
		cr_assert(le(sz, len, HTTP_WINDOW));
		cr_assert(check_piece(bytes, len, got));
		got += len;
	} while (len);
	cr_expect(eq(u64, got, LONG));
	cr_expect(eq(int, http_status(x), 200));
	http_end(x);
	room_close(&r);
}

static void answer_as_asked(struct peer *p)
{
	if (p->number == 0) {
		peer_read_request(p);
		peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
		/*
		 * Waits until the other connection has had a request: its body proves that it came
		 * without a reader.
		 */
		while (p->server->requests < 2)
			poll(NULL, 0, 1);
		peer_say(p, "both");
		peer_wait_end(p);
	} else {
		answer_ok(p);
	}
}

static void read_by_poll(struct room *r, struct http_exchange *x[2], struct buf out[2])
{
	bool done[2] = { false, false };

	while (!done[0] || !done[1]) {
		struct pollfd p[2];

		for (int i = 0; i < 2; i++)
			p[i] = (struct pollfd){ .fd = done[i] ? -1 : http_fd(x[i]),
				.events = POLLIN };
		cr_assert(poll(p, 2, 60000) > 0);
		for (int i = 0; i < 2; i++) {
			const void *bytes;
			size_t len;

			if (!p[i].revents)
				continue;
			cr_assert(eq(int, http_read(x[i], NULL, &bytes, &len, &r->e), ERR_OK), "%s",
				r->e.text);
			buf_add(&out[i], bytes, len);
			done[i] = !len;
		}
	}
}

Test(http_exchange, one_thread_runs_two_at_once)
{
	struct buf out[2] = { BUF_INIT(100), BUF_INIT(100) };
	struct http_request request;
	struct http_exchange *x[2];
	struct room r;

	room_open(&r, answer_as_asked, NULL);
	request = room_request(&r, HTTP_POST, 0);
	x[0] = room_begin(&r, &request);
	request.body = "upload";
	request.body_len = 6;
	x[1] = room_begin(&r, &request);
	read_by_poll(&r, x, out);
	cr_expect(eq(str, (char *)buf_text(&out[0]), "both"));
	cr_expect(eq(str, (char *)buf_text(&out[1]), "ok"));
	for (int i = 0; i < 2; i++) {
		http_end(x[i]);
		buf_release(&out[i]);
	}
	room_close(&r);
}

Test(http_exchange, a_connection_of_its_own_is_shared_with_nobody)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, answer_ok, NULL);
	request = room_request(&r, HTTP_GET, HTTP_OWN_CONNECTION);
	perform_ok(&r);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK));
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK));
	perform_ok(&r);
	cr_expect(eq(int, r.server.connections, 3));
	room_close(&r);
}

/* ---- Giving up ---- */

static void answer_nothing(struct peer *p)
{
	peer_read_request(p);
	peer_wait_end(p);
}

Test(http_exchange, a_server_that_says_nothing_is_given_up_at_the_deadline)
{
	struct call call = { .progress_ms = 300 };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	int64_t began_ms, took_ms;
	uint64_t drops;
	struct room r;

	room_open(&r, answer_nothing, NULL);
	drops = r.http->drops;
	request = room_request(&r, HTTP_GET, HTTP_REPEATABLE);
	began_ms = monotonic_ms();
	cr_expect(eq(int, http_perform(r.http, &call, &request, &answer, &r.e), ERR_TIMEOUT));
	took_ms = monotonic_ms() - began_ms;
	cr_expect(ge(i64, took_ms, 300));
	cr_expect(lt(i64, took_ms, CALL_PROGRESS_MS * 9 / 10), "not at that of others");
	cr_expect(ne(ptr, strstr(r.e.text, r.url), NULL), "%s", r.e.text);
	/* No other request waits for this dead connection. */
	cr_expect(eq(u64, r.http->drops, drops + 1));
	room_close(&r);
	/* A client that stood still for so long has not sent the request. */
	cr_expect(answer.may_have_arrived || !r.server.requests);
}

/*
 * The number of pauses of a slow peer. The deadline is less than all pauses, and far more than
 * each.
 */
#define PAUSES          32
#define DEADLINE_PAUSES 30
#define PAUSE_MAX_MS    1600

/*
 * A machine that stands still for a whole deadline proves nothing: the test runs again with a
 * longer one.
 */
static void expect_lasting(void (*handler)(struct peer *p), size_t body_len, size_t answer_len)
{
	AUTO_FREE char *body = calloc(1, body_len + 1);
	enum err kind;

	for (int pause_ms = 100; pause_ms <= PAUSE_MAX_MS; pause_ms *= 2) {
		const struct call call = { .progress_ms = (int64_t)DEADLINE_PAUSES * pause_ms };
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		struct http_request request;
		struct room r;

		room_open(&r, handler, &pause_ms);
		request = room_request(&r, HTTP_POST, 0);
		request.body = body;
		request.body_len = body_len;
		kind = http_perform(r.http, &call, &request, &answer, &r.e);
		room_close(&r);
		if (kind == ERR_TIMEOUT && pause_ms < PAUSE_MAX_MS)
			continue;
		cr_expect(eq(int, kind, ERR_OK), "%s", r.e.text);
		cr_expect(eq(sz, answer.body.len, answer_len));
		return;
	}
}

static void pause_as_scripted(const struct peer *p, int times)
{
	poll(NULL, 0, times * *(const int *)p->server->context);
}

static void answer_slowly(struct peer *p)
{
	peer_read_request(p);
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 32\r\n\r\n");
	for (int i = 0; i < PAUSES; i++) {
		pause_as_scripted(p, 1);
		if (!peer_say(p, "x"))
			return;
	}
	peer_wait_end(p);
}

Test(http_exchange, an_answer_that_moves_may_last)
{
	expect_lasting(answer_slowly, 0, PAUSES);
}

/* Takes the request's body slowly. */
static void take_slowly(struct peer *p)
{
	char scrap[64 * 1024];
	size_t left = PAUSES / 2 * MIB;
	ssize_t got;

	setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &(int){ 65536 }, sizeof(int));
	while (left > 1000 && (got = peer_receive(p, scrap, sizeof scrap)) > 0) {
		left -= (size_t)got < left ? (size_t)got : left;
		if (left / MIB != (left + (size_t)got) / MIB)
			pause_as_scripted(p, 2);
	}
	peer_say(p, OK_ANSWER);
	peer_wait_end(p);
}

Test(http_exchange, a_request_that_moves_may_last)
{
	expect_lasting(take_slowly, PAUSES / 2 * MIB, strlen("ok"));
}

static void *throw_it(void *context)
{
	struct room *r = context;

	while (!r->server.requests)
		poll(NULL, 0, 1);
	cancel_throw(r->server.context);
	return NULL;
}

Test(http_exchange, a_cancelled_one_returns_at_once)
{
	struct cancel cancel;
	struct call call = { .progress_ms = 60000, .cancel = &cancel };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	pthread_t thread;
	struct room r;

	cr_assert(eq(int, cancel_init(&cancel, NULL), ERR_OK));
	room_open(&r, answer_nothing, &cancel);
	pthread_create(&thread, NULL, throw_it, &r);
	request = room_request(&r, HTTP_GET, HTTP_REPEATABLE);
	cr_expect(eq(int, http_perform(r.http, &call, &request, &answer, &r.e), ERR_INTERRUPTED));
	cr_expect(answer.may_have_arrived);
	pthread_join(thread, NULL);
	room_close(&r);
	cancel_release(&cancel);
}

#define GIVEN_UP 100

Test(http_exchange, a_request_reported_as_not_arrived_does_not_arrive_afterwards)
{
	int may_have_arrived = 0;
	struct room r;

	room_open(&r, answer_ok, NULL);
	for (int i = 0; i < GIVEN_UP; i++) {
		struct http_request request = room_request(&r, HTTP_POST, 0);
		struct http_exchange *x;

		/* Where a connection stands, the request is sent at once. */
		perform_ok(&r);
		x = room_begin(&r, &request);
		may_have_arrived += http_may_have_arrived(x);
		poll(NULL, 0, 1);
		http_end(x);
	}
	room_close(&r);
	cr_expect(le(int, r.server.requests, GIVEN_UP + may_have_arrived));
}

Test(http_exchange, an_exchange_that_ends_early_closes_its_connection)
{
	struct http_request request;
	struct http_exchange *x;
	struct room r;

	room_open(&r, answer_nothing, NULL);
	request = room_request(&r, HTTP_GET, 0);
	x = room_begin(&r, &request);
	while (!r.server.requests)
		poll(NULL, 0, 1);
	http_end(x);
	/* The server's thread ends when the client has closed it. */
	server_join_peer(&r.server, 0);
	room_close(&r);
}

/* How many entries a directory has: /proc/self/fd, /proc/self/task. */
static size_t entries_in(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	cr_assert(ne(ptr, dir, NULL));
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Without those of the server's connections, which it keeps to its end. */
static size_t descriptors_of_client(const struct room *r)
{
	return entries_in("/proc/self/fd") - (size_t)r->server.connections;
}

static size_t threads_now(const struct room *r)
{
	(void)r;
	return entries_in("/proc/self/task");
}

/* The server's threads end a little after the client closed their connections. */
static void await_count(size_t (*count)(const struct room *r), const struct room *r, size_t wanted)
{
	int64_t end_ms = monotonic_ms() + 60000;
	size_t found;

	while ((found = count(r)) != wanted && monotonic_ms() < end_ms)
		poll(NULL, 0, 1);
	cr_expect(eq(sz, found, wanted));
}

Test(http_exchange, many_that_begin_and_end_at_once_leave_nothing)
{
	struct http_request request;
	size_t descriptors, threads;
	struct room r;

	room_open(&r, answer_ok, NULL);
	/* A thread that was joined may be listed for a moment. */
	threads = threads_now(&r);
	/* Descriptors and threads that the first exchange opens and the client keeps. */
	perform_ok(&r);
	http_drop_connections(r.http);
	server_join_peer(&r.server, 0);
	descriptors = descriptors_of_client(&r);
	request = room_request(&r, HTTP_GET, 0);
	for (int i = 0; i < 200; i++)
		http_end(room_begin(&r, &request));
	cr_expect(zero(sz, r.http->exchanges));
	perform_ok(&r);
	http_drop_connections(r.http);
	await_count(descriptors_of_client, &r, descriptors);
	await_count(threads_now, &r, threads);
	cr_expect(eq(ptr, r.http->first, NULL));
	room_close(&r);
}

/* ---- Many threads ---- */

static void *hammer(void *context)
{
	struct room *r = context;

	for (int i = 0; i < 60; i++) {
		struct http_request request = room_request(r, i % 2 ? HTTP_POST : HTTP_GET, 0);
		struct http_answer answer = HTTP_ANSWER_NONE;
		struct error e = { 0 };

		request.body = i % 2 ? "body" : NULL;
		request.body_len = i % 2 ? 4 : 0;
		cr_expect(eq(int, http_perform(r->http, NULL, &request, &answer, &e), ERR_OK), "%s",
			e.text);
		cr_expect(eq(str, (char *)buf_text(&answer.body), "ok"));
		http_answer_release(&answer);
		if (i % 20 == 0)
			http_drop_connections(r->http);
	}
	return NULL;
}

Test(http_exchange, many_threads_share_one_client)
{
	pthread_t threads[16];
	struct room r;

	room_open(&r, answer_ok, NULL);
	for (int i = 0; i < 16; i++)
		cr_assert(eq(int, pthread_create(&threads[i], NULL, hammer, &r), 0));
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	cr_expect(eq(int, r.server.requests, 16 * 60));
	room_close(&r);
}

/* gzip of "compressed", as an edge answers any client that it takes for able to unpack it. */
static void answer_compressed(struct peer *p)
{
	static const unsigned char bytes[] =
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xce\xcf\x2d\x28\x4a\x2d\x2e"
		"\x4e\x4d\x01\x00\x1e\x4b\x56\x97\x0a\x00\x00\x00";
	char head[100];

	snprintf(head, sizeof head,
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
		sizeof bytes - 1);
	while (peer_read_request(p)) {
		if (strcasestr(buf_text(&p->request), "Accept-Encoding"))
			break;
		peer_say(p, head);
		peer_send(p, bytes, sizeof bytes - 1);
	}
}

Test(http_exchange, an_answer_that_is_compressed_though_nobody_asked_is_decoded)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, answer_compressed, NULL);
	request = room_request(&r, HTTP_GET, 0);
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(str, (char *)buf_text(&answer.body), "compressed"));
	room_close(&r);
}
