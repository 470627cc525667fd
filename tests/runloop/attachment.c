#include "tests/runloop/devbox_fixture.h"

TestSuite(runloop_reach, .fini = fixture_end, .timeout = 300);

#define LOOK(status)                                                                               \
	{                                                                                          \
		"GET " PATHS "/dbx_1 ", 200, DEVBOX(status), NULL                                  \
	}
#define WAIT(status)                                                                               \
	{                                                                                          \
		"POST " PATHS "/dbx_1/wait_for_status ", 200, DEVBOX(status), NULL                 \
	}
#define ACT(action)                                                                                \
	{                                                                                          \
		"POST " PATHS "/dbx_1/" action " ", 200, "{}", NULL                                \
	}
#define ACT_REFUSED(action)                                                                        \
	{                                                                                          \
		"POST " PATHS "/dbx_1/" action " ", 400, "{\"message\":\"wrong state\"}", NULL     \
	}

static const struct call background = { .progress_ms = -1, .is_background = true };

static enum err find(void)
{
	return attachment_find(&f.b->at, &fixture_call, &f.e);
}

Test(runloop_reach, a_user_resumes_what_is_suspended)
{
	static const struct canned_row rows[] = { LOOK("suspended"), ACT("resume"),
		WAIT("running") };

	FIXTURE_START(rows);
	cr_expect(eq(int, find(), ERR_OK), "%s", f.e.text);
	fixture_stop();
}

Test(runloop_reach, what_is_being_suspended_is_resumed_afterwards)
{
	static const struct canned_row rows[] = { LOOK("suspending"), WAIT("suspended"),
		ACT("resume"), WAIT("running") };

	FIXTURE_START(rows);
	cr_expect(eq(int, find(), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(fixture_has(1, "[\"suspended\",\"failure\",\"shutdown\"]"));
}

Test(runloop_reach, a_devbox_that_somebody_else_resumes_is_waited_for)
{
	static const struct canned_row rows[] = { LOOK("suspended"), ACT_REFUSED("resume"),
		WAIT("running"), LOOK("resuming"), WAIT("running") };

	FIXTURE_START(rows);
	cr_expect(eq(int, find(), ERR_OK), "%s", f.e.text);
	cr_expect(eq(int, find(), ERR_OK), "%s", f.e.text);
	fixture_stop();
}

Test(runloop_reach, nothing_in_the_background_resumes)
{
	static const struct canned_row rows[] = { LOOK("suspended") };

	FIXTURE_START(rows);
	cr_expect(eq(int, attachment_find(&f.b->at, &background, &f.e), ERR_GONE));
	cr_expect(strstr(f.e.text, "suspended") != NULL, "%s", f.e.text);
	fixture_stop();
}

Test(runloop_reach, resume_never_says_what_would_resume)
{
	static const struct canned_row rows[] = { LOOK("suspended") };

	FIXTURE_START(rows);
	f.b->at.resume = RESUME_NEVER;
	cr_expect(eq(int, find(), ERR_GONE));
	cr_expect(strstr(f.e.text, "-o resume=access") != NULL, "%s", f.e.text);
	fixture_stop();
}

Test(runloop_reach, a_devbox_that_has_ended_is_gone_and_not_asked_again)
{
	static const struct canned_row rows[] = { { "GET " PATHS "/dbx_1 ", 200,
		"{\"id\":\"dbx_1\",\"status\":\"shutdown\",\"shutdown_reason\":\"idle\"}", NULL } };

	FIXTURE_START(rows);
	cr_expect(eq(int, find(), ERR_GONE));
	cr_expect(strstr(f.e.text, "idle") != NULL, "%s", f.e.text);
	cr_expect(eq(int, find(), ERR_GONE));
	cr_expect(eq(int, runloop_provider.extend(&f.b->at.base, &background, 60, &f.e), ERR_GONE));
	fixture_stop();
}

Test(runloop_reach, an_unknown_id_is_no_devbox_at_first_and_a_gone_one_afterwards)
{
	static const struct canned_row rows[] = {
		{ "GET " PATHS "/dbx_1 ", 404, "{\"message\":\"not found\"}", NULL },
		{ "GET " PATHS "/dbx_1 ", 404, "{\"message\":\"not found\"}", NULL },
	};

	FIXTURE_START(rows);
	cr_expect(eq(int, find(), ERR_NOT_FOUND));
	f.b->at.has_remote = true;
	cr_expect(eq(int, find(), ERR_GONE));
	cr_expect(eq(int, find(), ERR_GONE));
	f.b->at.has_remote = false;
	fixture_stop();
}

/* ---- Steps ---- */

struct step {
	unsigned count;
	enum err first;
	bool is_done;
};

static enum err step(struct attachment *a, const struct call *call, void *context, bool *is_done,
	struct error *e)
{
	struct step *s = context;

	(void)a, (void)call;
	*is_done = s->is_done;
	return s->count++ ? ERR_OK : error_set(e, s->first, "refused");
}

Test(runloop_reach, what_was_refused_is_done_once_more_when_it_runs)
{
	static const struct canned_row rows[] = { LOOK("suspended"), ACT("resume"),
		WAIT("running") };
	struct step s = { .first = ERR_INVALID };

	FIXTURE_START(rows);
	cr_expect(eq(int, attachment_reach(&f.b->at, &fixture_call, step, &s, &f.e), ERR_OK));
	cr_expect(eq(uint, s.count, 2));
	fixture_stop();
}

/* The failure is the program's own, not of a step whose results the test gives. */
Test(runloop_reach, a_program_that_was_lost_on_its_way_is_not_run_again)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/execute?", 200,
			"{\"execution_id\":\"exec_1\",\"status\":\"running\"}", NULL },
		{ "GET " PATHS "/dbx_1/executions/exec_1/stream_stdout_updates?offset=0 ", 404,
			"{\"message\":\"Execution not found\"}", NULL },
	};
	const char *const argv[] = { "true", NULL };
	int exit_code;

	FIXTURE_START(rows);
	cr_expect(eq(int,
		runloop_remote.run(
			f.b, &fixture_call, argv, 0, NULL, fixture_keep, NULL, &exit_code, &f.e),
		ERR_NOT_FOUND));
	fixture_stop();
}

