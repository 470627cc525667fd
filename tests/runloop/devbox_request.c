#include "tests/runloop/devbox_fixture.h"

#include <stdio.h>
#include <stdlib.h>

TestSuite(devbox_request, .fini = fixture_end, .timeout = 300);

#define LOOK                                                                                       \
	{                                                                                          \
		"GET " PATHS "/dbx_1 ", 200, DEVBOX("running"), NULL                               \
	}

static enum err look(void)
{
	struct devbox d;

	return devbox_look(&f.api.rest, NULL, "dbx_1", &d, &f.e);
}

Test(devbox_request, carries_the_key_and_the_headers_of_the_environment)
{
	static const struct canned_row rows[] = { LOOK };

	setenv("RUNLOOP_CUSTOM_HEADERS", "X-One: 1\nX-Two:  two words", 1);
	FIXTURE_START(rows);
	cr_assert(eq(int, look(), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(fixture_has(0, "\r\nAuthorization: Bearer " KEY "\r\n"));
	cr_expect(fixture_has(0, "\r\nX-One: 1\r\n"));
	cr_expect(fixture_has(0, "\r\nX-Two: two words\r\n"));
}

Test(devbox_request, headers_that_are_none_are_refused)
{
	const struct provider_config cfg = { 0 };
	struct rest_account api;

	setenv("RUNLOOP_API_KEY", KEY, 1);
	setenv("RUNLOOP_CUSTOM_HEADERS", "no colon", 1);
	cr_expect(eq(int, devbox_api_open(&api, &cfg, &f.e), ERR_INVALID));
	cr_expect(strstr(f.e.text, "RUNLOOP_CUSTOM_HEADERS") != NULL, "%s", f.e.text);
}

Test(devbox_request, more_headers_than_there_is_room_for_are_refused)
{
	const struct provider_config cfg = { 0 };
	AUTO_BUF struct buf text = BUF_INIT(1000);
	struct rest_account api;

	for (int i = 0; i < 32; i++)
		buf_printf(&text, "X-%d: v\n", i);
	setenv("RUNLOOP_API_KEY", KEY, 1);
	setenv("RUNLOOP_CUSTOM_HEADERS", buf_text(&text), 1);
	cr_expect(eq(int, devbox_api_open(&api, &cfg, &f.e), ERR_INVALID));
	cr_expect(strstr(f.e.text, "at most 31 lines") != NULL, "%s", f.e.text);
}

Test(devbox_request, a_header_of_the_environment_is_a_secret_too)
{
	static const struct canned_row rows[] = { { "GET ", 403,
		"{\"message\":\"no pass-word for you\"}", NULL } };

	setenv("RUNLOOP_CUSTOM_HEADERS", "X-Gate: pass-word", 1);
	FIXTURE_START(rows);
	cr_expect(eq(int, look(), ERR_AUTH));
	fixture_stop();
	cr_expect(strstr(f.e.text, "no ********* for you") != NULL, "%s", f.e.text);
}

Test(devbox_request, plain_http_goes_to_this_machine_only)
{
	const struct provider_config cfg = { 0 };
	struct rest_account api;

	setenv("RUNLOOP_API_KEY", KEY, 1);
	setenv("RUNLOOP_BASE_URL", "http://example.com", 1);
	cr_expect(eq(int, devbox_api_open(&api, &cfg, &f.e), ERR_INVALID), "%s", f.e.text);
}

Test(devbox_request, without_a_key_the_error_names_the_way_to_one)
{
	const struct provider_config cfg = { 0 };
	struct rest_account api;

	unsetenv("RUNLOOP_API_KEY");
	cr_expect(eq(int, devbox_api_open(&api, &cfg, &f.e), ERR_AUTH));
	cr_expect(strstr(f.e.text, "RUNLOOP_API_KEY") != NULL, "%s", f.e.text);
}

Test(devbox_request, refusals_have_their_kinds_and_never_the_key)
{
	static const struct {
		int status;
		const char *body;
		enum err want;
		const char *says;
	} rows[] = {
		{ 400, "{\"message\":\"not running\"}", ERR_INVALID, "not running" },
		{ 401, "{\"message\":\"bad " KEY "\"}", ERR_AUTH, "RUNLOOP_API_KEY" },
		{ 403, "{\"message\":\"m\"}", ERR_AUTH, "key_file=" },
		{ 404, "{\"message\":\"no such devbox\"}", ERR_NOT_FOUND, "dbx_1" },
		{ 408, "{\"message\":\"m\"}", ERR_TIMEOUT, "dbx_1" },
		{ 409, "{\"message\":\"m\"}", ERR_BUSY, "dbx_1" },
		{ 422, "{\"message\":\"field\"}", ERR_INVALID, "field" },
		{ 501, "{\"message\":\"m\"}", ERR_UNREACHABLE, "501" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct canned_row row = { "GET ", rows[i].status, rows[i].body,
			"x-should-retry: false\r\n" };

		fixture_start(&row, 1);
		cr_expect(eq(int, look(), rows[i].want), "%d: %s", rows[i].status, f.e.text);
		cr_expect(strstr(f.e.text, rows[i].says) != NULL, "%s", f.e.text);
		cr_expect(strstr(f.e.text, KEY) == NULL, "%s", f.e.text);
		fixture_stop();
		fixture_end();
		f = (struct fixture){ 0 };
	}
}

Test(devbox_request, too_many_requests_pass_and_too_many_devboxes_do_not)
{
	static const struct canned_row rows[] = {
		{ "GET ", 429, "{\"message\":\"m\"}", "Retry-After: 3600\r\n" },
		{ "POST ", 429, "{\"message\":\"3 devboxes run\"}", "Retry-After: 3600\r\n" },
	};
	struct devbox d;

	FIXTURE_START(rows);
	cr_expect(eq(int, look(), ERR_BUSY), "%s", f.e.text);
	cr_expect(eq(int, devbox_create(&f.api.rest, NULL, "{}", &d, &f.e), ERR_QUOTA));
	cr_expect(strstr(f.e.text, "3 devboxes run") != NULL, "%s", f.e.text);
	fixture_stop();
}

Test(devbox_request, what_is_sent_again_has_the_same_request_id)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/keep_alive ", 503, "{\"message\":\"m\"}", NULL },
		{ "POST " PATHS "/dbx_1/keep_alive ", 200, "{}", NULL },
		LOOK,
	};
	char first[UUID7_SIZE];

	FIXTURE_START(rows);
	cr_assert(eq(int, devbox_act(&f.api.rest, &fixture_call, "dbx_1", "keep_alive", &f.e),
			  ERR_OK),
		"%s", f.e.text);
	cr_assert(eq(int, look(), ERR_OK));
	fixture_stop();
	snprintf(first, sizeof first, "%s", fixture_header(0, "x-request-id"));
	cr_expect(eq(sz, strlen(first), 36));
	cr_expect(eq(str, first, (char *)fixture_header(1, "x-request-id")));
	cr_expect(eq(str, (char *)fixture_header(2, "x-request-id"), ""));
}

#define SOON "retry-after-ms: 1\r\n"

Test(devbox_request, a_lock_and_a_time_limit_pass)
{
	static const struct canned_row rows[] = {
		{ "GET ", 408, "{\"message\":\"m\"}", SOON },
		{ "GET ", 409, "{\"message\":\"m\"}", SOON },
		LOOK,
		{ "POST " PATHS " ", 409, "{\"message\":\"m\"}", SOON },
		{ "POST " PATHS " ", 200, DEVBOX("running"), NULL },
	};
	struct devbox d;

	FIXTURE_START(rows);
	cr_expect(eq(int, look(), ERR_OK), "%s", f.e.text);
	cr_expect(
		eq(int, devbox_create(&f.api.rest, NULL, "{}", &d, &f.e), ERR_OK), "%s", f.e.text);
	fixture_stop();
}

Test(devbox_request, what_may_have_been_made_in_time_is_not_made_again)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS " ", 408, "{\"message\":\"m\"}", SOON },
	};
	struct devbox d;

	FIXTURE_START(rows);
	cr_expect(eq(int, devbox_create(&f.api.rest, NULL, "{}", &d, &f.e), ERR_TIMEOUT));
	fixture_stop();
}

