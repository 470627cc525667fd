#include "tests/e2b/envd_fixture.h"

#include "providers/base/cleanup.h"
#include "providers/e2b/envd_process.h"
#include "providers/gzip.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

/* The deadline of what is to miss one: so much longer than a process of a busy machine stands still. */
#define HASTY_MS 15000

static struct envd_fixture f;
static struct buf words = BUF_INIT(1 << 24), answer = BUF_INIT(1 << 24), post = BUF_INIT(4096);
static struct buf out = BUF_INIT(1 << 24), err = BUF_INIT(1 << 24);
static struct envd_outcome outcome;
static uint32_t started_pid;
static int starts;
static struct cancel cancel;
static bool cancels_at_start;
static int started_fd; /* an eventfd; each start adds 1 */
static int start_takes_ms;

static void tear_down(void)
{
	envd_fixture_release(&f);
	buf_release(&words);
	buf_release(&answer);
	buf_release(&post);
	buf_release(&out);
	buf_release(&err);
}

TestSuite(envd_run, .fini = tear_down, .timeout = 300);

static enum err receive(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context;
	cr_expect(ne(u32, started_pid, 0), "output before the start");
	buf_add(stream == STREAM_OUT ? &out : &err, bytes, len);
	return buf_check(&out, "what was heard", e);
}

static void note_start(void *context, uint32_t pid)
{
	(void)context;
	started_pid = pid;
	starts++;
	poll(NULL, 0, start_takes_ms);
	if (started_fd)
		eventfd_write(started_fd, 1);
	if (cancels_at_start)
		cancel_throw(&cancel);
}

static const char *const argv[] = { "/bin/sh", "-c", "echo", NULL };
static struct envd_command command = { .argv = argv };

static enum err run_within(int64_t progress_ms)
{
	const struct call call = { .progress_ms = progress_ms };

	return envd_run(f.envd, &call, &command, note_start, receive, NULL, &outcome, &f.e);
}

static enum err run(void)
{
	return run_within(60000);
}

static void serve(const struct buf *bytes)
{
	envd_fixture_make(&f, "me", &(struct envd_row){ .want = START, .answer = bytes }, 1);
}

/* Sends `words`, with status 200, as the only answer. */
static void given_words(void)
{
	put_answer(&answer, 200, IS_PROTO_STREAM, words.bytes, words.len);
	serve(&answer);
}

/* ---- Requests ---- */

