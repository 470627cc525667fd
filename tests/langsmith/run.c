/* POST /execute. */
#include "tests/langsmith/fixture.h"

TestSuite(langsmith_run, .fini = fixture_end, .timeout = 300);

#define EXECUTE "POST /dp/opaque/execute "
#define UPLOAD  "POST /dp/opaque/upload?path=/root/r%20q "
#define DONE    "{\"stdout\":\"out\",\"stderr\":\"err\",\"exit_code\":3}"

static const char *const argv[] = { "echo", "it's", NULL };
static struct kept kept;
static int exit_code;

static enum err run(unsigned flags, const struct remote_upload *upload)
{
	return langsmith_run(sandbox, NULL, argv, flags, upload, keep, &kept, &exit_code, &e);
}

Test(langsmith_run, is_shell_text_with_a_limit_below_the_routers)
{
	static const struct canned_row rows[] = { FOUND, { EXECUTE, 200, DONE, NULL } };

	FIND(rows);
	cr_assert(eq(int, run(0, NULL), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, kept.out, "out"));
	cr_expect(eq(str, kept.err_out, "err"));
	cr_expect(eq(int, exit_code, 3));
	cr_expect(request_has(1, "\r\nX-Api-Key: " KEY "\r\n"));
	cr_expect(strstr(request_body(1), "\"timeout\": 300, \"shell\": \"/bin/sh\"}") != NULL,
		"%s", request_body(1));
	cr_expect(strstr(request_body(1), KEY) == NULL);
}

Test(langsmith_run, acts_as_the_user_that_was_named)
{
	static const struct canned_row rows[] = { FOUND, { EXECUTE, 200, DONE, NULL } };

	FIND_AS(rows, "ada");
	cr_assert(eq(int, run(0, NULL), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(strstr(request_body(1), "\"run_config\": {\"user\": \"ada\"}}") != NULL, "%s",
		request_body(1));
}

Test(langsmith_run, what_a_signal_ended_has_the_number_of_one)
{
	static const struct canned_row rows[] = { FOUND,
		{ EXECUTE, 200, "{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":-1}", NULL } };

	FIND(rows);
	cr_assert(eq(int, run(0, NULL), ERR_OK), "%s", e.text);
	cr_expect(eq(int, exit_code, 137));
}

Test(langsmith_run, an_answer_without_an_end_makes_no_sense)
{
	static const struct canned_row rows[] = { FOUND,
		{ EXECUTE, 200, "{\"stdout\":\"x\"}", NULL } };

	FIND(rows);
	cr_expect(eq(int, run(0, NULL), ERR_PROTOCOL));
	cr_expect(eq(str, kept.out, ""));
}

Test(langsmith_run, output_may_be_large)
{
	static struct canned_row rows[] = { FOUND, { EXECUTE, 200, NULL, NULL } };
	static const char before[] = "{\"exit_code\":0,\"stdout\":\"";
	size_t len = HTTP_BODY_MAX + 1;
	char *body = malloc(sizeof before + len + 2);

	memset(stpcpy(body, before), 'x', len);
	strcpy(body + strlen(before) + len, "\"}");
	rows[1].body = body;
	FIND(rows);
	cr_expect(eq(int, run(0, NULL), ERR_OK), "%s", e.text);
	cr_expect(eq(sz, kept.out_len, len));
	fixture_stop();
	free(body);
}

Test(langsmith_run, is_never_sent_twice_once_it_may_have_run)
{
	static const int statuses[] = { 0, 500, 502, 503, 504 };

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		const struct canned_row rows[] = { FOUND, { EXECUTE, statuses[i], NULL, NULL } };

		FIND(rows);
		cr_expect(ne(int, run(0, NULL), ERR_OK), "%d", statuses[i]);
		fixture_end();
		sandbox = NULL, server.got = 0;
	}
}

Test(langsmith_run, is_sent_again_where_that_does_no_harm)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ EXECUTE, 0, NULL, NULL },
		{ EXECUTE, 503, NULL, NULL },
		{ EXECUTE, 200, DONE, NULL },
	};

	FIND(rows);
	cr_expect(eq(int, run(RUN_REPEATABLE, NULL), ERR_OK), "%s", e.text);
}

