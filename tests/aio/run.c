#include "providers/base/cleanup.h"
#include "tests/aio/fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>
#include <sys/eventfd.h>

TestSuite(bash, .fini = fixture_end, .timeout = 300);

#define EXEC   "POST /v1/bash/exec "
#define OUTPUT "POST /v1/bash/output "
#define CLOSE  "POST /v1/bash/sessions/"
#define MAKE   "POST /v1/bash/sessions/create "
#define UPLOAD "POST /v1/file/upload "
#define SAYS(session, status, code, more)                                                          \
	"{\"success\":true,\"data\":{\"session_id\":\"" session                                    \
	"\",\"command_id\":\"c1\",\"status\":\"" status "\",\"exit_code\":" code more "}}"
#define DONE(session) SAYS(session, "completed", "0", ",\"stdout\":\"out\",\"stderr\":null")
#define LATER(text, at, status, code)                                                              \
	"{\"success\":true,\"data\":{\"session_id\":\"s1\",\"stdout\":\"" text                     \
	"\",\"stderr\":\"\",\"offset\":" at                                                        \
	",\"stderr_offset\":0,\"command\":{\"status\":\"" status "\",\"exit_code\":" code "}}}"
#define NOT_FOUND  "{\"detail\":\"Not Found\"}"
#define NO_SESSION "{\"detail\":\"Session not found\"}"
#define GOOD       "{\"success\":true,\"data\":null}"

struct received {
	char out[64], err[64];
};

static enum err receive(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct received *h = context;

	(void)e;
	strncat(stream == STREAM_OUT ? h->out : h->err, bytes, len);
	return ERR_OK;
}

struct ran {
	enum err err;
	int exit_code;
	struct received received;
};

static struct ran run_by(
	const struct call *call, unsigned flags, const struct remote_upload *upload)
{
	static const char *const argv[] = { "printf", "it's", NULL };
	struct fixture *f = fixture();
	struct ran ran = { .exit_code = -1 };

	f->e = (struct error){ 0 };
	ran.err = aio_run(&f->sandbox, call, argv, flags, upload, receive, &ran.received,
		&ran.exit_code, &f->e);
	return ran;
}

static struct ran run_with(unsigned flags, const struct remote_upload *upload)
{
	return run_by(NULL, flags, upload);
}

static struct ran run(void)
{
	return run_with(0, NULL);
}

static void expect_good(const struct ran *ran, const char *out)
{
	cr_expect(eq(int, ran->err, ERR_OK), "%s", fixture()->e.text);
	cr_expect(eq(int, ran->exit_code, 0));
	cr_expect(eq(str, (char *)ran->received.out, (char *)out));
}

/* Takes all places that are free, and returns their count. */
static uint64_t take_places(void)
{
	eventfd_t count = 0, some;

	while (!eventfd_read(fixture()->sandbox.sessions.places_fd, &some))
		count += some;
	return count;
}

Test(bash, a_program_is_one_request_that_has_all_of_its_output)
{
	static const struct canned_row rows[] = { { EXEC, 200, DONE("s1"), NULL } };
	struct ran ran;

	FIXTURE_START("Bearer s3cret", rows);
	ran = run();
	canned_stop(&fixture()->server);
	expect_good(&ran, "out");
	cr_expect(fixture_has(0, "\"max_output_length\": 0"));
	cr_expect(fixture_has(0, "\"timeout\": 20.000"));
	cr_expect(fixture_has(0, "</dev/null\""));
	cr_expect(fixture_has(0, "Authorization: Bearer s3cret\r\n"));
	cr_expect(not(fixture_has(0, "session_id")));
}

Test(bash, an_answer_is_due_before_the_callers_deadline)
{
	static const struct canned_row rows[] = { { EXEC, 200, DONE("s1"), NULL },
		{ EXEC, 200, DONE("s1"), NULL }, { EXEC, 200, DONE("s1"), NULL } };
	static const struct call calls[] = { { .progress_ms = 30000 }, { .progress_ms = 3000 },
		{ .progress_ms = -1 } };
	static const char *const timeouts[] = { "\"timeout\": 20.000", "\"timeout\": 2.000",
		"\"timeout\": 20.000" };

	FIXTURE_START(NULL, rows);
	for (int i = 0; i < 3; i++)
		run_by(&calls[i], 0, NULL);
	canned_stop(&fixture()->server);
	for (size_t i = 0; i < 3; i++)
		cr_expect(fixture_has(i, timeouts[i]), "%zu", i);
}

