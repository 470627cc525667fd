#include "tests/runloop/devbox_fixture.h"

TestSuite(devbox_execution, .fini = fixture_end, .timeout = 300);

#define EXECUTE "POST " PATHS "/dbx_1/execute?last_n=1000000 "
#define WAIT    "POST " PATHS "/dbx_1/executions/exec_1/wait_for_status?last_n=1000000 "
#define STREAM(name, offset)                                                                       \
	"GET " PATHS "/dbx_1/executions/exec_1/stream_" name "_updates?offset=" offset " "
#define VIEW(status, more) "{\"execution_id\":\"exec_1\",\"status\":\"" status "\"" more "}"
#define DONE(more)         VIEW("completed", ",\"exit_status\":0" more)
#define EVENT(text)        "data: {\"output\":\"" text "\",\"offset\":77}\n\n"
#define IDLE               "event: error\ndata: {\"code\":\"408\",\"message\":\"idle\"}\n\n"

struct received {
	struct buf out, err;
};

static enum err receive(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct received *h = context;
	struct buf *to = stream == STREAM_OUT ? &h->out : &h->err;

	buf_add(to, bytes, len);
	return buf_check(to, "output", e);
}

static struct received received;
static struct execution x;

static enum err execute(const char *command)
{
	received = (struct received){ BUF_INIT(1000000), BUF_INIT(1000000) };
	x = (struct execution){
		.id = "dbx_1", .command = command, .sink = receive, .sink_context = &received
	};
	return execution_run(&x, &f.api.rest, &fixture_call, &f.e);
}

static void expect_output(const char *out, const char *err)
{
	cr_expect(eq(str, (char *)buf_text(&received.out), (char *)out));
	cr_expect(eq(str, (char *)buf_text(&received.err), (char *)err));
	buf_release(&received.out);
	buf_release(&received.err);
}

Test(devbox_execution, an_execution_that_ends_soon_is_one_request_for_all_lines)
{
	static const struct canned_row rows[] = { { EXECUTE, 200,
		VIEW("completed",
			",\"exit_status\":7,\"stdout\":\"one\\ntwo\\n\",\"stderr\":\"oh\","
			"\"stdout_truncated\":false,\"stderr_truncated\":null"),
		NULL } };

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("say \"it\""), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(eq(int, x.exit_code, 7));
	cr_expect(x.has_started);
	expect_output("one\ntwo\n", "oh");
	cr_expect(strstr(fixture_body(0), "{\"command\": \"say \\\"it\\\"\", \"command_id\": \"") ==
		fixture_body(0));
	cr_expect(fixture_has(0, "\"optimistic_timeout\": 25}"));
}

Test(devbox_execution, a_lock_is_waited_for_and_the_command_runs_once)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 409, "{\"message\":\"lock timeout\"}", "retry-after-ms: 1\r\n" },
		{ EXECUTE, 409, "{\"message\":\"lock timeout\"}", "retry-after-ms: 1\r\n" },
		{ EXECUTE, 200, DONE(""), NULL },
	};

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("true"), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(eq(str, (char *)fixture_body(0), (char *)fixture_body(2)));
	expect_output("", "");
}

Test(devbox_execution, what_an_answer_leaves_out_is_read_again_from_the_first_byte)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 200,
			DONE(",\"stdout\":\"last\",\"stdout_truncated\":true,"
			     "\"stderr\":\"end\",\"stderr_truncated\":true"),
			NULL },
		{ STREAM("stdout", "0"), 200, ": hello\n\n" EVENT("first\\n") EVENT("last"),
			EVENTS },
		{ STREAM("stderr", "0"), 200, "data:{\"output\":\"the \"}\r\n\r\n" EVENT("end"),
			EVENTS },
	};

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("x"), ERR_OK), "%s", f.e.text);
	fixture_stop();
	expect_output("first\nlast", "the end");
	cr_expect(fixture_has(1, "\r\nAccept: text/event-stream\r\n"));
}

Test(devbox_execution, a_stream_that_is_idle_or_breaks_goes_on_at_the_bytes_that_came)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 200, DONE(",\"stdout_truncated\":true"), NULL },
		{ STREAM("stdout", "0"), 200, EVENT("\\u00e4b") IDLE, EVENTS },
		{ STREAM("stdout", "3"), 0, NULL, NULL },
		{ STREAM("stdout", "3"), 200, EVENT("cd") IDLE, EVENTS },
		{ STREAM("stdout", "5"), 200, EVENT("ef"), EVENTS },
	};

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("x"), ERR_OK), "%s", f.e.text);
	fixture_stop();
	expect_output("\xc3\xa4"
		      "bcdef",
		"");
}

