#include "providers/e2b/account.h"

#include "providers/base/cleanup.h"
#include "tests/support/canned.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "e2b_s3cret"
#define SANDBOX                                                                                    \
	"{\"sandboxID\":\"i1\",\"envdVersion\":\"0.6.13\",\"envdAccessToken\":\"t1\",\"domain\":"  \
	"null}"
#define NO_ROUTE "{\"code\":404,\"message\":\"no matching operation was found\"}"
#define NO_SANDBOX                                                                                 \
	"{\"code\":404,\"message\":\"Sandbox \\\"i1\\\" doesn't exist or you don't have access "   \
	"to it\"}"

static struct account account;
static struct canned server;
static struct plane *c;
static struct error e;

static void tear_down(void)
{
	account_close(&account);
	for (size_t i = 0; i < server.got; i++)
		free(server.requests[i]);
}

TestSuite(control_plane, .fini = tear_down, .timeout = 300);

static void start_rows(const struct canned_row *rows, size_t count)
{
	const struct provider_config cfg = { 0 };

	unsetenv("http_proxy");
	canned_start(&server, rows, count);
	setenv("E2B_API_URL", server.url, 1);
	setenv("E2B_API_KEY", KEY, 1);
	cr_assert(eq(int, account_open(&account, &cfg, &e), ERR_OK), "%s", e.text);
	c = account.plane;
}
#define START(rows) start_rows(rows, sizeof(rows) / sizeof *(rows))

/* The body of a request. After canned_stop(). */
static char *body_of(size_t request)
{
	return strstr(server.requests[request], "\r\n\r\n") + 4;
}

static bool has(size_t request, const char *text)
{
	return strcasestr(server.requests[request], text) != NULL;
}

static enum err info(struct plane_sandbox *out)
{
	return plane_info(c, NULL, "i1", out, &e);
}

Test(control_plane, looks_at_a_sandbox_without_waking_it)
{
	static const struct canned_row rows[] = { { "GET /sandboxes/i1 ", 200,
		"{\"sandboxID\":\"i1\",\"state\":\"paused\",\"envdAccessToken\":\"t1\","
		"\"envdVersion\":\"0.6.13\"}",
		NULL } };
	struct plane_sandbox s;

	START(rows);
	cr_assert(eq(int, info(&s), ERR_OK), "%s", e.text);
	canned_stop(&server);
	cr_expect(eq(int, s.state, SANDBOX_PAUSED));
	cr_expect(eq(str, s.token, "t1"));
	cr_expect(has(0, "\r\nX-API-Key: " KEY "\r\n"));
	cr_expect(not(has(0, "content-type")));
}