Test(bash, a_session_is_used_again)
{
	static const struct canned_row rows[] = { { EXEC, 200, DONE("s1"), NULL },
		{ EXEC, 200, DONE("s1"), NULL }, { EXEC, 200, DONE("s1"), NULL } };

	FIXTURE_START(NULL, rows);
	for (int i = 0; i < 3; i++) {
		struct ran ran = run();

		expect_good(&ran, "out");
	}
	canned_stop(&fixture()->server);
	cr_expect(fixture_has(1, "\"session_id\": \"s1\""));
	cr_expect(fixture_has(2, "\"session_id\": \"s1\""));
	cr_expect(not(fixture_has(0, "Authorization")));
}

/* The service drops the oldest session when there are too many, and all when it is started anew. */
Test(bash, a_session_that_is_gone_is_replaced)
{
	static const struct canned_row rows[] = { { EXEC, 200, DONE("s1"), NULL },
		{ EXEC, 404, NO_SESSION, NULL }, { CLOSE "s1/close ", 404, NO_SESSION, NULL },
		{ EXEC, 200, DONE("s2"), NULL } };
	struct ran ran;

	FIXTURE_START(NULL, rows);
	run();
	ran = run();
	canned_stop(&fixture()->server);
	expect_good(&ran, "out");
	cr_expect(not(fixture_has(3, "session_id")));
}

Test(bash, a_session_that_is_busy_is_closed_and_another_taken)
{
	static const struct canned_row rows[] = { { EXEC, 200, DONE("s1"), NULL },
		{ EXEC, 400, "{\"detail\":\"Session s1 is busy\"}", NULL },
		{ CLOSE "s1/close ", 200, GOOD, NULL }, { EXEC, 200, DONE("s2"), NULL } };
	struct ran ran;

	FIXTURE_START(NULL, rows);
	run();
	ran = run();
	canned_stop(&fixture()->server);
	expect_good(&ran, "out");
}

Test(bash, too_many_sessions_are_reported)
{
	static const struct canned_row rows[] = { { EXEC, 400,
		"{\"detail\":\"Maximum number of sessions (10) reached\"}", NULL } };
	struct ran ran;

	FIXTURE_START(NULL, rows);
	ran = run();
	canned_stop(&fixture()->server);
	cr_expect(eq(int, ran.err, ERR_BUSY));
	cr_expect(strstr(fixture()->e.text, "Maximum number of sessions (10)") != NULL);
}

Test(bash, an_image_without_any_is_answered_with_one_that_has_it)
{
	static const struct canned_row rows[] = { { EXEC, 404, NOT_FOUND, NULL },
		{ UPLOAD, 200, GOOD, NULL },
		{ "POST /v1/shell/sessions/create ", 404, NOT_FOUND, NULL } };
	struct ran ran;

	FIXTURE_START(NULL, rows);
	ran = run();
	canned_stop(&fixture()->server);
	cr_expect(eq(int, ran.err, ERR_UNSUPPORTED));
	cr_expect(strstr(fixture()->e.text, "neither /v1/bash nor /v1/shell") != NULL, "%s",
		fixture()->e.text);
}

Test(bash, what_lasts_is_followed_from_where_the_answer_before_ended)
{
	static const struct canned_row rows[] = {
		{ EXEC, 200, SAYS("s1", "running", "null", ",\"stdout\":\"a\",\"offset\":1"),
			NULL },
		{ OUTPUT, 200, LATER("", "1", "running", "null"), NULL },
		{ OUTPUT, 200, LATER("bc", "3", "running", "null"), NULL },
		{ OUTPUT, 200, LATER("", "3", "completed", "0"), NULL },
	};
	struct ran ran;

	FIXTURE_START(NULL, rows);
	ran = run();
	canned_stop(&fixture()->server);
	expect_good(&ran, "abc");
	cr_expect(fixture_has(1, "\"command_id\": \"c1\""));
	cr_expect(fixture_has(1, "\"offset\": 1"));
	cr_expect(fixture_has(2, "\"offset\": 1"));
	cr_expect(fixture_has(3, "\"offset\": 3"));
	cr_expect(fixture_has(3, "\"wait\": true"));
}

