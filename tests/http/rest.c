#include "providers/base/wait.h"
#include "providers/rest/rest.h"

#include "tests/http/room.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

TestSuite(rest, .timeout = 300);

static const struct call patient = { .progress_ms = 60000 };

#define SECRET "s3cret-key"

/* The verdict of a vendor whose JSON reports a failure. */
static enum err verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e)
{
	(void)answer;
	if (status < 200 || status >= 300)
		return rest_refuse(r, ask, status, rest_text(json, "message", ""), e);
	if (!rest_flag(json, "success", true))
		return error_set(e, ERR_IO, "%s", rest_text(json, "message", "failed"));
	return ERR_OK;
}

struct fixture {
	struct room room;
	struct rest rest;
};

static void fixture_open(struct fixture *f, void (*handler)(struct peer *p), void *context)
{
	const struct http_header headers[] = {
		{ .name = "Authorization", .value = "Bearer " SECRET, .is_secret = true },
		{ .name = "X-Source", .value = "test" },
	};
	char url[128];

	room_open(&f->room, handler, context);
	server_url(&f->room.server, "/api/", url);
	cr_assert(eq(int,
			  rest_init(&f->rest, f->room.http, "vendor", url, headers, 2, verdict,
				  &f->room.e),
			  ERR_OK),
		"%s", f->room.e.text);
}

static void fixture_close(struct fixture *f)
{
	rest_release(&f->rest);
	room_close(&f->room);
}

static enum err perform(struct fixture *f, const struct rest_ask *ask, struct json_object **json)
{
	return rest_perform(&f->rest, &patient, ask, json, &f->room.e);
}

static const struct rest_ask look = { .path = "/x", .what = "looking", .id = "one" };

/* ---- Requests ---- */

/* Sends the request back as {"request": "..."}, with line ends as spaces. */
static void echo(struct peer *p)
{
	while (peer_read_request(p)) {
		AUTO_BUF struct buf answer = BUF_INIT(100000);
		struct json_object *json = json_object_new_object();
		const char *text;

		json_object_object_add(
			json, "request", json_object_new_string(buf_text(&p->request)));
		text = json_object_to_json_string(json);
		buf_printf(&answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
			strlen(text), text);
		peer_say(p, buf_text(&answer));
		json_object_put(json);
	}
}