Test(control_plane, errors_have_their_kinds_and_never_the_key)
{
	static const struct {
		struct canned_row row;
		enum err want;
		const char *words;
	} cases[] = {
		{ { "GET ", 400, "{\"code\":400,\"message\":\"bad id\"}", NULL }, ERR_INVALID,
			"bad id" },
		{ { "GET ", 401, "{\"code\":401,\"message\":\"no key " KEY "\"}", NULL }, ERR_AUTH,
			"no key ***" },
		{ { "GET ", 403, "{\"code\":403,\"message\":\"not enabled\"}", NULL }, ERR_AUTH,
			"not enabled" },
		{ { "GET ", 404, NO_SANDBOX, NULL }, ERR_NOT_FOUND, "e2b:i1: no such sandbox" },
		{ { "GET ", 409, "{\"code\":409,\"message\":\"being killed\"}", NULL }, ERR_BUSY,
			"being killed" },
		{ { "GET ", 200, "{}", NULL }, ERR_PROTOCOL, "sandboxID" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct plane_sandbox s;

		start_rows(&cases[i].row, 1);
		cr_expect(eq(int, info(&s), cases[i].want), "%zu: %s", i, e.text);
		cr_expect(strstr(e.text, cases[i].words) != NULL, "%zu: %s", i, e.text);
		cr_expect(strstr(e.text, KEY) == NULL, "%s", e.text);
		canned_stop(&server);
		tear_down();
		c = NULL, server.got = 0;
	}
}

/* Each of these answers comes four times, then the client reports it. */
Test(control_plane, an_answer_of_somebody_else_ends_nothing)
{
	static const struct canned_row rows[] = {
		{ "GET ", 404, NULL, NULL },
		{ "GET ", 404, "<html>no " KEY "</html>", NULL },
		{ "GET ", 404, "{\"message\":\"Not Found\"}", NULL },
		{ "GET ", 302, NULL, "Location: http://127.0.0.1:1/\r\n" },
		{ "GET ", 200, NULL, NULL },
		{ "GET ", 200, "<html>Sign in</html>", NULL },
		{ "GET ", 200, "{\"sandboxID\":\"i", NULL },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct canned_row same[] = { rows[i], rows[i], rows[i], rows[i] };
		char status[8];
		struct plane_sandbox s;

		START(same);
		snprintf(status, sizeof status, "%d ", rows[i].status);
		cr_expect(eq(int, info(&s), ERR_UNREACHABLE), "%zu: %s", i, e.text);
		cr_expect(strstr(e.text, "E2B_API_URL") && strstr(e.text, status), "%s", e.text);
		cr_expect(strstr(e.text, KEY) == NULL, "%s", e.text);
		canned_stop(&server);
		tear_down();
		c = NULL, server.got = 0;
	}
}

Test(control_plane, waits_as_long_as_a_429_says)
{
	static const struct canned_row rows[] = {
		{ "GET /sandboxes/i1 ", 429, "{\"code\":429,\"message\":\"slow\"}",
			"Retry-After: 1\r\n" },
		{ "GET /sandboxes/i1 ", 200, SANDBOX, NULL },
	};
	struct plane_sandbox s;
	int64_t start_ms = monotonic_ms();

	START(rows);
	cr_assert(eq(int, info(&s), ERR_OK), "%s", e.text);
	cr_expect(ge(long, monotonic_ms() - start_ms, 990));
	canned_stop(&server);
}

Test(control_plane, creates_by_the_newer_route)
{
	static const struct canned_row rows[] = { { "POST /v2/sandboxes ", 201, SANDBOX, NULL } };
	static const struct plane_new_sandbox wanted = { .lifetime_s = 120, .pause_at_end = true };
	struct plane_sandbox s;

	START(rows);
	cr_assert(eq(int, plane_create(c, NULL, &wanted, &s, &e), ERR_OK), "%s", e.text);
	canned_stop(&server);
	cr_expect(eq(str, s.id, "i1"));
	cr_expect(eq(str, body_of(0),
		"{\"templateID\": \"base\", \"timeout\": 120, \"autoPause\": true}"));
	cr_expect(has(0, "\r\nContent-Type: application/json\r\n"));
}

/* Answers of several servers for a route that does not exist. */
static const struct canned_row unknown_routes[] = {
	{ "POST /v2/sandboxes ", 404, NO_ROUTE, NULL },
	{ "POST /v2/sandboxes ", 404, "404 page not found", NULL },
	{ "POST /v2/sandboxes ", 404, NULL, NULL },
	{ "POST /v2/sandboxes ", 404, "{\"message\":\"Route POST:/v2/sandboxes not found\"}",
		NULL },
	{ "POST /v2/sandboxes ", 405, NULL, NULL },
};

Test(control_plane, creates_by_the_older_route_where_the_newer_is_unknown)
{
	static const struct plane_new_sandbox wanted = { .template = "t" };

	for (size_t i = 0; i < sizeof unknown_routes / sizeof *unknown_routes; i++) {
		const struct canned_row rows[] = { unknown_routes[i],
			{ "POST /sandboxes ", 201, SANDBOX, NULL },
			{ "POST /sandboxes ", 201, SANDBOX, NULL } };
		struct plane_sandbox s;

		START(rows);
		cr_assert(eq(int, plane_create(c, NULL, &wanted, &s, &e), ERR_OK), "%s", e.text);
		/* The client remembers by now that the server lacks the route. */
		cr_assert(eq(int, plane_create(c, NULL, &wanted, &s, &e), ERR_OK), "%s", e.text);
		canned_stop(&server);
		cr_expect(eq(str, body_of(1),
			"{\"templateID\": \"t\", \"secure\": true, \"timeout\": 300}"));
		tear_down();
		c = NULL, server.got = 0;
	}
}

Test(control_plane, an_unknown_template_or_sandbox_is_not_an_unknown_route)
{
	static const struct canned_row rows[] = {
		{ "POST /v2/sandboxes ", 404,
			"{\"code\":404,\"message\":\"template 't' not found\"}", NULL },
		{ "POST /v2/sandboxes/i1/connect ", 404, NO_SANDBOX, NULL },
	};
	static const struct plane_new_sandbox wanted = { .template = "t" };
	struct plane_sandbox s;

	START(rows);
	cr_expect(eq(int, plane_create(c, NULL, &wanted, &s, &e), ERR_NOT_FOUND));
	cr_expect(strstr(e.text, "template 't' not found") != NULL, "%s", e.text);
	cr_expect(eq(int, plane_wake(c, NULL, "i1", 0, &s, &e), ERR_NOT_FOUND));
	canned_stop(&server);
}

Test(control_plane, a_create_is_never_repeated_and_says_what_may_be_left)
{
	static const struct canned_row rows[] = {
		{ "POST /v2/sandboxes ", 0, NULL, NULL },
		{ "POST /v2/sandboxes ", 503, "{\"code\":503,\"message\":\"no capacity\"}", NULL },
	};
	static const struct plane_new_sandbox wanted = { 0 };
	struct plane_sandbox s;

	START(rows);
	cr_expect(eq(int, plane_create(c, NULL, &wanted, &s, &e), ERR_UNREACHABLE));
	cr_expect(strstr(e.text, "sandboxctl list e2b:") != NULL, "%s", e.text);
	cr_expect(eq(int, plane_create(c, NULL, &wanted, &s, &e), ERR_UNREACHABLE));
	cr_expect(strstr(e.text, "no capacity") != NULL, "%s", e.text);
	canned_stop(&server);
}

Test(control_plane, wakes_by_the_newer_route_with_the_vendors_lifetime)
{
	static const struct canned_row rows[] = {
		{ "POST /v2/sandboxes/i1/connect ", 201, SANDBOX, NULL },
		{ "POST /v2/sandboxes/i1/connect ", 200, SANDBOX, NULL },
	};
	struct plane_sandbox s;

	START(rows);
	cr_expect(eq(int, plane_wake(c, NULL, "i1", 0, &s, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_wake(c, NULL, "i1", 600, &s, &e), ERR_OK), "%s", e.text);
	canned_stop(&server);
	cr_expect(eq(str, body_of(0), "{}"));
	cr_expect(eq(str, body_of(1), "{\"timeout\": 600}"));
}

Test(control_plane, wakes_by_the_older_route_which_wants_a_lifetime)
{
	static const struct canned_row rows[] = {
		{ "POST /v2/sandboxes/i1/connect ", 404, NO_ROUTE, NULL },
		{ "POST /sandboxes/i1/connect ", 201, SANDBOX, NULL },
	};
	struct plane_sandbox s;

	START(rows);
	cr_expect(eq(int, plane_wake(c, NULL, "i1", 0, &s, &e), ERR_OK), "%s", e.text);
	canned_stop(&server);
	cr_expect(eq(str, body_of(1), "{\"timeout\": 300}"));
}

#define IN_BETWEEN "{\"code\":409,\"message\":\"sandbox is being paused\"}"

Test(control_plane, a_sandbox_in_between_states_is_asked_for_again)
{
	static const struct canned_row rows[] = {
		{ "POST /v2/sandboxes/i1/connect ", 409, IN_BETWEEN, NULL },
		{ "POST /v2/sandboxes/i1/connect ", 201, SANDBOX, NULL },
		{ "DELETE /sandboxes/i1 ", 409, IN_BETWEEN, NULL },
		{ "DELETE /sandboxes/i1 ", 204, NULL, NULL },
	};
	struct plane_sandbox s;

	START(rows);
	cr_expect(eq(int, plane_wake(c, NULL, "i1", 0, &s, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_kill(c, NULL, "i1", &e), ERR_OK), "%s", e.text);
	canned_stop(&server);
}

/* The pause that the server asks for is longer than the deadline. */
Test(control_plane, a_sandbox_that_stays_in_between_is_busy)
{
	static const struct canned_row rows[] = { { "POST /v2/sandboxes/i1/connect ", 409,
		IN_BETWEEN, "Retry-After: 600\r\n" } };
	struct plane_sandbox s;

	START(rows);
	cr_expect(eq(int, plane_wake(c, NULL, "i1", 0, &s, &e), ERR_BUSY));
	canned_stop(&server);
}

Test(control_plane, a_sandbox_that_does_not_exist_is_deleted)
{
	static const struct canned_row rows[] = {
		{ "DELETE /sandboxes/i1 ", 204, NULL, NULL },
		{ "DELETE /sandboxes/i1 ", 404, NO_SANDBOX, NULL },
		{ "DELETE /sandboxes/i1 ", 404, "404 page not found", NULL },
		{ "DELETE /sandboxes/i1 ", 404, NO_SANDBOX, NULL },
	};

	START(rows);
	for (size_t i = 0; i < 3; i++)
		cr_expect(eq(int, plane_kill(c, NULL, "i1", &e), ERR_OK), "%s", e.text);
	canned_stop(&server);
}

Test(control_plane, a_sandbox_that_is_paused_already_is_paused)
{
	static const struct canned_row rows[] = {
		{ "POST /sandboxes/i1/pause ", 204, NULL, NULL },
		{ "POST /sandboxes/i1/pause ", 409, IN_BETWEEN, NULL },
		{ "GET /sandboxes/i1 ", 200, "{\"sandboxID\":\"i1\",\"state\":\"paused\"}", NULL },
		{ "POST /sandboxes/i1/pause ", 409, IN_BETWEEN, NULL },
		{ "GET /sandboxes/i1 ", 200, "{\"sandboxID\":\"i1\",\"state\":\"running\"}", NULL },
	};

	START(rows);
	cr_expect(eq(int, plane_pause(c, NULL, "i1", &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_pause(c, NULL, "i1", &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_pause(c, NULL, "i1", &e), ERR_BUSY));
	canned_stop(&server);
}

Test(control_plane, extends_by_what_never_shortens)
{
	static const struct canned_row rows[] = {
		{ "POST /sandboxes/i1/refreshes ", 204, NULL, NULL },
		/* The end is set only where it is not already later. */
		{ "GET /sandboxes/i1 ", 200,
			"{\"sandboxID\":\"i1\",\"endAt\":\"2999-01-01T00:00:00Z\"}", NULL },
		{ "GET /sandboxes/i1 ", 200,
			"{\"sandboxID\":\"i1\",\"endAt\":\"2020-01-01T00:00:00Z\"}", NULL },
		{ "POST /sandboxes/i1/timeout ", 204, NULL, NULL },
	};

	START(rows);
	cr_expect(eq(int, plane_extend(c, NULL, "i1", 600, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_extend(c, NULL, "i1", 7200, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_extend(c, NULL, "i1", 7200, &e), ERR_OK), "%s", e.text);
	canned_stop(&server);
	cr_expect(eq(str, body_of(0), "{\"duration\": 600}"));
	cr_expect(eq(str, body_of(3), "{\"timeout\": 7200}"));
}

Test(control_plane, gives_what_the_plan_allows)
{
	static const struct canned_row rows[] = {
		{ "GET /sandboxes/i1 ", 200,
			"{\"sandboxID\":\"i1\",\"endAt\":\"2020-01-01T00:00:00Z\"}", NULL },
		{ "POST /sandboxes/i1/timeout ", 400,
			"{\"code\":400,\"message\":\"Timeout cannot be greater than 1 hours\"}",
			NULL },
		{ "POST /sandboxes/i1/refreshes ", 204, NULL, NULL },
		{ "POST /sandboxes/i1/refreshes ", 400, "{\"code\":400,\"message\":\"too long\"}",
			NULL },
		{ "POST /sandboxes/i1/refreshes ", 404, NO_SANDBOX, NULL },
	};

	START(rows);
	cr_expect(eq(int, plane_extend(c, NULL, "i1", 7200, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_extend(c, NULL, "i1", 60, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_extend(c, NULL, "i1", 60, &e), ERR_NOT_FOUND));
	canned_stop(&server);
	cr_expect(eq(str, body_of(2), "{\"duration\": 3600}"));
}

static enum err count_entry(void *context, const struct sandbox_entry *entry, struct error *why)
{
	size_t *count = context;

	(void)why;
	*count = *count * 10 + strlen(entry->id);
	return ERR_OK;
}

Test(control_plane, lists_every_page)
{
	static const struct canned_row rows[] = {
		{ "GET /v2/sandboxes?limit=100&state=running,paused ", 200,
			"[{\"sandboxID\":\"a\"}]", "X-Next-Token: a+b/c=\r\n" },
		{ "GET /v2/sandboxes?limit=100&state=running,paused&nextToken=a%2Bb%2Fc%3D ", 200,
			"[]", "X-Next-Token: d\r\n" },
		{ "GET /v2/sandboxes?limit=100&state=running,paused&nextToken=d ", 200,
			"[{\"sandboxID\":\"bb\"},{\"sandboxID\":\"ccc\"}]", "X-Next-Token:\r\n" },
	};
	size_t lengths = 0;

	START(rows);
	cr_expect(eq(int, plane_list(c, NULL, count_entry, &lengths, &e), ERR_OK), "%s", e.text);
	canned_stop(&server);
	cr_expect(eq(sz, lengths, 123));
}

/* A part of the token would begin another page, or the first one again. */
Test(control_plane, a_page_whose_token_is_too_long_makes_no_sense)
{
	static char header[6000] = "X-Next-Token: ";
	struct canned_row row = { "GET /v2/sandboxes?", 200, "[{\"sandboxID\":\"a\"}]", header };
	size_t lengths = 0;

	memset(header + strlen(header), 't', 5000);
	strcat(header, "\r\n");
	start_rows(&row, 1);
	cr_expect(eq(int, plane_list(c, NULL, count_entry, &lengths, &e), ERR_PROTOCOL));
	canned_stop(&server);
}

Test(control_plane, lists_by_the_older_route_where_the_newer_is_unknown)
{
	static const struct canned_row rows[] = {
		{ "GET /v2/sandboxes?", 404, NO_ROUTE, NULL },
		{ "GET /sandboxes ", 200, "[{\"sandboxID\":\"a\"}]", NULL },
	};
	size_t lengths = 0;

	START(rows);
	cr_expect(eq(int, plane_list(c, NULL, count_entry, &lengths, &e), ERR_OK), "%s", e.text);
	canned_stop(&server);
	cr_expect(eq(sz, lengths, 1));
}

/* ---- Snapshots and forks ---- */

static enum err snapshot(const char *name, char id[SNAPSHOT_ID_SIZE])
{
	return plane_snapshot(c, NULL, "i1", name, id, &e);
}

Test(control_plane, a_snapshot_is_a_template_and_is_never_made_twice)
{
	static const struct canned_row rows[] = {
		{ "POST /sandboxes/i1/snapshots ", 201,
			"{\"snapshotID\":\"t/mine:default\",\"names\":[\"t/mine:default\"]}",
			NULL },
		{ "POST /sandboxes/i1/snapshots ", 201, "{\"names\":[]}", NULL },
		{ "POST /sandboxes/i1/snapshots ", 503, "{\"code\":503,\"message\":\"no\"}", NULL },
		{ "DELETE /templates/t%2Fmine%3Adefault ", 404,
			"{\"code\":404,\"message\":\"template not found\"}", NULL },
	};
	char id[SNAPSHOT_ID_SIZE];

	START(rows);
	cr_assert(eq(int, snapshot("mine", id), ERR_OK), "%s", e.text);
	cr_expect(eq(str, id, "t/mine:default"));
	cr_expect(eq(int, snapshot(NULL, id), ERR_PROTOCOL));
	cr_expect(eq(int, snapshot(NULL, id), ERR_UNREACHABLE));
	cr_expect(eq(int, plane_delete_snapshot(c, NULL, "t/mine:default", &e), ERR_OK));
	canned_stop(&server);
	cr_expect(eq(str, body_of(0), "{\"name\": \"mine\"}"));
	cr_expect(eq(str, body_of(1), "{}"));
}

static enum err add_words(void *context, const char *id, const char *name, struct error *why)
{
	(void)why;
	buf_printf(context, "%s=%s ", id, name);
	return ERR_OK;
}

Test(control_plane, all_pages_of_snapshots_are_listed)
{
	static const struct canned_row rows[] = {
		{ "GET /snapshots?limit=100 ", 200,
			"[{\"snapshotID\":\"a:default\",\"names\":[]},{\"snapshotID\":\"b\","
			"\"names\":[\"t/b:v2\"]}]",
			"X-Next-Token: x y\r\n" },
		{ "GET /snapshots?limit=100&nextToken=x%20y ", 200,
			"[{\"snapshotID\":\"c\",\"names\":[\"c\"]}]", NULL },
		{ "GET /snapshots?limit=100 ", 200, "[{\"names\":[]}]", NULL },
	};
	AUTO_BUF struct buf words = BUF_INIT(1000);

	START(rows);
	cr_assert(eq(int, plane_list_snapshots(c, NULL, add_words, &words, &e), ERR_OK), "%s",
		e.text);
	cr_expect(eq(str, (char *)buf_text(&words), "a:default= b=t/b:v2 c= "));
	cr_expect(eq(int, plane_list_snapshots(c, NULL, add_words, &words, &e), ERR_PROTOCOL));
	canned_stop(&server);
}

Test(control_plane, a_fork_says_why_it_did_not_start)
{
	static const struct canned_row rows[] = {
		{ "POST /sandboxes/i1/fork ", 201, "[{\"sandbox\":" SANDBOX "}]", NULL },
		{ "POST /sandboxes/i1/fork ", 201,
			"[{\"error\":{\"code\":429,\"message\":\"too many\"}}]", NULL },
		{ "POST /sandboxes/i1/fork ", 201, "[]", NULL },
	};
	struct plane_sandbox s;

	START(rows);
	cr_assert(eq(int, plane_fork(c, NULL, "i1", &s, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, s.id, "i1"));
	cr_expect(eq(int, plane_fork(c, NULL, "i1", &s, &e), ERR_IO));
	cr_expect(strstr(e.text, "too many") != NULL, "%s", e.text);
	cr_expect(eq(int, plane_fork(c, NULL, "i1", &s, &e), ERR_IO));
	canned_stop(&server);
	cr_expect(eq(str, body_of(0), "{\"timeout\": 300, \"count\": 1}"));
}