Test(bash, each_of_its_outputs_is_followed_from_its_own_end)
{
	static const struct canned_row rows[] = {
		{ EXEC, 200,
			SAYS("s1", "running", "null",
				",\"stdout\":\"a\",\"stderr\":\"no\",\"offset\":1,\"stderr_"
				"offset\":2"),
			NULL },
		{ OUTPUT, 200,
			"{\"success\":true,\"data\":{\"stdout\":\"\",\"stderr\":\"\",\"offset\":1,"
			"\"stderr_offset\":2,\"command\":{\"status\":\"completed\",\"exit_code\":0}"
			"}}",
			NULL },
	};
	struct ran ran;

	FIXTURE_START(NULL, rows);
	ran = run();
	canned_stop(&fixture()->server);
	expect_good(&ran, "a");
	cr_expect(eq(str, ran.received.err, "no"));
	cr_expect(fixture_has(1, "\"offset\": 1"));
	cr_expect(fixture_has(1, "\"stderr_offset\": 2"));
}

Test(bash, who_prints_often_is_not_asked_each_time)
{
	static const struct canned_row rows[] = {
		{ EXEC, 200, SAYS("s1", "running", "null", ",\"offset\":0"), NULL },
		{ OUTPUT, 200, LATER("a", "1", "running", "null"), NULL },
		{ OUTPUT, 200, LATER("b", "2", "running", "null"), NULL },
		{ OUTPUT, 200, LATER("c", "3", "running", "null"), NULL },
		{ OUTPUT, 200, LATER("d", "4", "running", "null"), NULL },
		{ OUTPUT, 200, LATER("e", "5", "running", "null"), NULL },
		{ OUTPUT, 200, LATER("f", "6", "running", "null"), NULL },
		{ OUTPUT, 200, LATER("", "6", "completed", "0"), NULL },
	};
	struct ran ran;

	FIXTURE_START(NULL, rows);
	int64_t begun_ms = monotonic_ms();

	ran = run();
	canned_stop(&fixture()->server);
	expect_good(&ran, "abcdef");
	cr_expect(ge(i64, monotonic_ms() - begun_ms, 350)); /* four pauses of 100 ms */
}

Test(bash, output_that_is_older_than_the_status_in_its_answer_is_asked_for)
{
	static const struct canned_row rows[] = {
		{ EXEC, 200, SAYS("s1", "running", "null", ",\"offset\":0"), NULL },
		{ OUTPUT, 200, LATER("a", "1", "completed", "0"), NULL },
		{ OUTPUT, 200, LATER("b", "2", "completed", "0"), NULL },
		{ OUTPUT, 200, LATER("", "2", "completed", "0"), NULL },
	};
	struct ran ran;

	FIXTURE_START(NULL, rows);
	ran = run();
	canned_stop(&fixture()->server);
	expect_good(&ran, "ab");
	cr_expect(fixture_has(2, "\"wait\": false"));
}

Test(bash, an_end_by_a_signal_is_as_a_shell_says_it)
{
	static const struct canned_row rows[] = { { EXEC, 200, SAYS("s1", "completed", "-9", ""),
		NULL } };
	struct ran ran;

	FIXTURE_START(NULL, rows);
	ran = run();
	canned_stop(&fixture()->server);
	cr_expect(eq(int, ran.err, ERR_OK));
	cr_expect(eq(int, ran.exit_code, 137));
}

Test(bash, what_makes_no_sense_is_no_end_of_a_program)
{
	static const struct canned_row rows[] = {
		{ EXEC, 200, SAYS("s1", "completed", "null", ""), NULL },
		{ CLOSE, 200, GOOD, NULL },
		{ EXEC, 200, SAYS("s1", "finished", "0", ""), NULL },
		{ CLOSE, 200, GOOD, NULL },
		{ EXEC, 200, SAYS("s1", "completed", "4096", ""), NULL },
		{ CLOSE, 200, GOOD, NULL },
		{ EXEC, 200, "{\"success\":true,\"data\":null}", NULL },
		{ EXEC, 200, "<html>", NULL },
	};

	FIXTURE_START(NULL, rows);
	for (int i = 0; i < 5; i++)
		cr_expect(eq(int, run().err, i < 4 ? ERR_PROTOCOL : ERR_UNREACHABLE), "%d: %s", i,
			fixture()->e.text);
	canned_stop(&fixture()->server);
}