Test(devbox_request, a_wait_that_is_answered_408_is_repeated_at_once)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/wait_for_status ", LATE, "x-should-retry: true\r\n" },
		{ "POST " PATHS "/dbx_1/wait_for_status ", LATE, NULL },
		{ "POST " PATHS "/dbx_1/wait_for_status ", 200, DEVBOX("running"), NULL },
	};
	struct devbox d;

	FIXTURE_START(rows);
	cr_assert(
		eq(int, devbox_wait(&f.api.rest, &fixture_call, "dbx_1", DEVBOX_RUNNING, &d, &f.e),
			ERR_OK),
		"%s", f.e.text);
	fixture_stop();
	cr_expect(eq(str, (char *)fixture_body(0),
		"{\"statuses\":[\"running\",\"failure\",\"shutdown\"],\"timeout_seconds\":25}"));
}

/* A server that does not hold the answer back would be asked as fast as it answers. */
Test(devbox_request, a_wait_that_is_answered_at_once_is_repeated_with_a_pause)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/wait_for_status ", LATE, NULL },
		{ "POST " PATHS "/dbx_1/wait_for_status ", LATE, NULL },
		{ "POST " PATHS "/dbx_1/wait_for_status ", LATE, NULL },
		{ "POST " PATHS "/dbx_1/wait_for_status ", 200, DEVBOX("running"), NULL },
	};
	int64_t began_ms = monotonic_ms();
	struct devbox d;

	FIXTURE_START(rows);
	cr_assert(
		eq(int, devbox_wait(&f.api.rest, &fixture_call, "dbx_1", DEVBOX_RUNNING, &d, &f.e),
			ERR_OK),
		"%s", f.e.text);
	fixture_stop();
	cr_expect(ge(i64, monotonic_ms() - began_ms, 300));
}

#define NEVER "x-should-retry: false\r\n"