Test(envd_run, asks_for_what_the_daemon_must_know_and_for_nothing_that_ends_the_command)
{
	/* process { cmd, args, cwd } stdin: false, which must not be left out */
	static const char want[] = "\x00\x00\x00\x00\x1e"
				   "\x0a\x1a\x0a\x07/bin/sh\x12\x02-c\x12\x04"
				   "echo\x22\x05/home\x20\x00";
	size_t len;
	const char *body;

	command.cwd = "/home";
	say_started(&words, 7);
	say_ended(&words, 0, "exit status 0", NULL);
	say_end_of_stream(&words, "{}");
	given_words();
	cr_assert(eq(int, run_within(20000), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(&f, 0, "\r\nContent-Type: application/connect+proto\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nConnect-Protocol-Version: 1\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nKeepalive-Ping-Interval: 6\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nAuthorization: Basic bWU6\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nX-Access-Token: " TEST_TOKEN "\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nE2b-Sandbox-Id: i1\r\n"));
	cr_expect(not(envd_fixture_asked(&f, 0, "connect-timeout-ms")));
	cr_expect(not(envd_fixture_asked(&f, 0, "encoding")));
	body = envd_fixture_body(&f, 0, &len);
	cr_assert(eq(sz, len, sizeof want - 1));
	cr_expect(eq(int, memcmp(body, want, len), 0));
}

Test(envd_run, a_long_request_is_compressed_and_answers_may_be)
{
	AUTO_FREE char *text = malloc(100001);
	const char *const long_argv[] = { "echo", text, NULL };
	AUTO_BUF struct buf message = BUF_INIT(1 << 20), packed = BUF_INIT(1 << 20);
	size_t len;
	const char *body;

	memset(text, 'a', 100000);
	text[100000] = 0;
	command.argv = long_argv;
	command.flags = RUN_COMPRESSES;
	say_started(&words, 7);
	put_bytes(&message, 1, "\x12\x04\x0a\x02hi", 6); /* event { data { stdout } } */
	gzip_deflate(&packed, message.bytes, message.len);
	say(&words, 1, packed.bytes, packed.len);
	say_ended(&words, 0, NULL, NULL);
	say_end_of_stream(&words, "{}");
	put_answer(&answer, 200, IS_PROTO_STREAM "Connect-Content-Encoding: gzip\r\n", words.bytes,
		words.len);
	serve(&answer);
	cr_assert(eq(int, run(), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(eq(str, (char *)buf_text(&out), "hi"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nConnect-Accept-Encoding: gzip\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nConnect-Content-Encoding: gzip\r\n"));
	body = envd_fixture_body(&f, 0, &len);
	cr_expect(eq(chr, body[0], 1));
	cr_expect(len < 2000);
	buf_reset(&packed);
	cr_assert(eq(int, gzip_inflate(&packed, body + 5, len - 5, NULL), ERR_OK));
	cr_expect(packed.len > 100000);
}

Test(envd_run, a_command_whose_answer_alone_packs_travels_as_it_is)
{
	command.flags = RUN_PACKED_ANSWER;
	say_ended(&words, 0, NULL, NULL);
	say_end_of_stream(&words, "{}");
	given_words();
	cr_assert(eq(int, run(), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(&f, 0, "\r\nConnect-Accept-Encoding: gzip\r\n"));
	cr_expect(not(envd_fixture_asked(&f, 0, "Connect-Content-Encoding")));
}

/* The daemon would compress its answers, too. */
Test(envd_run, a_command_whose_answers_do_not_pack_is_not_compressed)
{
	AUTO_FREE char *text = malloc(100001);
	const char *const long_argv[] = { "echo", text, NULL };
	size_t len;

	memset(text, 'a', 100000);
	text[100000] = 0;
	command.argv = long_argv;
	command.flags = RUN_PLAIN;
	say_ended(&words, 0, NULL, NULL);
	say_end_of_stream(&words, "{}");
	given_words();
	cr_assert(eq(int, run(), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(not(envd_fixture_asked(&f, 0, "ncoding: gzip")));
	envd_fixture_body(&f, 0, &len);
	cr_expect(len > 100000);
}

Test(envd_run, what_cannot_travel_is_refused_before_anything_is_sent)
{
	AUTO_FREE char *text = calloc(1, ENVD_ARGUMENT_MAX + 2);
	const char *const fits[] = { "echo", text, NULL };
	const char *const odd[] = { "echo", "\xff", NULL };
	const char *const none[] = { NULL };
	const struct {
		struct envd_command command;
		enum err kind;
	} rows[] = {
		{ { .argv = fits }, ERR_TOO_LARGE },
		{ { .argv = odd }, ERR_INVALID },
		{ { .argv = none }, ERR_INVALID },
		{ { .argv = argv, .cwd = "/\xff" }, ERR_INVALID },
	};

	memset(text, 'a', ENVD_ARGUMENT_MAX + 1);
	envd_fixture_make(&f, NULL, NULL, 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		command = rows[i].command;
		cr_expect(eq(int, run(), rows[i].kind), "row %zu: %s", i, f.e.text);
		cr_expect(not(outcome.may_have_run));
	}
	envd_fixture_stop(&f);
	text[ENVD_ARGUMENT_MAX] = 0;
	command = rows[0].command;
	cr_expect(eq(int, envd_start_request(&words, &command, NULL), ERR_OK));
}

/* ---- Answers ---- */

/* A good stream with every trap at once, in chunks of one byte. */
Test(envd_run, hears_a_command_whatever_the_chunks_and_skips_what_it_does_not_know)
{
	say_started(&words, 10656);
	say_output(&words, SAY_OUT, "a\0b", 3);
	say_keepalive(&words);
	say_output(&words, SAY_ERR, "oops", 4);
	say_output(&words, 3, "of a terminal", 13);
	say(&words, 0, "\x0a\x04\x4a\x02\x08\x01", 6); /* event { 9: {} } */
	say(&words, 0, "\x7a\x01x", 3);                /* 15: "x" */
	say(&words, 0, "", 0);
	say_output(&words, SAY_OUT, "c", 1);
	say_ended(&words, 3, "exit status 3", "exit status 3");
	say_end_of_stream(&words, "{}");
	put_chunked(&answer, IS_PROTO_STREAM, &words, true);
	envd_fixture_make(&f, NULL,
		&(struct envd_row){ .want = START, .answer = &answer, .by_bytes = true }, 1);
	cr_assert(eq(int, run(), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(not(envd_fixture_asked(&f, 0, "authorization")));
	cr_expect(eq(u32, started_pid, 10656));
	cr_expect(eq(u32, outcome.pid, 10656));
	cr_expect(eq(sz, out.len, 4));
	cr_expect(eq(int, memcmp(out.bytes, "a\0bc", 4), 0));
	cr_expect(eq(str, (char *)buf_text(&err), "oops"));
	cr_expect(outcome.has_exit_code);
	cr_expect(eq(int, outcome.exit_code, 3));
}

Test(envd_run, a_missing_program_is_exit_status_127)
{
	say_started(&words, 7);
	say_output(&words, SAY_ERR, "sh: 1: nope: not found\n", 23);
	say_ended(&words, 127, "exit status 127", "exit status 127");
	say_end_of_stream(&words, "{}");
	given_words();
	cr_assert(eq(int, run(), ERR_OK), "%s", f.e.text);
	cr_expect(eq(int, outcome.exit_code, 127));
}

Test(envd_run, a_signal_is_128_and_its_number)
{
	say_started(&words, 7);
	say_ended(&words, -1, "signal: killed", "signal: killed");
	say_end_of_stream(&words, "{}");
	given_words();
	cr_assert(eq(int, run(), ERR_OK), "%s", f.e.text);
	cr_expect(outcome.has_exit_code);
	cr_expect(eq(int, outcome.exit_code, 128 + SIGKILL));
}

Test(envd_run, a_signal_may_be_named_by_the_error_alone)
{
	say_started(&words, 7);
	say_ended(&words, -1, NULL, "signal: terminated");
	say_end_of_stream(&words, "{}");
	given_words();
	cr_assert(eq(int, run(), ERR_OK), "%s", f.e.text);
	cr_expect(eq(int, outcome.exit_code, 128 + SIGTERM));
}

Test(envd_run, every_word_for_a_signal_has_its_number)
{
	static const struct {
		const char *status;
		int number;
	} rows[] = {
		{ "signal: killed", SIGKILL },
		{ "signal: segmentation fault (core dumped)", SIGSEGV },
		{ "signal: hangup", SIGHUP },
		{ "signal: trace/breakpoint trap", SIGTRAP },
		{ "signal: signal 31", 31 },
		{ "signal: signal 99999", 0 },
		{ "signal: killed off", 0 },
		{ "exit status 1", 0 },
		{ "", 0 },
		{ NULL, 0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(int, envd_signal_of(rows[i].status), rows[i].number), "row %zu", i);
}

/* ---- Faults ---- */

Test(envd_run, an_error_in_the_end_frame_of_a_200_is_an_error)
{
	say_end_of_stream(&words,
		"{\"error\":{\"code\":\"invalid_argument\",\"message\":\"cwd "
		"'/nonexistent' does not exist\"}}");
	given_words();
	cr_expect(eq(int, run(), ERR_INVALID));
	cr_expect(ne(ptr, strstr(f.e.text, "cwd '/nonexistent' does not exist"), NULL));
	cr_expect(not(outcome.may_have_run));
}

Test(envd_run, a_deadline_of_the_daemon_after_the_start_is_an_error_and_it_ran)
{
	say_started(&words, 7);
	say_end_of_stream(&words, "{\"error\":{\"code\":\"deadline_exceeded\"}}");
	given_words();
	cr_expect(eq(int, run(), ERR_TIMEOUT));
	cr_expect(outcome.may_have_run);
	cr_expect(not(outcome.has_exit_code));
}

/* The link breaks between the last envelope and HTTP's own end. */
Test(envd_run, a_whole_answer_does_not_wait_for_the_end_of_http)
{
	static const struct call patient = { .progress_ms = 100000 };
	int64_t begun_ms = monotonic_ms();

	say_started(&words, 7);
	say_ended(&words, 0, "exit status 0", NULL);
	say_end_of_stream(&words, "{}");
	put_chunked(&answer, IS_PROTO_STREAM, &words, false);
	envd_fixture_make(&f, NULL,
		&(struct envd_row){ .want = START, .answer = &answer, .is_held = true }, 1);
	cr_expect(eq(int,
			  envd_run(f.envd, &patient, &command, note_start, receive, NULL, &outcome,
				  &f.e),
			  ERR_OK),
		"%s", f.e.text);
	cr_expect(outcome.has_exit_code);
	/* The server holds the connection for a minute. */
	cr_expect(lt(i64, monotonic_ms() - begun_ms, 30000));
}

Test(envd_run, a_stream_without_its_end_frame_was_cut_off)
{
	say_started(&words, 7);
	say_output(&words, SAY_OUT, "half", 4);
	given_words();
	cr_expect(eq(int, run(), ERR_UNREACHABLE));
	cr_expect(outcome.may_have_run);
	cr_expect(eq(u32, outcome.pid, 7));
	cr_expect(eq(str, (char *)buf_text(&out), "half"));
}

Test(envd_run, the_exit_status_is_known_even_when_the_end_frame_is_missing)
{
	say_started(&words, 7);
	say_ended(&words, 5, "exit status 5", NULL);
	put_chunked(&answer, IS_PROTO_STREAM, &words, false);
	serve(&answer);
	cr_expect(eq(int, run(), ERR_UNREACHABLE));
	cr_expect(outcome.has_exit_code);
	cr_expect(eq(int, outcome.exit_code, 5));
}

Test(envd_run, an_end_without_an_exit_status_makes_no_sense)
{
	say_started(&words, 7);
	say_end_of_stream(&words, "{}");
	given_words();
	cr_expect(eq(int, run(), ERR_PROTOCOL));
	cr_expect(outcome.may_have_run);
}

/* Go reports -1 for a process that did not exit; there is no signal in the event. */
Test(envd_run, an_end_by_nobody_knows_what_makes_no_sense)
{
	say_started(&words, 7);
	say_ended(&words, -1, NULL, NULL);
	say_end_of_stream(&words, "{}");
	given_words();
	cr_expect(eq(int, run(), ERR_PROTOCOL));
	cr_expect(not(outcome.has_exit_code));
}

Test(envd_run, a_connection_that_closes_without_an_answer_may_have_run_it)
{
	serve(NULL);
	cr_expect(eq(int, run(), ERR_UNREACHABLE));
	cr_expect(outcome.may_have_run);
	envd_fixture_stop(&f);
}

Test(envd_run, refusals_have_their_kinds_and_did_not_run)
{
	static const struct {
		int status;
		const char *body;
		enum err kind;
		bool may_have_run;
	} rows[] = {
		{ 401, "{\"code\":401,\"message\":\"unauthorized access\"}", ERR_AUTH, false },
		{ 502,
			"{\"sandboxId\":\"i1\",\"message\":\"The sandbox was not "
			"found\",\"code\":502}",
			ERR_GONE, false },
		{ 502,
			"{\"sandboxId\":\"i1\",\"message\":\"The sandbox is running but port is "
			"not open\",\"code\":502}",
			ERR_GONE, true },
		{ 404, "{\"code\":\"unimplemented\",\"message\":\"no such procedure\"}",
			ERR_UNSUPPORTED, false },
		{ 404, "404 page not found\n", ERR_UNREACHABLE, true },
		{ 400, "{\"code\":400,\"message\":\"bad request\"}", ERR_UNREACHABLE, true },
		{ 415, "", ERR_UNREACHABLE, true },
		{ 502, "<html>Bad Gateway</html>", ERR_UNREACHABLE, true },
		{ 200, "<html>", ERR_UNREACHABLE, true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_reset(&answer);
		put_answer(&answer, rows[i].status, IS_JSON, rows[i].body, strlen(rows[i].body));
		serve(&answer);
		cr_expect(eq(int, run(), rows[i].kind), "row %zu: %s", i, f.e.text);
		cr_expect(eq(int, outcome.may_have_run, rows[i].may_have_run), "row %zu", i);
		cr_expect(eq(ptr, strstr(f.e.text, TEST_TOKEN), NULL));
		envd_fixture_stop(&f);
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}

/* The request is refused with `status` `times` times, before the command began; then it runs. */
static void expect_another_try(int status, size_t times)
{
	struct envd_row rows[ENVD_ROWS_MAX];

	AUTO_BUF struct buf said = BUF_INIT(128);

	buf_printf(&said, "{\"code\":%d,\"message\":\"not now\"}", status);
	put_answer(&answer, status, IS_JSON "Retry-After: 0\r\n", said.bytes, said.len);
	say_started(&words, 7);
	say_ended(&words, 0, NULL, NULL);
	say_end_of_stream(&words, "{}");
	put_answer(&post, 200, IS_PROTO_STREAM, words.bytes, words.len);
	for (size_t i = 0; i <= times; i++)
		rows[i] = (struct envd_row){ .want = START, .answer = i < times ? &answer : &post };
	envd_fixture_make(&f, NULL, rows, times + 1);
	cr_expect(eq(int, run(), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
}

static void expect_no_token(enum err want)
{
	cr_expect(eq(int, run(), (int)want), "%s", f.e.text);
	cr_expect(ne(ptr, strstr(f.e.text, "not for **********"), NULL), "%s", f.e.text);
	cr_expect(eq(ptr, strstr(f.e.text, TEST_TOKEN), NULL), "%s", f.e.text);
}

Test(envd_run, a_refusal_does_not_say_the_token_back)
{
	static const char said[] =
		"{\"code\":\"invalid_argument\",\"message\":\"not for " TEST_TOKEN "\"}";

	put_answer(&answer, 400, IS_JSON, said, strlen(said));
	serve(&answer);
	expect_no_token(ERR_INVALID);
}

Test(envd_run, the_end_of_a_stream_does_not_say_the_token_back)
{
	say_started(&words, 7);
	say_end_of_stream(&words,
		"{\"error\":{\"code\":\"invalid_argument\",\"message\":\"not for " TEST_TOKEN
		"\"}}");
	given_words();
	expect_no_token(ERR_INVALID);
}

/* Basic's user ends at the first colon: this one would be root. */
Test(envd_run, a_user_whose_name_has_a_colon_is_refused)
{
	const struct envd_address address = {
		.base_url = "http://127.0.0.1:1", .sandbox_id = "i1", .user = "root:x"
	};
	struct envd *d = NULL;

	cr_expect(eq(int, envd_new(&d, NULL, &address, &f.e), ERR_INVALID));
	cr_expect(eq(ptr, d, NULL));
}

Test(envd_run, too_many_requests_are_tried_again)
{
	expect_another_try(429, 1);
}

/* The status 409 comes more often than a passing fault may. */
Test(envd_run, a_sandbox_in_between_states_is_waited_for)
{
	expect_another_try(409, 5);
}

/* The pause that the daemon asks for is longer than the deadline. */
Test(envd_run, a_sandbox_that_stays_in_between_is_busy_and_nothing_ran)
{
	static const char said[] = "{\"code\":409,\"message\":\"still transitioning\"}";

	put_answer(&answer, 409, IS_JSON "Retry-After: 600\r\n", said, strlen(said));
	serve(&answer);
	cr_expect(eq(int, run(), ERR_BUSY));
	cr_expect(not(outcome.may_have_run));
	envd_fixture_stop(&f);
}

/* ---- Reconnecting ---- */

/* A stream that breaks `times` times after its start event, and then goes well. */
static void given_breaks(struct buf *broken, int times, bool has_output)
{
	struct envd_row rows[ENVD_ROWS_MAX];

	started_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	say_started(&words, 7);
	if (has_output)
		say_output(&words, SAY_OUT, "x", 1);
	put_chunked(broken, IS_PROTO_STREAM, &words, false);
	say_output(&words, SAY_OUT, "ok", 2);
	say_ended(&words, 0, NULL, NULL);
	say_end_of_stream(&words, "{}");
	put_answer(&answer, 200, IS_PROTO_STREAM, words.bytes, words.len);
	for (int i = 0; i < times; i++)
		rows[i] =
			(struct envd_row){ .want = START, .answer = broken, .gate_fd = started_fd };
	rows[times] = (struct envd_row){ .want = START, .answer = &answer };
	envd_fixture_make(&f, NULL, rows, (size_t)times + 1);
}

Test(envd_run, what_changes_nothing_is_repeated_twice_when_the_stream_breaks_early)
{
	AUTO_BUF struct buf broken = BUF_INIT(4096);

	command.flags = RUN_REPEATABLE;
	given_breaks(&broken, 2, false);
	cr_expect(eq(int, run(), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(eq(str, (char *)buf_text(&out), "ok"));
	cr_expect(eq(int, starts, 3));
}

Test(envd_run, what_changes_nothing_is_not_repeated_more_often)
{
	AUTO_BUF struct buf broken = BUF_INIT(4096);

	command.flags = RUN_REPEATABLE;
	given_breaks(&broken, 3, false);
	cr_expect(eq(int, run(), ERR_UNREACHABLE));
	cr_expect(eq(int, starts, 3));
}

Test(envd_run, repetitions_begin_within_one_deadline)
{
	static const struct call hasty = { .progress_ms = HASTY_MS };
	AUTO_BUF struct buf broken = BUF_INIT(4096);

	command.flags = RUN_REPEATABLE;
	start_takes_ms = HASTY_MS + 100;
	given_breaks(&broken, 2, false);
	cr_expect(eq(int,
		envd_run(f.envd, &hasty, &command, note_start, receive, NULL, &outcome, &f.e),
		ERR_UNREACHABLE));
	cr_expect(eq(int, starts, 2));
}

Test(envd_run, what_may_change_something_is_never_repeated)
{
	AUTO_BUF struct buf broken = BUF_INIT(4096);

	given_breaks(&broken, 1, false);
	cr_expect(eq(int, run(), ERR_UNREACHABLE));
	cr_expect(eq(int, starts, 1));
}

Test(envd_run, nothing_is_repeated_once_output_was_passed_on)
{
	AUTO_BUF struct buf broken = BUF_INIT(4096);

	command.flags = RUN_REPEATABLE;
	given_breaks(&broken, 1, true);
	cr_expect(eq(int, run(), ERR_UNREACHABLE));
	cr_expect(eq(int, starts, 1));
	cr_expect(eq(str, (char *)buf_text(&out), "x"));
}

/* ---- Giving up ---- */

Test(envd_run, a_cancelled_command_is_let_go_and_its_number_known)
{
	const struct call call = { .progress_ms = 60000, .cancel = &cancel };

	cr_assert(eq(int, cancel_init(&cancel, &f.e), ERR_OK));
	cancels_at_start = true;
	say_started(&words, 7);
	put_chunked(&answer, IS_PROTO_STREAM, &words, false);
	envd_fixture_make(&f, NULL,
		&(struct envd_row){ .want = START, .answer = &answer, .is_held = true }, 1);
	cr_expect(eq(int,
		envd_run(f.envd, &call, &command, note_start, receive, NULL, &outcome, &f.e),
		ERR_INTERRUPTED));
	cr_expect(eq(u32, outcome.pid, 7));
	cr_expect(outcome.may_have_run);
	cancel_release(&cancel);
}

static enum err refuse(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len;
	return error_set(e, ERR_NO_MEMORY, "the sink is full");
}

Test(envd_run, a_sink_that_refuses_ends_the_stream_with_its_own_error)
{
	say_started(&words, 7);
	say_output(&words, SAY_OUT, "x", 1);
	put_chunked(&answer, IS_PROTO_STREAM, &words, false);
	envd_fixture_make(&f, NULL,
		&(struct envd_row){ .want = START, .answer = &answer, .is_held = true }, 1);
	cr_expect(eq(int, envd_run(f.envd, NULL, &command, NULL, refuse, NULL, &outcome, &f.e),
		ERR_NO_MEMORY));
	cr_expect(eq(str, f.e.text, "the sink is full"));
}

Test(envd_run, silence_beyond_the_keepalive_is_a_timeout)
{
	static const struct call hasty = { .progress_ms = HASTY_MS };

	say_started(&words, 7);
	put_chunked(&answer, IS_PROTO_STREAM, &words, false);
	envd_fixture_make(&f, NULL,
		&(struct envd_row){ .want = START, .answer = &answer, .is_held = true }, 1);
	cr_expect(eq(int,
		envd_run(f.envd, &hasty, &command, note_start, receive, NULL, &outcome, &f.e),
		ERR_TIMEOUT));
	cr_expect(outcome.may_have_run);
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(&f, 0, "\r\nKeepalive-Ping-Interval: 5\r\n"));
}

/* ---- With an upload ---- */

static const struct remote_upload upload = { .path = "/s/u", .bytes = "contents", .len = 8 };

Test(envd_run, an_upload_and_its_command_are_on_their_way_at_once)
{
	/* Each of the two requests is answered when the other has come. */
	struct envd_row rows[2] = {
		{ .want = "POST /files?path=/s/u", .answer = &post, .after = START },
		{ .want = START, .answer = &answer, .after = "POST /files" }
	};
	size_t len;

	command.upload = &upload;
	put_answer(&post, 200, "Content-Type: text/plain\r\n", "[]", 2);
	say_started(&words, 7);
	say_output(&words, SAY_OUT, "got it", 6);
	say_ended(&words, 0, NULL, NULL);
	say_end_of_stream(&words, "{}");
	put_answer(&answer, 200, IS_PROTO_STREAM, words.bytes, words.len);
	envd_fixture_make(&f, NULL, rows, 2);
	cr_assert(eq(int, run(), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(eq(str, (char *)buf_text(&out), "got it"));
	cr_expect(eq(int, memcmp(envd_fixture_body(&f, 0, &len), "contents", 8), 0));
}

Test(envd_run, an_upload_that_fails_is_the_error_and_lets_the_command_go)
{
	static const char full[] = "{\"code\":507,\"message\":\"not enough disk space available\"}";
	struct envd_row rows[2] = { { .want = "POST /files", .answer = &post, .after = START },
		{ .want = START, .answer = &answer, .is_held = true } };

	command.upload = &upload;
	put_answer(&post, 507, IS_JSON, full, strlen(full));
	say_started(&words, 7);
	put_chunked(&answer, IS_PROTO_STREAM, &words, false);
	envd_fixture_make(&f, NULL, rows, 2);
	cr_expect(eq(int, run(), ERR_NO_SPACE), "%s", f.e.text);
	cr_expect(outcome.may_have_run);
	envd_fixture_stop(&f);
}

Test(envd_run, a_command_that_is_refused_ends_its_upload)
{
	struct envd_row rows[2] = { { .want = "POST /files", .answer = &post, .is_held = true },
		{ .want = START, .answer = &answer, .after = "POST /files" } };

	command.upload = &upload;
	say_end_of_stream(&words, "{\"error\":{\"code\":\"not_found\",\"message\":\"m\"}}");
	put_answer(&answer, 200, IS_PROTO_STREAM, words.bytes, words.len);
	envd_fixture_make(&f, NULL, rows, 2);
	cr_expect(eq(int, run(), ERR_NOT_FOUND), "%s", f.e.text);
	cr_expect(not(outcome.may_have_run));
	envd_fixture_stop(&f);
}

Test(envd_run, an_upload_that_does_not_move_is_a_timeout_whatever_the_command_says)
{
	static const struct call hasty = { .progress_ms = HASTY_MS };
	struct envd_row rows[2] = { { .want = "POST /files", .answer = &post, .is_held = true },
		{ .want = START, .answer = &answer, .is_held = true } };

	command.upload = &upload;
	say_started(&words, 7);
	put_chunked(&answer, IS_PROTO_STREAM, &words, false);
	envd_fixture_make(&f, NULL, rows, 2);
	cr_expect(eq(int,
		envd_run(f.envd, &hasty, &command, note_start, receive, NULL, &outcome, &f.e),
		ERR_TIMEOUT));
	cr_expect(eq(u32, outcome.pid, 7));
}

/* ---- Ending one ---- */

Test(envd_run, a_signal_goes_to_one_process)
{
	size_t len;

	put_answer(&answer, 200, IS_PROTO, "", 0);
	envd_fixture_make(&f, NULL,
		&(struct envd_row){
			.want = "POST /process.Process/SendSignal ", .answer = &answer },
		1);
	cr_assert(eq(int, envd_kill(f.envd, NULL, 1899, &f.e), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(&f, 0, "\r\nContent-Type: application/proto\r\n"));
	/* process { pid: 1899 } signal: 9 */
	cr_expect(eq(
		int, memcmp(envd_fixture_body(&f, 0, &len), "\x0a\x03\x08\xeb\x0e\x10\x09", 7), 0));
	cr_expect(eq(sz, len, 7));
}

Test(envd_run, a_signal_is_sent_once_and_a_process_that_has_ended_needs_none)
{
	static const struct {
		int status;
		const char *body;
		enum err kind;
	} rows[] = {
		{ 404, "{\"code\":\"not_found\",\"message\":\"process with pid 7 not found\"}",
			ERR_OK },
		{ 500,
			"{\"code\":\"internal\",\"message\":\"error sending signal: os: process "
			"already finished\"}",
			ERR_OK },
		{ 500,
			"{\"code\":\"internal\",\"message\":\"error sending signal: operation "
			"not permitted\"}",
			ERR_NOT_OWNER },
		{ 404, "{\"code\":\"unimplemented\",\"message\":\"m\"}", ERR_UNSUPPORTED },
		{ 401, "{\"code\":401,\"message\":\"unauthorized access\"}", ERR_AUTH },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_reset(&answer);
		put_answer(&answer, rows[i].status, IS_JSON, rows[i].body, strlen(rows[i].body));
		envd_fixture_make(
			&f, NULL, &(struct envd_row){ .want = "POST ", .answer = &answer }, 1);
		cr_expect(eq(int, envd_kill(f.envd, NULL, 7, &f.e), rows[i].kind), "row %zu: %s", i,
			f.e.text);
		envd_fixture_stop(&f);
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}