static void expect_sent(
	const struct rest_ask *ask, const char *const *wanted, const char *const *unwanted)
{
	AUTO_JSON struct json_object *json = NULL;
	struct fixture f;
	const char *sent;

	fixture_open(&f, echo, NULL);
	cr_assert(eq(int, perform(&f, ask, &json), ERR_OK), "%s", f.room.e.text);
	sent = rest_text(json, "request", "");
	for (; *wanted; wanted++)
		cr_expect(strstr(sent, *wanted) != NULL, "no '%s' in:\n%s", *wanted, sent);
	for (; *unwanted; unwanted++)
		cr_expect(strstr(sent, *unwanted) == NULL, "'%s' in:\n%s", *unwanted, sent);
	fixture_close(&f);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

Test(rest, a_request_has_the_base_and_its_headers)
{
	expect_sent(&look,
		LIST("GET /api/x HTTP/1.1\r\n", "Authorization: Bearer " SECRET "\r\n",
			"X-Source: test\r\n", "Accept: application/json\r\n"),
		LIST("Content-Type"));
}

Test(rest, a_body_is_json_unless_said)
{
	struct rest_ask ask = look;

	ask.method = HTTP_POST;
	ask.body = "{\"a\":1}";
	expect_sent(&ask,
		LIST("POST /api/x", "Content-Type: application/json\r\n", "Content-Length: 7\r\n",
			"\r\n\r\n{\"a\":1}"),
		LIST("octet-stream"));
	ask.content_type = "application/octet-stream";
	ask.body_len = 3;
	expect_sent(&ask, LIST("Content-Type: application/octet-stream\r\n", "\r\n\r\n{\"a"),
		LIST("application/octet-stream, application/json", "\"a\":"));
}

Test(rest, a_header_of_the_request_replaces_a_common_one)
{
	const struct http_header headers[] = { { .name = "accept", .value = "text/plain" },
		{ .name = "x-source", .value = "mine" } };
	struct rest_ask ask = look;

	ask.headers = headers;
	ask.headers_count = 2;
	expect_sent(&ask, LIST("accept: text/plain\r\n", "x-source: mine\r\n"),
		LIST("application/json", "test\r\n"));
}

Test(rest, a_url_that_may_not_be_asked_is_refused_at_once)
{
	struct error e;
	struct rest r;

	cr_expect(eq(int, rest_init(&r, NULL, "vendor", "http://example.org", NULL, 0, verdict, &e),
		ERR_INVALID));
	cr_expect(eq(
		int, rest_init(&r, NULL, "vendor", "nonsense", NULL, 0, verdict, &e), ERR_INVALID));
}

/* ---- Answers ---- */

static void answer_with(struct peer *p)
{
	while (peer_read_request(p) && peer_say(p, p->server->context))
		;
}

/* The header Date of the next answers. */
static void answer_dated(struct peer *p)
{
	while (peer_read_request(p)) {
		AUTO_BUF struct buf answer = BUF_INIT(1000);
		const char *const *date = p->server->context;

		buf_printf(&answer, "HTTP/1.1 200 OK\r\n%sContent-Length: 2\r\n\r\n{}", *date);
		peer_say(p, buf_text(&answer));
	}
}

static int64_t now_after(struct fixture *f)
{
	cr_assert(eq(int, perform(f, &look, NULL), ERR_OK), "%s", f->room.e.text);
	return rest_now_s(&f->rest);
}

static bool is_about(int64_t now_s, int64_t wanted_s)
{
	return now_s >= wanted_s && now_s < wanted_s + 300;
}

Test(rest, the_time_is_that_of_the_service)
{
	const char *date = "Date: Fri, 02 Jan 2026 03:04:05 GMT\r\n";
	int64_t begun_s = time(NULL);
	struct fixture f;

	fixture_open(&f, answer_dated, &date);
	cr_expect(is_about(rest_now_s(&f.rest), begun_s));
	cr_expect(is_about(now_after(&f), 1767323045));
	date = "Date: Sat, 02 Jan 2027 03:04:05 GMT\r\n";
	cr_expect(is_about(now_after(&f), 1767323045 + 365 * 86400));
	/* A date that cannot be parsed leaves the clock as it was. */
	date = "Date: yesterday\r\n";
	cr_expect(is_about(now_after(&f), 1767323045 + 365 * 86400));
	date = "Date: Thu, 01 Jan 1970 00:00:10 GMT\r\n";
	cr_expect(is_about(now_after(&f), 1767323045 + 365 * 86400));
	date = "";
	cr_expect(is_about(now_after(&f), 1767323045 + 365 * 86400));
	fixture_close(&f);
}

static enum err answered(const char *answer, struct json_object **json, struct error *e)
{
	struct fixture f;
	enum err kind;

	fixture_open(&f, answer_with, (void *)answer);
	kind = perform(&f, &look, json);
	*e = f.room.e;
	fixture_close(&f);
	return kind;
}

static void expect_error(const char *answer, enum err want, const char *words)
{
	AUTO_JSON struct json_object *json = NULL;
	struct error e;

	cr_expect(eq(int, answered(answer, &json, &e), want), "%s", answer);
	cr_expect(eq(str, e.text, (char *)words));
	cr_expect(json == NULL);
}

#define ANSWER(status, len, text) "HTTP/1.1 " status " X\r\nContent-Length: " len "\r\n\r\n" text

Test(rest, a_refusal_is_reported_in_the_vendors_words)
{
	expect_error(ANSWER("404", "20", "{\"message\":\"no box\"}"), ERR_NOT_FOUND,
		"vendor:one: looking: 404: no box");
	expect_error(ANSWER("418", "0", ""), ERR_PROTOCOL, "vendor:one: looking: 418");
	expect_error(ANSWER("403", "11", "<html>no<p>"), ERR_AUTH, "vendor:one: looking: 403");
}

Test(rest, a_secret_that_comes_back_is_blotted_out)
{
	expect_error(ANSWER("400", "34", "{\"message\":\"bad key " SECRET " !\"}"), ERR_INVALID,
		"vendor:one: looking: 400: bad key ********** !");
}

Test(rest, a_good_status_may_hold_a_failure)
{
	expect_error(ANSWER("200", "33", "{\"success\":false,\"message\":\"no\"} "), ERR_IO, "no");
}

Test(rest, an_answer_that_is_no_json_is_no_answer)
{
	expect_error(ANSWER("200", "8", "{\"a\": 1 "), ERR_UNREACHABLE,
		"vendor: looking: the answer is not JSON");
}

Test(rest, no_body_is_no_json_and_no_error)
{
	AUTO_JSON struct json_object *json = NULL;
	struct error e;

	cr_expect(eq(int, answered(ANSWER("204", "0", ""), &json, &e), ERR_OK));
	cr_expect(json == NULL);
	cr_expect(eq(int, answered(ANSWER("200", "4", "null"), &json, &e), ERR_OK));
	cr_expect(json == NULL);
}

Test(rest, json_that_nobody_wants_may_be_anything)
{
	struct error e;

	cr_expect(eq(int, answered(ANSWER("200", "4", "fine"), NULL, &e), ERR_OK));
}

Test(rest, fields_of_another_type_are_the_default)
{
	const char *text = "{\"t\":\"text\",\"n\":7,\"b\":true,\"o\":{},\"a\":[1],\"z\":null,"
			   "\"cut\":\"a\\u0000b\"}";
	struct buf body = { .bytes = (unsigned char *)text, .len = strlen(text) };
	AUTO_JSON struct json_object *json = NULL;

	cr_assert(rest_parse(&body, &json));
	cr_expect(eq(str, (char *)rest_text(json, "t", "-"), "text"));
	for (const char *const *name = LIST("n", "o", "z", "cut", "absent"); *name; name++)
		cr_expect(eq(str, (char *)rest_text(json, *name, "-"), "-"));
	cr_expect(eq(i64, rest_integer(json, "n", -1), 7));
	cr_expect(eq(i64, rest_integer(json, "t", -1), -1));
	cr_expect(rest_flag(json, "b", false));
	cr_expect(rest_flag(json, "n", true));
	cr_expect(rest_member(json, "o") != NULL);
	cr_expect(rest_member(json, "a") != NULL);
	cr_expect(rest_member(json, "t") == NULL);
	cr_expect(eq(str, (char *)rest_text(NULL, "t", "-"), "-"));
}

static bool is_json(const char *text)
{
	struct buf body = { .bytes = (unsigned char *)text, .len = strlen(text) };
	AUTO_JSON struct json_object *json = NULL;

	return rest_parse(&body, &json);
}

Test(rest, a_text_outside_ascii_is_read_with_every_release_of_json_c)
{
	struct buf body = { .bytes = (unsigned char *)"{\"who\":\"Andr\u00e9 \u20ac \U0001F600\"}",
		.len = strlen("{\"who\":\"Andr\u00e9 \u20ac \U0001F600\"}") };
	AUTO_JSON struct json_object *json = NULL;

	cr_assert(rest_parse(&body, &json));
	cr_expect(eq(str, (char *)rest_text(json, "who", ""), "Andr\u00e9 \u20ac \U0001F600"));
	cr_expect(not(is_json("\"\xff\"")));
	cr_expect(not(is_json("\"\xe2\x82\"")));
}

Test(rest, a_body_is_one_value_and_nothing_behind_it)
{
	for (const char *const *one = LIST("{}", " {} \r\n", "7", "null"); *one; one++)
		cr_expect(is_json(*one), "%s", *one);
	for (const char *const *none = LIST("", "-", "{} x", "{}{}", "null x", "7 7"); *none;
		none++)
		cr_expect(not(is_json(*none)), "%s", *none);
}

/* ---- Streams ---- */

struct kept {
	struct buf body;
	size_t most;
};

static enum err keep(void *context, const void *bytes, size_t len, struct error *e)
{
	struct kept *k = context;

	buf_add(&k->body, bytes, len);
	return k->body.len < k->most ? ERR_OK : error_set(e, ERR_RANGE, "enough");
}

static enum err streamed(const char *answer, struct kept *kept, struct error *e)
{
	struct fixture f;
	enum err kind;

	fixture_open(&f, answer_with, (void *)answer);
	kind = rest_stream(&f.rest, &patient, &look, keep, kept, &f.room.e);
	*e = f.room.e;
	fixture_close(&f);
	return kind;
}

Test(rest, a_stream_is_handed_on_as_it_comes)
{
	struct kept kept = { .body = BUF_INIT(1000), .most = 1000 };
	struct error e;

	cr_expect(eq(int, streamed(ANSWER("200", "5", "bytes"), &kept, &e), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&kept.body), "bytes"));
	buf_release(&kept.body);
}

