/*
 * How calls end, on Modal's wire: which are repeated, which are renewed, which go on where they
 * were.
 */
#include "providers/base/cleanup.h"
#include "providers/modal/modal.h"
#include "tests/modal/modal_server.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct modal_server server;

static void set_up(void)
{
	modal_server_start(&server);
	modal_server_attach(&server);
	modal_server_reset(&server);
}

static void tear_down(void)
{
	modal_server_stop(&server);
}

TestSuite(modal_calls, .init = set_up, .fini = tear_down, .timeout = 300);

static enum err info(struct error *e)
{
	struct sandbox_info ignored;

	return provider_info(server.p, NULL, &ignored, e);
}

static void expect_said(const char *command, const char *want)
{
	AUTO_FREE char *said = modal_server_run(&server, command);

	cr_expect(eq(str, said, (char *)want));
}

static enum err ignore(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item, (void)e;
	return ERR_OK;
}

static enum err list_within(const struct call *call, struct error *e)
{
	const char *const starts[] = { "" };
	const struct list_request request = { .starts = starts, .starts_count = 1, .depth = 1 };

	return provider_list(server.p, call, &request, ignore, NULL, e);
}

static enum err list(struct error *e)
{
	return list_within(NULL, e);
}

/* ---- Statuses ---- */

Test(modal_calls, what_is_unavailable_is_asked_again)
{
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2", "{\"type\":\"grpc_status\",\"status\":14}", 3);
	cr_expect(eq(int, info(&e), ERR_OK), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "SandboxWaitV2"), 4));
}

Test(modal_calls, what_is_unavailable_is_not_asked_for_ever)
{
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2",
		"{\"type\":\"grpc_status\",\"status\":14,\"message\":\"too%20 busy\"}", 0);
	cr_expect(eq(int, info(&e), ERR_UNREACHABLE), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "SandboxWaitV2"), 4));
	cr_expect(ne(ptr, strstr(e.text, "too%20 busy"), NULL), "%s", e.text);
}

Test(modal_calls, the_servers_wish_for_another_time_costs_no_retry)
{
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2",
		"{\"type\":\"grpc_status\",\"status\":8,\"retry_after\":0.05}", 6);
	cr_expect(eq(int, info(&e), ERR_OK), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "SandboxWaitV2"), 7));
}

Test(modal_calls, without_it_what_is_exhausted_is_a_rate_limit_and_asked_again)
{
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2", "{\"type\":\"grpc_status\",\"status\":8}", 1);
	cr_expect(eq(int, info(&e), ERR_OK), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "SandboxWaitV2"), 2));
}

Test(modal_calls, a_credential_that_is_not_accepted_is_final_and_named)
{
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2", "{\"type\":\"grpc_status\",\"status\":16}", 1);
	cr_expect(eq(int, info(&e), ERR_AUTH), "%s", e.text);
	cr_expect(ne(ptr, strstr(e.text, "MODAL_TOKEN_ID"), NULL), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "SandboxWaitV2"), 1));
}

/* How often the log has this text. */
static int times_logged(int log, const char *text)
{
	char said[20000] = "";
	int times = 0;

	cr_assert(ge(int, (int)pread(log, said, sizeof said - 1, 0), 0));
	for (const char *at = said; (at = strstr(at, text)); at++)
		times++;
	return times;
}

Test(modal_calls, a_warning_of_the_servers_is_shown_once_and_sends_no_escape)
{
	AUTO_CLOSE int log = memfd_create("log", MFD_CLOEXEC);
	AUTO_CLOSE int before = dup(STDERR_FILENO);
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2",
		"{\"type\":\"trailer\",\"name\":\"x-modal-warning\","
		"\"value\":\"Too%20old%1B%5B31m%2C%20they%20say, another\"}",
		2);
	dup2(log, STDERR_FILENO);
	info(&e);
	info(&e);
	dup2(before, STDERR_FILENO);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "SandboxWaitV2"), 2));
	cr_expect(eq(int, times_logged(log, "Too old?[31m, they say\n"), 1));
	cr_expect(eq(int, times_logged(log, "another"), 1));
}