Test(devbox_request, what_should_not_be_retried_is_not)
{
	static const struct canned_row rows[] = {
		{ "GET " PATHS "/dbx_1 ", 503, "{\"message\":\"m\"}", NEVER },
		{ "GET " PATHS "/dbx_1 ", 429, "{\"message\":\"m\"}", NEVER },
		{ "POST " PATHS "/dbx_1/wait_for_status ", LATE, NEVER },
	};
	struct devbox d;

	FIXTURE_START(rows);
	cr_expect(eq(int, look(), ERR_UNREACHABLE), "%s", f.e.text);
	cr_expect(eq(int, look(), ERR_BUSY), "%s", f.e.text);
	cr_expect(
		eq(int, devbox_wait(&f.api.rest, &fixture_call, "dbx_1", DEVBOX_RUNNING, &d, &f.e),
			ERR_TIMEOUT),
		"%s", f.e.text);
	fixture_stop();
}

/* A request that makes a devbox is not repeated, whatever the service says: there would be two. */
Test(devbox_request, what_should_be_retried_is_where_that_does_no_harm)
{
	static const struct canned_row rows[] = {
		{ "GET " PATHS "/dbx_1 ", 400, "{\"message\":\"m\"}", "x-should-retry: true\r\n" },
		LOOK,
		{ "POST " PATHS " ", 400, "{\"message\":\"m\"}", "x-should-retry: true\r\n" },
	};
	struct devbox d;

	FIXTURE_START(rows);
	cr_expect(eq(int, look(), ERR_OK), "%s", f.e.text);
	cr_expect(eq(int, devbox_create(&f.api.rest, NULL, "{}", &d, &f.e), ERR_INVALID), "%s",
		f.e.text);
	fixture_stop();
}

Test(devbox_request, an_answer_is_held_for_half_of_the_deadline_at_most)
{
	static const struct {
		int64_t progress_ms;
		int want_s;
	} rows[] = { { 0, 15 }, { -1, 25 }, { 600000, 25 }, { 20000, 10 }, { 1000, 1 }, { 1, 1 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct call call = { .progress_ms = rows[i].progress_ms };

		cr_expect(eq(int, devbox_hold_s(&call), rows[i].want_s));
	}
}

/* ---- Lists ---- */

struct listed {
	char ids[200];
};

static enum err note(void *context, const struct rest_listed *one,
	const struct sandbox_entry *entry, struct error *e)
{
	struct listed *l = context;

	(void)e;
	strcat(strcat(l->ids, entry->unread ? entry->unread : one->id), " ");
	return ERR_OK;
}

#define PAGE(from) "GET " PATHS "?limit=100&include_total_count=false" from " "

Test(devbox_request, a_list_has_all_pages_and_nothing_that_has_ended)
{
	static const struct canned_row rows[] = {
		{ PAGE(""), 200,
			"{\"has_more\":true,\"devboxes\":[{\"id\":\"a\",\"status\":\"running\"},"
			"{\"id\":\"b\",\"status\":\"shutdown\"}]}",
			NULL },
		{ PAGE("&starting_after=b"), 200,
			"{\"has_more\":false,\"devboxes\":[{\"id\":\"c\",\"status\":\"suspended\"},"
			"{\"id\":\"d\",\"status\":\"failure\"}]}",
			NULL },
	};
	struct listed listed = { "" };

	FIXTURE_START(rows);
	cr_assert(eq(int, devbox_list(&f.api.rest, &fixture_call, note, &listed, &f.e), ERR_OK),
		"%s", f.e.text);
	fixture_stop();
	cr_expect(eq(str, listed.ids, "a c "));
}

Test(devbox_request, a_devbox_that_cannot_be_read_hides_no_other)
{
	static const struct canned_row rows[] = {
		{ PAGE(""), 200,
			"{\"has_more\":true,\"devboxes\":[{\"id\":\"a/b\"},"
			"{\"id\":\"c\",\"status\":\"running\"},7]}",
			NULL },
		{ PAGE("&starting_after=c"), 200,
			"{\"has_more\":false,\"devboxes\":[{\"id\":\"d\",\"status\":\"running\"}]}",
			NULL },
	};
	struct listed listed = { "" };

	FIXTURE_START(rows);
	cr_assert(eq(int, devbox_list(&f.api.rest, &fixture_call, note, &listed, &f.e), ERR_OK),
		"%s", f.e.text);
	fixture_stop();
	cr_expect(eq(str, listed.ids,
		"runloop: a devbox without an id c runloop: a devbox without an id d "));
}

Test(devbox_request, a_list_that_does_not_end_is_given_up)
{
	static const struct canned_row rows[] = {
		{ PAGE(""), 200, "{\"has_more\":true,\"devboxes\":[{\"id\":\"a\"}]}", NULL },
		{ PAGE("&starting_after=a"), 200,
			"{\"has_more\":true,\"devboxes\":[{\"id\":\"a\"}]}", NULL },
	};
	struct listed listed = { "" };

	FIXTURE_START(rows);
	cr_assert(eq(
		int, devbox_list(&f.api.rest, &fixture_call, note, &listed, &f.e), ERR_PROTOCOL));
	fixture_stop();
}
