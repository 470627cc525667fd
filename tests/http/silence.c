/* Connections that die without a word, and servers that are only slow. */
#include "tests/http/room.h"

#include "providers/base/cleanup.h"
#include "providers/http/client.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

TestSuite(http_silence, .timeout = 300);

/*
 * The deadline of each request here: without the detection under test, requests would last so long.
 */
static const struct call very_patient = { .progress_ms = 60000 };

/* How soon silence is suspicious; set before any request. */
#define SUSPECT_MS 50

static void suspect_soon(struct room *r)
{
	r->http->silence.least_ms = SUSPECT_MS;
}

static enum err perform(struct room *r, unsigned flags, bool *may_have_arrived)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	const struct http_request request =
		room_request(r, HTTP_POST, flags | HTTP_ANSWERS_AT_ONCE);
	enum err kind = http_perform(r->http, &very_patient, &request, &answer, &r->e);

	*may_have_arrived = answer.may_have_arrived;
	return kind;
}

static bool asks_for(const struct peer *p, const char *path)
{
	return strstr(buf_text((struct buf *)&p->request), path) != NULL;
}

/* The counts that a test looks at: requests for the wanted path, and for the root. */
struct asked {
	_Atomic int wanted, probes;
};

/* A peer that never answers may be late in reading. */
static void expect_wanted(struct asked *a, int count)
{
	while (a->wanted < count)
		usleep(1000);
	cr_expect(eq(int, a->wanted, count));
}

static bool read_and_count(struct peer *p)
{
	struct asked *a = p->server->context;

	if (!peer_read_request(p))
		return false;
	if (asks_for(p, " / HTTP"))
		a->probes++;
	else
		a->wanted++;
	return true;
}

/* The first connection answers once and is dead then; others live. */
static void die_after_first(struct peer *p)
{
	bool is_dead = false;

	while (read_and_count(p)) {
		if (p->number == 0 && is_dead)
			continue;
		if (!peer_say(p, OK_ANSWER))
			return;
		is_dead = true;
	}
}

static void open_and_warm(struct room *r, void (*handler)(struct peer *p), struct asked *a)
{
	bool ignored;

	*a = (struct asked){ 0 };
	room_open(r, handler, a);
	suspect_soon(r);
	cr_assert(eq(int, perform(r, HTTP_REPEATABLE, &ignored), ERR_OK), "%s", r->e.text);
}

Test(http_silence, what_is_repeatable_is_sent_on_a_new_connection_when_its_own_is_dead)
{
	struct asked asked;
	struct room r;
	bool ignored;

	open_and_warm(&r, die_after_first, &asked);
	cr_expect(eq(int, perform(&r, HTTP_REPEATABLE, &ignored), ERR_OK), "%s", r.e.text);
	expect_wanted(&asked, 3);
	cr_expect(ge(int, asked.probes, 1));
	room_close(&r);
}

Test(http_silence, what_is_not_repeatable_fails_when_a_new_connection_is_answered)
{
	struct asked asked;
	struct room r;
	bool may_have_arrived;

	open_and_warm(&r, die_after_first, &asked);
	cr_expect(eq(int, perform(&r, 0, &may_have_arrived), ERR_UNREACHABLE), "%s", r.e.text);
	cr_expect(ne(ptr, strstr(r.e.text, "is dead"), NULL), "%s", r.e.text);
	cr_expect(may_have_arrived);
	expect_wanted(&asked, 2);
	cr_expect(ge(int, asked.probes, 1));
	cr_expect(eq(int, perform(&r, 0, &may_have_arrived), ERR_OK), "%s", r.e.text);
	room_close(&r);
}

/*
 * All requests but the first wait until a probe has come, and a while more. The probe has no
 * answer.
 */
static void be_slow_as_a_whole(struct peer *p)
{
	struct asked *a = p->server->context;

	while (read_and_count(p)) {
		if (p->number > 0) {
			peer_wait_end(p);
			return;
		}
		while (a->wanted > 1 && !a->probes)
			usleep(1000);
		if (a->wanted > 1)
			usleep(10 * SUSPECT_MS * 1000);
		if (!peer_say(p, OK_ANSWER))
			return;
	}
}

Test(http_silence, what_is_not_repeatable_waits_while_no_connection_is_answered)
{
	struct asked asked;
	struct room r;
	bool ignored;

	open_and_warm(&r, be_slow_as_a_whole, &asked);
	cr_expect(eq(int, perform(&r, 0, &ignored), ERR_OK), "%s", r.e.text);
	expect_wanted(&asked, 2);
	room_close(&r);
}

