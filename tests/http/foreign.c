/* Answers of other servers, which lack the form of the service's. */
#include "tests/http/room.h"

#include <stdio.h>
#include <string.h>

TestSuite(http_foreign, .timeout = 300);

#define SECRET "s3cret-key"
#define JSON   "Content-Type: application/json\r\n"
#define HTML   "Content-Type: text/html; charset=utf-8\r\n"
#define SAY(status, fields, length, body)                                                          \
	"HTTP/1.1 " status "\r\n" fields "Content-Length: " length "\r\n\r\n" body
#define OWN_OK      SAY("200 OK", JSON, "2", "{}")
#define OWN_REFUSAL SAY("404 X", JSON, "9", "OWN: none")
#define GATEWAY     SAY("404 X", HTML, "19", "<html>no\n" SECRET)

static bool is_own(const struct http_frame *f, const struct http_said *said)
{
	(void)f;
	return said->status == 200 ? !said->is_whole || said->len == 2
				   : said->len > 4 && !memcmp(said->body, "OWN:", 4);
}

static const struct http_frame frame = {
	.types = "text/plain application/json", .is_own = is_own, .hint = "is URL right?"
};

/* `answer` as often as `count` says, then an answer of the service itself. */
struct script {
	const char *answer;
	int count;
};

static void play(struct peer *p)
{
	const struct script *s = p->server->context;

	while (peer_read_request(p))
		if (!peer_say(p, p->server->requests <= s->count ? s->answer : OWN_OK))
			return;
}

/* The outcome of one request to a server that plays `script`. */
struct tried {
	enum err kind;
	int status, requests;
	bool may_have_arrived;
	char text[400];
	struct foreign_report foreign;
};

static struct tried try(struct script script, enum http_method method, unsigned flags)
{
	static const struct http_header secret = { "X-Key", SECRET, true };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct tried out = { 0 };
	struct http_request request;
	struct room r;

	room_open(&r, play, &script);
	request = room_request(&r, method, flags);
	request.frame = &frame;
	request.headers = &secret;
	request.headers_count = 1;
	out.kind = room_perform(&r, &request, &answer);
	out.status = answer.status;
	out.may_have_arrived = answer.may_have_arrived;
	snprintf(out.text, sizeof out.text, "%s", r.e.text);
	foreign_read(http_foreign(r.http), &out.foreign);
	out.requests = r.server.requests;
	room_close(&r);
	return out;
}

Test(http_foreign, the_services_own_refusal_is_an_answer)
{
	struct tried t = try((struct script){ OWN_REFUSAL, 9 }, HTTP_POST, HTTP_REPEATABLE);

	cr_expect(eq(int, t.kind, ERR_OK), "%s", t.text);
	cr_expect(eq(int, t.status, 404));
	cr_expect(eq(int, t.requests, 1));
	cr_expect(eq(u64, t.foreign.count, 0));
}

/* Each answer comes once, and then the service's. */
Test(http_foreign, whatever_comes_in_between_is_asked_past)
{
	static const char *const answers[] = { GATEWAY, SAY("400 X", "", "0", ""),
		SAY("200 OK", HTML, "7", "Sign in"), SAY("200 OK", JSON, "1", "{"),
		SAY("302 X", HTML "Location: /login\r\n", "2", "go"), SAY("407 X", HTML, "2", "no"),
		SAY("502 X", JSON, "2", "no") };

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct tried t = try((struct script){ answers[i], 1 }, HTTP_POST,
			HTTP_REPEATABLE | HTTP_BAD_GATEWAY_IS_FINAL);

		cr_expect(eq(int, t.kind, ERR_OK), "%zu: %s", i, t.text);
		cr_expect(eq(int, t.status, 200), "%zu", i);
		cr_expect(eq(int, t.requests, 2), "%zu", i);
		cr_expect(eq(u64, t.foreign.count, 1), "%zu", i);
	}
}

Test(http_foreign, an_endless_answer_is_reported_without_secrets)
{
	struct tried t = try((struct script){ GATEWAY, 9 }, HTTP_GET, HTTP_REPEATABLE);

	cr_expect(eq(int, t.kind, ERR_UNREACHABLE));
	cr_expect(eq(int, t.status, 0));
	cr_expect(eq(int, t.requests, 4));
	cr_expect(strstr(t.text, "404 text/html; charset=utf-8 '<html>no ****") != NULL, "%s",
		t.text);
	cr_expect(strstr(t.text, "is URL right?") != NULL, "%s", t.text);
	cr_expect(strstr(t.text, SECRET) == NULL, "%s", t.text);
	cr_expect(eq(u64, t.foreign.count, 4));
	cr_expect(eq(str, t.foreign.text, t.text));
}

Test(http_foreign, what_may_not_be_done_twice_is_not_asked_again)
{
	struct tried t = try((struct script){ GATEWAY, 9 }, HTTP_POST, 0);

	cr_expect(eq(int, t.kind, ERR_UNREACHABLE));
	cr_expect(eq(int, t.requests, 1));
	cr_expect(t.may_have_arrived);
}

/* A server that counts requests has not passed this one on, whichever server that is. */
Test(http_foreign, a_rate_limit_is_waited_out_whatever_it_says)
{
	struct tried t =
		try((struct script){ SAY("429 X", HTML "Retry-After: 0\r\n", "2", "no"), 1 },
			HTTP_POST, 0);

	cr_expect(eq(int, t.kind, ERR_OK), "%s", t.text);
	cr_expect(eq(int, t.requests, 2));
}

/*
 * A gateway may have passed the request on to the service before a conflict, or made the conflict
 * itself.
 */
Test(http_foreign, a_conflict_of_somebody_else_is_none_that_passes)
{
	struct tried t = try((struct script){ SAY("409 X", HTML, "2", "no"), 9 }, HTTP_POST,
		HTTP_CONFLICT_PASSES);

	cr_expect(eq(int, t.kind, ERR_UNREACHABLE));
	cr_expect(eq(int, t.requests, 1));
	cr_expect(t.may_have_arrived);
}

static void say_much(struct peer *p)
{
	static char zeros[65536];

	while (peer_read_request(p)) {
		if (!peer_say(p, "HTTP/1.1 404 X\r\nContent-Length: 100000000\r\n\r\n"))
			return;
		for (size_t i = 0; i < 100000000 / sizeof zeros; i++)
			if (!peer_send(p, zeros, sizeof zeros))
				return;
	}
}

Test(http_foreign, an_answer_that_does_not_end_is_nobodys_refusal)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, say_much, NULL);
	request = room_request(&r, HTTP_POST, 0);
	request.frame = &frame;
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_UNREACHABLE), "%s", r.e.text);
	room_close(&r);
}