Test(rest, a_stream_ends_with_the_sinks_error)
{
	struct kept kept = { .body = BUF_INIT(1000), .most = 3 };
	struct error e;

	cr_expect(eq(int, streamed(ANSWER("200", "5", "bytes"), &kept, &e), ERR_RANGE));
	cr_expect(eq(str, e.text, "enough"));
	buf_release(&kept.body);
}

Test(rest, a_refused_stream_hands_nothing_on)
{
	struct kept kept = { .body = BUF_INIT(1000), .most = 1000 };
	struct error e;

	cr_expect(eq(int,
		streamed(ANSWER("404", "32", "{\"message\":\"no " SECRET " here\"}"), &kept, &e),
		ERR_NOT_FOUND));
	cr_expect(eq(str, e.text, "vendor:one: looking: 404: no ********** here"));
	cr_expect(eq(sz, kept.body.len, (size_t)0));
	buf_release(&kept.body);
}

/* ---- Two at once ---- */

/* A meeting of two requests: the first is answered once the second has come. */
struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t came;
	bool first_came, second_came;
	bool second_fails;
};

static void wait_for(struct meeting *m, const bool *what)
{
	pthread_mutex_lock(&m->lock);
	while (!*what)
		pthread_cond_wait(&m->came, &m->lock);
	pthread_mutex_unlock(&m->lock);
}