Test(devbox_execution, a_stream_that_breaks_all_the_time_is_an_error)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 200, DONE(",\"stdout_truncated\":true"), NULL },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
	};

	FIXTURE_START(rows);
	/*
	 * Where a busy machine is as slow as an idle stream of the service may be, that is no
	 * break.
	 */
	f.server.repeats_at_end = true;
	cr_assert(eq(int, execute("x"), ERR_UNREACHABLE), "%s", f.e.text);
	fixture_stop();
	expect_output("", "");
}

/* The service ends a stream that is silent for 30 s: no fault, however often. */
Test(devbox_execution, a_stream_that_is_silent_for_long_is_opened_again)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 200, DONE(",\"stdout_truncated\":true"), NULL },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, IDLE, EVENTS },
		{ STREAM("stdout", "0"), 200, EVENT("at last"), EVENTS },
	};

	FIXTURE_START(rows);
	f.server.delay_ms = 250;
	cr_assert(eq(int, execute("x"), ERR_OK), "%s", f.e.text);
	fixture_stop();
	expect_output("at last", "");
}

Test(devbox_execution, a_stream_that_makes_no_sense_is_an_error)
{
	static const char *const bodies[] = { "data: {\"output\":7}\n\n", "data: {\n\n",
		"data: []\n\n", "event: error\ndata: {\"code\":\"500\",\"message\":\"lost\"}\n\n",
		"event: error\ndata: ?\n\n" };

	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		const struct canned_row rows[] = {
			{ EXECUTE, 200, DONE(",\"stdout_truncated\":true"), NULL },
			{ STREAM("stdout", "0"), 200, bodies[i], EVENTS },
			{ STREAM("stdout", "0"), 200, bodies[i], EVENTS },
			{ STREAM("stdout", "0"), 200, bodies[i], EVENTS },
			{ STREAM("stdout", "0"), 200, bodies[i], EVENTS },
			{ STREAM("stdout", "0"), 200, bodies[i], EVENTS },
		};
		/* The service's own failure may pass. */
		bool is_error = strstr(bodies[i], "event") != NULL;

		fixture_start(rows, is_error ? 6 : 2);
		cr_expect(eq(int, execute("x"), is_error ? ERR_UNREACHABLE : ERR_PROTOCOL),
			"%s: %s", bodies[i], f.e.text);
		fixture_stop();
		expect_output("", "");
		fixture_end();
		f = (struct fixture){ 0 };
	}
}

Test(devbox_execution, an_execution_that_lasts_is_followed_and_waited_for)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 200, VIEW("running", ""), NULL },
		{ STREAM("stdout", "0"), 200, EVENT("as it ") EVENT("comes"), EVENTS },
		{ WAIT, LATE, "x-should-retry: true\r\n" },
		{ WAIT, 200,
			DONE(",\"stdout\":\"comes\",\"stdout_truncated\":true,\"stderr\":\"e\""),
			NULL },
	};

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("x"), ERR_OK), "%s", f.e.text);
	fixture_stop();
	expect_output("as it comes", "e");
	cr_expect(eq(str, (char *)fixture_body(3),
		"{\"statuses\":[\"completed\"],\"timeout_seconds\":25}"));
}

Test(devbox_execution, is_sent_again_under_the_same_command_id)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 0, NULL, NULL },
		{ EXECUTE, 502, "{\"message\":\"m\"}", NULL },
		{ EXECUTE, LATE, NULL },
		{ EXECUTE, 200, DONE(",\"stdout\":\"once\""), NULL },
	};

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("x"), ERR_OK), "%s", f.e.text);
	fixture_stop();
	expect_output("once", "");
	for (size_t i = 1; i < 4; i++)
		cr_expect(eq(str, (char *)fixture_body(i), (char *)fixture_body(0)));
}

Test(devbox_execution, two_commands_have_two_ids)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 200, DONE(""), NULL },
		{ EXECUTE, 200, DONE(""), NULL },
	};

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("x"), ERR_OK), "%s", f.e.text);
	cr_assert(eq(int, execute("x"), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(ne(str, (char *)fixture_body(0), (char *)fixture_body(1)));
}

Test(devbox_execution, what_was_refused_has_not_started)
{
	static const struct canned_row rows[] = { { EXECUTE, 400,
		"{\"message\":\"Devbox is suspended\"}", NULL } };

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("x"), ERR_INVALID), "%s", f.e.text);
	fixture_stop();
	cr_expect(not(x.has_started));
}

