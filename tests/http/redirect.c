#include "tests/http/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(http_redirect, .timeout = 300);

/* The redirect's target and status, from the test; "/end" answers with the request itself. */
struct target {
	const char *url, *status;
};

static void redirect(struct peer *p)
{
	const struct target *to = p->server->context;
	char answer[4096];

	while (peer_read_request(p)) {
		const char *text = buf_text(&p->request);

		if (strstr(text, " /end "))
			snprintf(answer, sizeof answer,
				"HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(text),
				text);
		else
			snprintf(answer, sizeof answer,
				"HTTP/1.1 %s\r\nLocation: %s\r\nContent-Length: "
				"5\r\n\r\nmoved",
				to->status, to->url);
		peer_say(p, answer);
	}
}

static const struct http_header secret[] = {
	{ .name = "X-Key", .value = "geheim", .is_secret = true },
	{ .name = "X-Open", .value = "offen" },
};

static struct http_request secret_request(
	const struct room *r, enum http_method method, unsigned flags)
{
	struct http_request request = room_request(r, method, flags);

	request.headers = secret;
	request.headers_count = 2;
	return request;
}

static enum err perform_by(const char *status, const char *where, enum http_method method,
	unsigned flags, struct http_answer *answer, struct error *e)
{
	struct target to = { where, status };
	struct http_request request;
	struct room r;
	enum err kind;

	room_open(&r, redirect, &to);
	request = secret_request(&r, method, flags);
	request.body = method == HTTP_POST ? "body" : NULL;
	request.body_len = strlen("body");
	kind = room_perform(&r, &request, answer);
	*e = r.e;
	room_close(&r);
	return kind;
}

static enum err perform_to(const char *where, enum http_method method, unsigned flags,
	struct http_answer *answer, struct error *e)
{
	return perform_by("302 Found", where, method, flags, answer, e);
}

Test(http_redirect, a_redirect_to_the_same_origin_keeps_the_secret)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error e;

	cr_assert(eq(int, perform_to("/end", HTTP_GET, HTTP_FOLLOW, &answer, &e), ERR_OK), "%s",
		e.text);
	cr_expect(eq(int, answer.status, 200));
	cr_expect(ne(ptr, strstr(buf_text(&answer.body), "X-Key: geheim"), NULL));
}

Test(http_redirect, a_redirect_to_another_origin_gets_no_secret)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct server other;
	struct error e;
	char url[128];

	server_start(&other, redirect, NULL);
	server_url(&other, "/end", url);
	cr_assert(
		eq(int, perform_to(url, HTTP_GET, HTTP_FOLLOW, &answer, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, other.requests, 1));
	cr_expect(eq(ptr, strstr(buf_text(&answer.body), "geheim"), NULL));
	cr_expect(ne(ptr, strstr(buf_text(&answer.body), "X-Open: offen"), NULL));
	server_stop(&other);
}

Test(http_redirect, without_the_flag_and_for_a_post_it_is_an_answer)
{
	static const struct {
		enum http_method method;
		unsigned flags;
	} rows[] = { { HTTP_GET, 0 }, { HTTP_POST, HTTP_FOLLOW } };

	for (int i = 0; i < 2; i++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		struct error e;

		cr_assert(eq(int, perform_to("/end", rows[i].method, rows[i].flags, &answer, &e),
			ERR_OK));
		cr_expect(eq(int, answer.status, 302));
		cr_expect(eq(str, (char *)buf_text(&answer.body), "moved"));
	}
}

Test(http_redirect, a_repeatable_post_is_sent_where_307_and_308_of_the_same_origin_say)
{
	static const struct {
		const char *status, *where;
		unsigned flags;
		int want;
	} rows[] = {
		{ "307 X", "/end", HTTP_REPEATABLE, 200 },
		{ "308 X", "/end", HTTP_REPEATABLE, 200 },
		{ "307 X", "/end", 0, 307 },
		{ "302 X", "/end", HTTP_REPEATABLE, 302 },
		{ "307 X", "http://127.0.0.2/end", HTTP_REPEATABLE, 307 },
		{ "308 X", "https://127.0.0.1/end", HTTP_REPEATABLE, 308 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		struct error e;

		cr_assert(eq(int,
				  perform_by(rows[i].status, rows[i].where, HTTP_POST,
					  rows[i].flags, &answer, &e),
				  ERR_OK),
			"row %zu: %s", i, e.text);
		cr_expect(eq(int, answer.status, rows[i].want), "row %zu", i);
		if (rows[i].want != 200)
			continue;
		cr_expect(ne(ptr, strstr(buf_text(&answer.body), "POST /end"), NULL), "row %zu", i);
		cr_expect(ne(ptr, strstr(buf_text(&answer.body), "X-Key: geheim"), NULL));
		cr_expect(ne(ptr, strstr(buf_text(&answer.body), "\r\n\r\nbody"), NULL));
	}
}

static bool is_good_alone(const struct http_frame *f, const struct http_said *said)
{
	(void)f;
	return said->status == 200;
}

Test(http_redirect, a_redirect_is_followed_before_an_answer_counts_as_foreign)
{
	static const struct http_frame frame = { .is_own = is_good_alone };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct target to = { "/end", "307 X" };
	struct http_request request;
	struct room r;

	room_open(&r, redirect, &to);
	request = secret_request(&r, HTTP_POST, HTTP_REPEATABLE);
	request.frame = &frame;
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, answer.status, 200));
	room_close(&r);
}

Test(http_redirect, a_redirect_that_never_ends_is_given_up)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error e;

	cr_expect(eq(int, perform_to("/again", HTTP_GET, HTTP_FOLLOW, &answer, &e), ERR_PROTOCOL));
}

Test(http_redirect, a_redirect_to_elsewhere_without_tls_is_refused)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error e;

	cr_expect(eq(int, perform_to("http://192.0.2.1/", HTTP_GET, HTTP_FOLLOW, &answer, &e),
		ERR_INVALID));
	cr_expect(eq(int, perform_to("file:///etc/passwd", HTTP_GET, HTTP_FOLLOW, &answer, &e),
		ERR_INVALID));
}

Test(http_redirect, a_proxy_gets_no_request_to_this_machine)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct server proxy;
	struct error e;
	char url[128];

	server_start(&proxy, answer_ok, NULL);
	setenv("http_proxy", server_url(&proxy, "", url), 1);
	setenv("all_proxy", url, 1);
	cr_assert(eq(int, perform_to("/end", HTTP_GET, HTTP_FOLLOW, &answer, &e), ERR_OK));
	cr_expect(eq(int, proxy.connections, 0));
	server_stop(&proxy);
}