/* The service uses these statuses also for a program that it could not start. */
Test(bash, a_program_that_the_service_ended_has_failed)
{
	static const struct canned_row rows[] = {
		{ EXEC, 200, SAYS("s1", "killed", "null", ""), NULL },
		{ CLOSE "s1/close ", 200, GOOD, NULL },
		{ EXEC, 200, SAYS("s2", "timed_out", "null", ""), NULL },
		{ CLOSE "s2/close ", 200, GOOD, NULL },
	};
	static const char *const words[] = { "'killed'", "'timed_out'" };

	FIXTURE_START(NULL, rows);
	for (size_t i = 0; i < 2; i++) {
		cr_expect(eq(int, run().err, ERR_IO));
		cr_expect(strstr(fixture()->e.text, words[i]) != NULL, "%s", fixture()->e.text);
	}
	canned_stop(&fixture()->server);
	/* The sessions' places are free again. */
	cr_expect(eq(u64, take_places(), SESSIONS_MAX));
}

Test(bash, who_waits_for_a_session_can_be_interrupted)
{
	struct cancel cancel;
	const struct call call = { .cancel = &cancel };

	fixture_start_rows(NULL, NULL, 0);
	cr_assert(eq(int, cancel_init(&cancel, NULL), ERR_OK));
	cr_expect(eq(u64, take_places(), SESSIONS_MAX));
	cancel_throw(&cancel);
	cr_expect(eq(int, run_by(&call, 0, NULL).err, ERR_INTERRUPTED), "%s", fixture()->e.text);
	canned_stop(&fixture()->server);
	cancel_release(&cancel);
}

Test(bash, what_may_have_run_is_not_sent_again)
{
	static const struct canned_row rows[] = { { EXEC, 0, NULL, NULL } };

	FIXTURE_START(NULL, rows);
	cr_expect(eq(int, run().err, ERR_UNREACHABLE), "%s", fixture()->e.text);
	canned_stop(&fixture()->server);
}

Test(bash, what_changes_nothing_is_sent_again)
{
	static const struct canned_row rows[] = { { EXEC, 0, NULL, NULL },
		{ EXEC, 502, "<html>", NULL }, { EXEC, 200, DONE("s1"), NULL } };
	struct ran ran;

	FIXTURE_START(NULL, rows);
	ran = run_with(RUN_REPEATABLE, NULL);
	canned_stop(&fixture()->server);
	expect_good(&ran, "out");
}

/*
 * A program that waits for a file must be ended when the file does not come. Only its session can
 * end it, so the session has to be known.
 */
Test(bash, a_file_that_could_not_be_stored_ends_the_program_that_waits)
{
	static const struct canned_row rows[] = {
		{ MAKE, 200, "{\"success\":true,\"data\":{\"session_id\":\"s1\"}}", NULL },
		{ EXEC, 200, SAYS("s1", "running", "null", ""), NULL },
		{ UPLOAD, 200, "{\"success\":false,\"message\":\"gone\",\"data\":{\"errno\":2}}",
			NULL },
		{ CLOSE "s1/close ", 200, GOOD, NULL },
	};
	const struct remote_upload upload = { .path = "/h/.sandboxfs/r", .bytes = "x", .len = 1 };
	struct ran ran;

	FIXTURE_START(NULL, rows);
	ran = run_with(0, &upload);
	canned_stop(&fixture()->server);
	cr_expect(eq(int, ran.err, ERR_NOT_FOUND), "%s", fixture()->e.text);
	cr_expect(fixture_has(1, "\"session_id\": \"s1\""));
	cr_expect(fixture_has(2, "name=\"file\""));
	cr_expect(fixture_has(2, "name=\"path\"\r\n\r\n/h/.sandboxfs/r\r\n"));
}

Test(bash, a_text_that_is_too_long_for_one_argument_is_not_sent)
{
	AUTO_FREE char *word = calloc(1, 140001);
	const char *const argv[] = { "true", memset(word, 'x', 140000), NULL };
	int exit_code;

	fixture_start_rows(NULL, NULL, 0);
	cr_expect(ne(int,
		aio_run(&fixture()->sandbox, NULL, argv, 0, NULL, receive, NULL, &exit_code, NULL),
		ERR_OK));
	canned_stop(&fixture()->server);
}