/* The service reports only that it did not answer in time. */
Test(devbox_execution, an_execution_that_was_not_answered_in_time_may_have_started)
{
	static const struct canned_row rows[] = { { EXECUTE, LATE, "x-should-retry: false\r\n" } };

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("x"), ERR_TIMEOUT), "%s", f.e.text);
	fixture_stop();
	cr_expect(x.has_started);
}

Test(devbox_execution, an_execution_that_is_lost_on_the_way_has_started)
{
	static const struct canned_row rows[] = {
		{ EXECUTE, 200, VIEW("running", ""), NULL },
		{ STREAM("stdout", "0"), 404, "{\"message\":\"Execution not found\"}", NULL },
	};

	FIXTURE_START(rows);
	cr_assert(eq(int, execute("x"), ERR_NOT_FOUND), "%s", f.e.text);
	fixture_stop();
	cr_expect(x.has_started);
}

Test(devbox_execution, an_end_that_is_not_reported_is_an_error)
{
	static const char *const bodies[] = { VIEW("completed", ""),
		VIEW("completed", ",\"exit_status\":null"),
		VIEW("completed", ",\"exit_status\":-1"),
		VIEW("completed", ",\"exit_status\":\"0\""), "{\"status\":\"running\"}", "{}", "[]",
		"{\"status\":\"running\",\"execution_id\":\"../../dbx_2\"}" };

	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		const struct canned_row row = { EXECUTE, 200, bodies[i], NULL };

		fixture_start(&row, 1);
		cr_expect(eq(int, execute("x"), ERR_PROTOCOL), "%s: %s", bodies[i], f.e.text);
		fixture_stop();
		fixture_end();
		f = (struct fixture){ 0 };
	}
}

Test(devbox_execution, a_command_of_more_than_131000_characters_is_not_sent)
{
	static const struct canned_row rows[] = { { EXECUTE, 200, DONE(""), NULL } };
	AUTO_BUF struct buf command = BUF_INIT(200000);

	FIXTURE_START(rows);
	for (size_t i = 0; i < EXECUTION_COMMAND_MAX; i++)
		buf_add_byte(&command, '"');
	cr_expect(eq(int, execute(buf_text(&command)), ERR_OK), "%s", f.e.text);
	buf_add_byte(&command, '"');
	cr_expect(eq(int, execute(buf_text(&command)), ERR_TOO_LARGE));
	fixture_stop();
}

/* ---- One that goes on ---- */

#define BEGIN                                                                                      \
	{                                                                                          \
		"POST " PATHS "/dbx_1/execute_async ", 200, VIEW("running", ""), NULL              \
	}

static enum err refuse(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len;
	return error_set(e, ERR_INTERRUPTED, "enough");
}

static enum err listen(execute_sink sink)
{
	received = (struct received){ BUF_INIT(1000000), BUF_INIT(1000000) };
	x = (struct execution){
		.id = "dbx_1", .command = "x", .sink = sink, .sink_context = &received
	};
	return execution_listen(&x, &f.api.rest, &fixture_call, &f.e);
}

Test(devbox_execution, an_execution_that_goes_on_is_followed_until_its_end)
{
	static const struct canned_row rows[] = { BEGIN,
		{ STREAM("stdout", "0"), 200, EVENT("on and ") IDLE, EVENTS },
		{ STREAM("stdout", "7"), 200, EVENT("on"), EVENTS },
		{ WAIT, 200, VIEW("completed", ",\"exit_status\":127"), NULL } };

	FIXTURE_START(rows);
	cr_assert(eq(int, listen(receive), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(eq(int, x.exit_code, 127));
	expect_output("on and on", "");
}

Test(devbox_execution, an_execution_that_goes_on_is_killed_when_nobody_listens)
{
	static const struct canned_row rows[] = { BEGIN,
		{ STREAM("stdout", "0"), 200, EVENT("on and on"), EVENTS },
		{ "POST " PATHS "/dbx_1/executions/exec_1/kill ", 200, "{}", NULL } };

	FIXTURE_START(rows);
	cr_assert(eq(int, listen(refuse), ERR_INTERRUPTED), "%s", f.e.text);
	fixture_stop();
	cr_expect(x.has_started);
	cr_expect(eq(str, (char *)fixture_body(2), "{\"kill_process_group\":true}"));
}

Test(devbox_execution, an_execution_that_goes_on_is_not_begun_twice)
{
	static const struct canned_row rows[] = { { "POST " PATHS "/dbx_1/execute_async ", 503,
		"{}", NULL } };

	FIXTURE_START(rows);
	cr_assert(eq(int, listen(receive), ERR_UNREACHABLE), "%s", f.e.text);
	fixture_stop();
}