Test(modal_calls, an_http_status_without_grpcs_own_is_somebody_elses)
{
	static const char *const actions[] = {
		"{\"type\":\"status\",\"status\":401,\"body\":\"no\"}",
		"{\"type\":\"status\",\"status\":404,\"body\":\"no\"}",
		"{\"type\":\"status\",\"status\":200,\"body\":\"<html>Sign in</html>\"}"
	};

	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		struct error e = { 0 };

		modal_server_fault(&server, "SandboxWaitV2", actions[i], 1);
		cr_expect(eq(int, info(&e), ERR_OK), "%s", e.text);
		modal_server_fault(&server, "SandboxWaitV2", actions[i], 0);
		cr_expect(eq(int, info(&e), ERR_UNREACHABLE), "%s", e.text);
		cr_expect(strstr(e.text, "is no answer of the service's") != NULL, "%s", e.text);
		modal_server_mend(&server);
	}
}

/* A break of the link would be answered by another request. */
Test(modal_calls, a_status_counts_also_when_the_stream_is_reset_behind_it)
{
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2",
		"{\"type\":\"grpc_reset\",\"status\":3,\"message\":\"used up\"}", 1);
	cr_expect(eq(int, info(&e), ERR_INVALID), "%s", e.text);
	cr_expect(ne(ptr, strstr(e.text, "used up"), NULL), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "SandboxWaitV2"), 1));
}

Test(modal_calls, what_a_worker_does_not_know_is_no_missing_file)
{
	struct error e = { 0 };

	modal_server_fault(&server, "TaskExecStart",
		"{\"type\":\"grpc_status\",\"status\":5,\"message\":\"no task\"}", 0);
	cr_expect(eq(int, list(&e), ERR_UNREACHABLE));
	cr_expect(ne(ptr, strstr(e.text, "no task"), NULL), "%s", e.text);
	modal_server_mend(&server);
	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
}

Test(modal_calls, a_server_that_was_asked_has_a_deadline_whoever_asks)
{
	const struct call endless = { .progress_ms = -1 };
	struct sandbox_info ignored;
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2", "{\"type\":\"stall\"}", 1);
	cr_expect(eq(int, provider_info(server.p, &endless, &ignored, &e), ERR_TIMEOUT), "%s",
		e.text);
}

Test(modal_calls, an_answer_without_a_status_is_asked_for_again)
{
	struct error e = { 0 };

	modal_server_fault(&server, "SandboxWaitV2", "{\"type\":\"truncate\",\"bytes\":2}", 1);
	cr_expect(eq(int, info(&e), ERR_OK), "%s", e.text);
	modal_server_fault(&server, "SandboxWaitV2", "{\"type\":\"garbage\"}", 1);
	info(NULL);
	cr_expect(eq(int, info(&e), ERR_OK), "%s", e.text);
}

/* ---- The worker ---- */

Test(modal_calls, an_aged_token_of_the_worker_is_renewed_once)
{
	struct error e = { 0 };
	char path[200];

	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
	snprintf(path, sizeof path, "/expire/%s", server.id);
	modal_server_post(&server, path);
	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "SandboxGetCommandRouterAccess"), 1));
}

Test(modal_calls, a_start_that_is_repeated_starts_once)
{
	struct error e = { 0 };

	modal_server_fault(&server, "TaskExecStart", "{\"type\":\"cut_after\"}", 2);
	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, "TaskExecStart"), 3));
	cr_expect(eq(long, modal_server_count(&server, "TaskExecStdioRead"), 1));
}

Test(modal_calls, input_that_arrived_is_not_sent_again)
{
	expect_said("echo one >>log", "");
	modal_server_fault(&server, "TaskExecStdinWrite", "{\"type\":\"cut_after\"}", 1);
	expect_said("echo two >>log", "");
	expect_said("cat log", "one\ntwo\n");
	cr_expect(ge(long, modal_server_count(&server, "TaskExecStdinStatus"), 1));
}