/* After the first request nothing is answered until the second has come twice. */
static void answer_the_third(struct peer *p)
{
	struct asked *a = p->server->context;

	while (read_and_count(p)) {
		while (a->wanted == 2 && !asks_for(p, " / HTTP"))
			usleep(1000);
		if (a->wanted == 3)
			usleep(4 * SUSPECT_MS * 1000);
		if (!peer_say(p, OK_ANSWER))
			return;
	}
}

Test(http_silence, a_slow_server_is_asked_twice_and_gets_more_time_then)
{
	struct asked asked;
	struct room r;
	bool ignored;

	open_and_warm(&r, answer_the_third, &asked);
	cr_expect(eq(int, perform(&r, HTTP_REPEATABLE, &ignored), ERR_OK), "%s", r.e.text);
	expect_wanted(&asked, 3);
	cr_expect(eq(uint, r.http->silence.mistakes, 1));
	room_close(&r);
}

/* A running command is silent for an unknown time. */
static void be_slow_once(struct peer *p)
{
	while (read_and_count(p)) {
		if (p->server->requests > 1)
			usleep(6 * SUSPECT_MS * 1000);
		if (!peer_say(p, OK_ANSWER))
			return;
	}
}

Test(http_silence, an_answer_that_may_take_long_is_not_suspected)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct asked asked;
	struct room r;

	open_and_warm(&r, be_slow_once, &asked);
	request = room_request(&r, HTTP_POST, HTTP_REPEATABLE);
	cr_expect(eq(int, http_perform(r.http, &very_patient, &request, &answer, &r.e), ERR_OK));
	expect_wanted(&asked, 2);
	cr_expect(eq(int, asked.probes, 0));
	cr_expect(eq(int, r.server.connections, 1));
	room_close(&r);
}

/* ---- A kernel that acknowledges nothing ---- */

static enum err perform_slow(struct room *r, unsigned flags, bool *may_have_arrived)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	const struct http_request request = room_request(r, HTTP_POST, flags);
	enum err kind = http_perform(r->http, &very_patient, &request, &answer, &r->e);

	*may_have_arrived = answer.may_have_arrived;
	return kind;
}

/* Loses the peer once all earlier bytes have arrived: TCP would send them again. */
static void lose_peer(const struct peer *p)
{
	int left = 1;

	while (left) {
		usleep(1000);
		cr_assert(zero(int, ioctl(p->fd, SIOCOUTQ, &left)));
	}
	socket_lose(p->fd);
}

static void answer_and_count(struct peer *p)
{
	while (read_and_count(p) && peer_say(p, OK_ANSWER))
		;
}

/* Answers nothing before there are two connections. */
static void answer_together(struct peer *p)
{
	while (read_and_count(p)) {
		while (p->server->connections < 2)
			usleep(1000);
		if (!peer_say(p, OK_ANSWER))
			return;
	}
}

static void end_both(struct http_exchange *x[2])
{
	for (int n = 0; n < 2; n++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;

		cr_expect(eq(int, http_read_answer(x[n], &very_patient, &answer, NULL), ERR_OK));
		http_end(x[n]);
	}
}

static void open_and_lose(struct room *r, struct asked *a)
{
	open_and_warm(r, answer_and_count, a);
	lose_peer(&r->server.peers[0]);
}

Test(http_silence, what_is_repeatable_is_sent_again_when_nothing_is_acknowledged)
{
	struct asked asked;
	struct room r;
	bool ignored;

	open_and_lose(&r, &asked);
	cr_expect(eq(int, perform_slow(&r, HTTP_REPEATABLE, &ignored), ERR_OK), "%s", r.e.text);
	expect_wanted(&asked, 2);
	cr_expect(eq(int, asked.probes, 0));
	room_close(&r);
}

Test(http_silence, what_is_not_repeatable_fails_when_nothing_is_acknowledged)
{
	struct asked asked;
	struct room r;
	bool may_have_arrived;

	open_and_lose(&r, &asked);
	cr_expect(eq(int, perform_slow(&r, 0, &may_have_arrived), ERR_UNREACHABLE), "%s", r.e.text);
	cr_expect(ne(ptr, strstr(r.e.text, "is dead"), NULL), "%s", r.e.text);
	cr_expect(may_have_arrived);
	expect_wanted(&asked, 1);
	room_close(&r);
}