Test(runloop_reach, a_command_that_is_too_long_is_a_file_that_removes_itself)
{
	static const struct canned_row rows[] = { { "POST " PATHS "/dbx_1/upload_file ", 403,
		"{\"message\":\"no\"}", NULL } };
	AUTO_BUF struct buf word = BUF_INIT(2 * EXECUTION_COMMAND_MAX);
	const char *argv[] = { "echo", NULL, NULL };
	int exit_code;

	for (size_t i = 0; i < EXECUTION_COMMAND_MAX; i++)
		buf_add_byte(&word, 'x');
	argv[1] = buf_text(&word);
	FIXTURE_START(rows);
	f.b->at.has_remote = true;
	f.b->at.remote.staging = (char *)"/stage";
	cr_expect(eq(int,
		runloop_remote.run(
			f.b, &fixture_call, argv, 0, NULL, fixture_keep, NULL, &exit_code, &f.e),
		ERR_AUTH));
	f.b->at.has_remote = false;
	f.b->at.remote.staging = NULL;
	fixture_stop();
	cr_expect(fixture_has(0, "'rm' '-f' '--' '/stage/request-"), "%.400s", fixture_body(0));
}

Test(runloop_reach, what_may_have_been_done_is_not_done_again)
{
	static const enum err kinds[] = { ERR_INVALID, ERR_UNREACHABLE };

	fixture_start(NULL, 0);
	for (size_t i = 0; i < 2; i++) {
		struct step s = { .first = kinds[i], .is_done = true };

		cr_expect(eq(
			int, attachment_reach(&f.b->at, &fixture_call, step, &s, &f.e), kinds[i]));
		cr_expect(eq(uint, s.count, 1));
		cr_expect(eq(str, f.e.text, "refused"));
	}
	fixture_stop();
}