Test(modal_calls, input_that_did_not_arrive_is_sent)
{
	expect_said("true", "");
	modal_server_fault(
		&server, "TaskExecStdinWrite", "{\"type\":\"grpc_status\",\"status\":14}", 2);
	expect_said("echo there", "there\n");
}

Test(modal_calls, output_goes_on_where_it_was_cut)
{
	AUTO_BUF struct buf want = BUF_INIT((size_t)1024 * 1024);

	expect_said("true", "");
	modal_server_fault(
		&server, "TaskExecStdioRead", "{\"type\":\"cut_after\",\"bytes\":100000}", 3);
	/* The open stream has no fault; a cut connection brings another. */
	modal_server_fault(&server, "TaskExecStdinWrite", "{\"type\":\"cut\"}", 1);
	for (int i = 1; i <= 100000; i++)
		buf_printf(&want, "%d\n", i);
	/* Each cut comes after more than one message. */
	expect_said("seq 1 100000", buf_text(&want));
	cr_expect(ge(long, modal_server_count(&server, "TaskExecStdioRead"), 4));
}

Test(modal_calls, the_program_is_kept_through_many_failures_in_a_row)
{
	expect_said("true", "");
	modal_server_reset(&server);
	modal_server_fault(
		&server, "TaskExecStdioRead", "{\"type\":\"grpc_status\",\"status\":14}", 14);
	/* The cut ends the connection, and so the open stream. */
	modal_server_fault(&server, "TaskExecStdinWrite", "{\"type\":\"cut\"}", 1);
	expect_said("echo kept", "kept\n");
	cr_expect(ge(long, modal_server_count(&server, "TaskExecStdioRead"), 15));
	cr_expect(eq(long, modal_server_count(&server, "TaskExecStart"), 0));
}

/* ---- How a program ends ---- */