Test(langsmith_run, waits_as_long_as_a_429_says)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ EXECUTE, 429, "{\"detail\":\"slow down\"}", "Retry-After: 1\r\n" },
		{ EXECUTE, 200, DONE, NULL },
	};
	int64_t begin_ms = monotonic_ms();

	FIND(rows);
	cr_expect(eq(int, run(0, NULL), ERR_OK), "%s", e.text);
	cr_expect(ge(i64, monotonic_ms() - begin_ms, 1000));
}

Test(langsmith_run, a_limit_of_the_service_is_a_timeout)
{
	static const struct canned_row rows[] = { FOUND,
		{ EXECUTE, 408, "{\"detail\":{\"error\":\"CommandTimeout\",\"message\":\"late\"}}",
			NULL } };

	FIND(rows);
	cr_expect(eq(int, run(RUN_REPEATABLE, NULL), ERR_TIMEOUT));
}

Test(langsmith_run, a_command_longer_than_an_argument_is_not_sent)
{
	static const struct canned_row rows[] = { FOUND };
	static char long_one[140000];
	const char *const words[] = { "echo", long_one, NULL };

	memset(long_one, 'x', sizeof long_one - 1);
	FIND(rows);
	cr_expect(eq(int, langsmith_run(sandbox, NULL, words, 0, NULL, keep, &kept, &exit_code, &e),
		ERR_TOO_LARGE));
}

Test(langsmith_run, a_sinks_refusal_comes_out_unchanged)
{
	static const struct canned_row rows[] = { FOUND, { EXECUTE, 200, DONE, NULL } };

	kept.refusal = ERR_LOOP;
	FIND(rows);
	cr_expect(eq(int, run(RUN_REPEATABLE, NULL), ERR_LOOP));
	cr_expect(eq(str, e.text, "the sink"));
}

/* ---- Files that go up ---- */

static const struct remote_upload file = { "/root/r q", "\0\r\n--x", 6 };
#define STORED "{\"path\":\"/root/r q\",\"written\":6}"

Test(langsmith_run, an_upload_is_one_part_named_file)
{
	static const struct canned_row rows[] = { FOUND, { UPLOAD, 200, STORED, NULL } };

	FIND(rows);
	cr_assert(eq(int, langsmith_upload(sandbox, NULL, &file, &e), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(request_has(1, "\r\nContent-Type: multipart/form-data; boundary="));
	cr_expect(request_has(1, "name=\"file\"; filename=\"file\""));
	cr_expect(request_has(1, "application/octet-stream"));
}

Test(langsmith_run, an_upload_makes_no_directories)
{
	static const struct canned_row rows[] = { FOUND,
		{ UPLOAD, 500,
			"{\"detail\":{\"error\":\"WriteError\",\"message\":\"open /root/r q: no "
			"such "
			"file or directory\"}}",
			NULL } };

	FIND(rows);
	cr_expect(eq(int, langsmith_upload(sandbox, NULL, &file, &e), ERR_NOT_FOUND));
}

Test(langsmith_run, an_upload_for_another_user_is_given_to_it)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ UPLOAD, 200, STORED, NULL },
		{ EXECUTE, 200, "{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":0}", NULL },
	};

	FIND_AS(rows, "ada");
	cr_assert(eq(int, langsmith_upload(sandbox, NULL, &file, &e), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(strstr(request_body(2), "chown") != NULL, "%s", request_body(2));
	cr_expect(strstr(request_body(2), "run_config") == NULL, "%s", request_body(2));
}

Test(langsmith_run, an_upload_that_cannot_be_given_to_its_user_has_failed)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ UPLOAD, 200, STORED, NULL },
		{ EXECUTE, 200, "{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":1}", NULL },
	};

	FIND_AS(rows, "ada");
	cr_expect(eq(int, langsmith_upload(sandbox, NULL, &file, &e), ERR_DENIED));
	cr_expect(strstr(e.text, "'ada'") != NULL, "%s", e.text);
}