Test(http_silence, connections_that_died_together_are_dropped_once)
{
	struct http_exchange *x[2];
	struct http_request request;
	struct asked asked = { 0 };
	struct room r;

	room_open(&r, answer_together, &asked);
	suspect_soon(&r);
	request = room_request(&r, HTTP_POST, HTTP_REPEATABLE);
	for (int n = 0; n < 2; n++)
		x[n] = room_begin(&r, &request);
	end_both(x);
	for (int n = 0; n < 2; n++)
		lose_peer(&r.server.peers[n]);
	for (int n = 0; n < 2; n++)
		x[n] = room_begin(&r, &request);
	end_both(x);
	cr_expect(eq(u64, r.http->drops, 1));
	room_close(&r);
}

#define HALF_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"

static void die_inside_the_answer(struct peer *p)
{
	if (!read_and_count(p) || !peer_say(p, HALF_ANSWER))
		return;
	lose_peer(p);
	peer_wait_end(p);
}

Test(http_silence, an_answer_whose_connection_dies_ends)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct asked asked = { 0 };
	struct http_request request;
	struct room r;

	room_open(&r, die_inside_the_answer, &asked);
	suspect_soon(&r);
	request = room_request(&r, HTTP_GET, HTTP_REPEATABLE);
	cr_expect(eq(int, http_perform(r.http, &very_patient, &request, &answer, &r.e),
		ERR_UNREACHABLE));
	cr_expect(ne(ptr, strstr(r.e.text, "is dead"), NULL), "%s", r.e.text);
	cr_expect(eq(sz, answer.body.len, 4));
	room_close(&r);
}

/* Longer than the second that keepalive lets pass, and another one. */
#define SLOW_US 2500000

static void answer_late(struct peer *p)
{
	while (read_and_count(p)) {
		usleep(SLOW_US);
		if (!peer_say(p, OK_ANSWER))
			return;
	}
}

Test(http_silence, a_command_that_lasts_is_waited_for_while_its_connection_lives)
{
	struct asked asked = { 0 };
	struct room r;
	bool ignored;

	room_open(&r, answer_late, &asked);
	suspect_soon(&r);
	cr_expect(eq(int, perform_slow(&r, 0, &ignored), ERR_OK), "%s", r.e.text);
	expect_wanted(&asked, 1);
	cr_expect(eq(int, r.server.connections, 1));
	room_close(&r);
}

Test(http_silence, an_outage_is_waited_for)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct http_exchange *x;
	struct asked asked;
	struct room r;

	open_and_lose(&r, &asked);
	socket_lose(r.server.fd);
	request = room_request(&r, HTTP_POST, 0);
	x = room_begin(&r, &request);
	usleep(SLOW_US);
	socket_find_again(r.server.peers[0].fd);
	socket_find_again(r.server.fd);
	cr_expect(
		eq(int, http_read_answer(x, &very_patient, &answer, &r.e), ERR_OK), "%s", r.e.text);
	http_end(x);
	expect_wanted(&asked, 2);
	room_close(&r);
}

/* ---- An address that goes ---- */

/* Enters a network of the test's own, which has this machine alone. False: there can be none. */
static bool enter_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
}

/* Removes the address that all connections there come from; the rest of 127.0.0.0/8 stays. */
static void lose_address(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000009) };
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&lo.ifr_addr, &to, sizeof to);
	cr_assert(zero(int, ioctl(fd, SIOCSIFADDR, &lo)));
}

/* Answers nothing on the first connection. */
static void answer_on_second(struct peer *p)
{
	while (read_and_count(p))
		if (p->number > 0 && !peer_say(p, OK_ANSWER))
			return;
}

Test(http_silence, what_came_from_an_address_that_is_gone_is_sent_again_at_once)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct http_exchange *x;
	struct asked asked = { 0 };
	struct room r;

	if (!enter_network())
		cr_skip("no network of one's own here");
	room_open(&r, answer_on_second, &asked);
	request = room_request(&r, HTTP_POST, HTTP_REPEATABLE);
	x = room_begin(&r, &request);
	expect_wanted(&asked, 1);
	lose_address();
	cr_expect(
		eq(int, http_read_answer(x, &very_patient, &answer, &r.e), ERR_OK), "%s", r.e.text);
	http_end(x);
	expect_wanted(&asked, 2);
	cr_expect(eq(int, r.server.connections, 2));
	room_close(&r);
}