static enum err drop(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

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

/* The worker reports a code, which may be 0, or a signal. */
Test(modal_calls, a_code_and_a_signal_are_distinguished)
{
	static const struct {
		const char *command;
		int want;
	} rows[] = { { "exit 0", 0 }, { "exit 3", 3 }, { "kill -9 $PPID", 128 + 9 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *const argv[] = { "/bin/sh", "-c", rows[i].command, NULL };
		struct error e = { 0 };
		int code = -1;

		modal_run(modal_of(server.p), NULL, argv, 0, NULL, drop, NULL, &code, &e);
		cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
		cr_expect(eq(int, code, rows[i].want), "%s", rows[i].command);
	}
}

Test(modal_calls, both_outputs_are_distinguished)
{
	const char *const argv[] = { "/bin/sh", "-c", "echo out; echo err >&2", NULL };
	struct received received = { { "" }, { "" } };
	struct error e = { 0 };
	int code = -1;

	modal_run(modal_of(server.p), NULL, argv, 0, NULL, receive, &received, &code, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_expect(eq(str, received.out, "out\n"));
	cr_expect(eq(str, received.err, "err\n"));
}

/*
 * The worker answers, and reports that the program does not. The client stops asking after a while.
 */
Test(modal_calls, a_program_that_is_lost_for_good_is_given_up)
{
	const char *const argv[] = { "true", NULL };
	struct error e = { 0 };
	int code = -1;

	modal_server_fault(
		&server, "TaskExecStdioRead", "{\"type\":\"grpc_status\",\"status\":14}", 0);
	modal_run(modal_of(server.p), NULL, argv, 0, NULL, drop, NULL, &code, &e);
	cr_expect(eq(int, e.kind, ERR_UNREACHABLE), "%s", e.text);
}

Test(modal_calls, a_file_that_cannot_be_stored_is_reported)
{
	const struct remote_upload upload = { "/no/such/directory/file", "x", 1 };
	struct error e = { 0 };

	cr_expect(eq(int, modal_upload(modal_of(server.p), NULL, &upload, &e), ERR_NOT_FOUND));
	cr_expect(ne(ptr, strstr(e.text, "/no/such/directory/file"), NULL), "%s", e.text);
}

/* ---- A helper that is lost ---- */

static enum err list_impatiently(struct error *e)
{
	const struct call call = { .progress_ms = 3000 };

	return list_within(&call, e);
}

/* An hour, in which no test ends. The call may start a helper, which has the deadline, too. */
static enum err list_patiently(struct error *e)
{
	const struct call call = { .progress_ms = 3600000 };

	return list_within(&call, e);
}

/*
 * The number of helpers' processes, as text. Each helper that serves has equally many, and the
 * command that counts is always one more.
 */
static char *count_of_helpers(void)
{
	return modal_server_run(&server,
		"for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done 2>/dev/null | "
		"grep -c sandboxfs-helper");
}

static bool are_helpers(const char *want)
{
	AUTO_FREE char *said = count_of_helpers();

	return !strcmp(said, want);
}

Test(modal_calls, input_that_stalls_is_given_up_when_its_sender_would_be)
{
	const int64_t end_ms = monotonic_ms() + 200000;
	struct error e = { 0 };
	enum err kind;

	cr_expect(eq(int, list_patiently(&e), ERR_OK), "%s", e.text);
	modal_server_fault(&server, "TaskExecStdinWrite", "{\"type\":\"stall\"}", 1);
	do
		kind = list_impatiently(&e);
	while (kind && monotonic_ms() < end_ms);
	cr_expect(eq(int, kind, ERR_OK), "%s", e.text);
}

Test(modal_calls, a_helper_that_is_lost_ends)
{
	AUTO_FREE char *before = count_of_helpers();
	struct error e = { 0 };
	const int64_t end_ms = monotonic_ms() + 200000;

	cr_expect(eq(int, list_within(NULL, &e), ERR_OK), "%s", e.text);
	modal_server_reset(&server);
	modal_server_fault(&server, "TaskExecStdinWrite", "{\"type\":\"stall\"}", 1);
	while (list_impatiently(&e) && monotonic_ms() < end_ms)
		continue;
	cr_expect(ge(long, modal_server_count(&server, "TaskExecStart"), 1), "none was lost");
	while (!are_helpers(before) && monotonic_ms() < end_ms)
		continue;
	cr_expect(lt(i64, monotonic_ms(), end_ms), "the one that was lost still runs");
}

Test(modal_calls, a_request_costs_one_call_while_the_helper_is_kept)
{
	struct error e = { 0 };

	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
	modal_server_reset(&server);
	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, NULL), 1));
	modal_server_reset(&server);
	expect_said("echo hello", "hello\n");
	cr_expect(eq(long, modal_server_count(&server, NULL), 1));
}

/* ---- The sandbox ---- */

Test(modal_calls, a_sandbox_that_is_gone_is_known_without_a_request)
{
	struct error e = { 0 };
	char path[200];

	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
	snprintf(path, sizeof path, "/kill/%s", server.id);
	modal_server_post(&server, path);
	/* A list that is under way may fail with the loss of the helper. */
	if (list(&e) != ERR_GONE)
		cr_expect(eq(int, list(&e), ERR_GONE), "%s", e.text);
	cr_expect(ne(ptr, strstr(e.text, "was terminated"), NULL), "%s", e.text);
	modal_server_reset(&server);
	cr_expect(eq(int, list(&e), ERR_GONE), "%s", e.text);
	cr_expect(eq(int, info(&e), ERR_GONE), "%s", e.text);
	/* The threads of the program that was kept may still ask for its output. */
	cr_expect(eq(long, modal_server_count(&server, "TaskExecStart"), 0));
	cr_expect(eq(long, modal_server_count(&server, "SandboxWait"), 0));
}

Test(modal_calls, the_sandbox_never_sees_the_token)
{
	expect_said("echo seen-by-it", "seen-by-it\n");
	cr_expect(modal_server_received(&server, "seen-by-it"));
	cr_expect(not(modal_server_received(&server, getenv("MODAL_TOKEN_SECRET"))));
	cr_expect(not(modal_server_received(&server, getenv("MODAL_TOKEN_ID"))));
}