static void tell(struct meeting *m, bool *what)
{
	pthread_mutex_lock(&m->lock);
	*what = true;
	pthread_cond_broadcast(&m->came);
	pthread_mutex_unlock(&m->lock);
}

static void meet(struct peer *p)
{
	struct meeting *m = p->server->context;

	while (peer_read_request(p)) {
		if (strstr(buf_text(&p->request), "/first")) {
			tell(m, &m->first_came);
			wait_for(m, &m->second_came);
			if (m->second_fails)
				peer_wait_end(p);
			peer_say(p, ANSWER("200", "8", "{\"n\": 1}"));
		} else {
			wait_for(m, &m->first_came);
			tell(m, &m->second_came);
			peer_say(p,
				m->second_fails ? ANSWER("500", "0", "")
						: ANSWER("200", "2", "ok"));
		}
	}
}

static enum err perform_both(
	bool second_fails, struct json_object **json, bool *arrived, struct error *e)
{
	struct meeting m = { .lock = PTHREAD_MUTEX_INITIALIZER,
		.came = PTHREAD_COND_INITIALIZER,
		.second_fails = second_fails };
	struct rest_ask first = look, second = look;
	struct fixture f;
	enum err kind;

	first.path = "/first";
	second.path = "/second";
	second.method = HTTP_POST;
	second.body = "bytes";
	fixture_open(&f, meet, &m);
	kind = rest_perform_both(&f.rest, &patient, &first, json, arrived, &second, &f.room.e);
	*e = f.room.e;
	fixture_close(&f);
	return kind;
}

Test(rest, two_requests_wait_for_each_other)
{
	AUTO_JSON struct json_object *json = NULL;
	bool arrived = false;
	struct error e;

	cr_assert(eq(int, perform_both(false, &json, &arrived, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(i64, rest_integer(json, "n", -1), 1));
	cr_expect(arrived);
}

Test(rest, the_seconds_failure_ends_the_first)
{
	AUTO_JSON struct json_object *json = NULL;
	bool arrived = false;
	struct error e;

	cr_expect(eq(int, perform_both(true, &json, &arrived, &e), ERR_UNREACHABLE));
	cr_expect(eq(str, e.text, "vendor:one: looking: 500"));
	cr_expect(arrived);
	cr_expect(json == NULL);
}

/* ---- Waiting ---- */

struct countdown {
	int left;
	enum err end;
	struct cancel *cancel; /* thrown at the first look */
};

static enum err count_down(void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct countdown *c = context;

	(void)call;
	if (c->cancel)
		cancel_throw(c->cancel);
	if (--c->left > 0)
		return ERR_OK;
	*is_done = c->end == ERR_OK;
	return c->end ? error_set(e, c->end, "it failed") : ERR_OK;
}

Test(rest, a_state_is_asked_for_until_it_is_there)
{
	struct countdown c = { .left = 3 };
	struct error e;

	cr_expect(eq(int, wait_for_state(&patient, 100000, "waiting", count_down, &c, &e), ERR_OK));
	cr_expect(eq(int, c.left, 0));
}

Test(rest, waiting_ends_with_the_first_failure)
{
	struct countdown c = { .left = 2, .end = ERR_GONE };
	struct error e;

	cr_expect(
		eq(int, wait_for_state(&patient, 100000, "waiting", count_down, &c, &e), ERR_GONE));
	cr_expect(eq(str, e.text, "it failed"));
}

Test(rest, waiting_has_a_limit)
{
	struct countdown c = { .left = 1000000 };
	struct error e;

	cr_expect(eq(int, wait_for_state(&patient, 250, "vendor: waiting", count_down, &c, &e),
		ERR_TIMEOUT));
	cr_expect(eq(str, e.text, "vendor: waiting: not done after 0 s"));
	cr_expect(le(int, 1000000 - c.left, 4));
}

Test(rest, waiting_can_be_cancelled)
{
	struct cancel cancel;
	struct countdown c = { .left = 1000000, .cancel = &cancel };
	const struct call call = { .cancel = &cancel };
	struct error e;

	cr_assert(eq(int, cancel_init(&cancel, &e), ERR_OK));
	cr_expect(eq(int, wait_for_state(&call, 100000000, "waiting", count_down, &c, &e),
		ERR_INTERRUPTED));
	cr_expect(eq(int, c.left, 999999));
	cancel_release(&cancel);
}
