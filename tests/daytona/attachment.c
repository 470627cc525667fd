/*
 * The way to the daemon when it does not answer. The control plane is canned, and the steps'
 * results are given by the test.
 */
#include "tests/daytona/fixture.h"

#include <stdlib.h>
#include <string.h>

static struct fixture f;
static const struct provider_config plain;

static void stop(void)
{
	fixture_close(&f);
}

TestSuite(attachment, .fini = stop, .timeout = 300);

/* The results of a step, one after the other. */
struct play {
	const enum err *answers;
	size_t done;
	bool may_repeat;
};

static enum err play_step(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e)
{
	struct play *p = context;
	enum err kind = p->answers[p->done++];

	(void)a, (void)call;
	*is_done = kind == ERR_UNREACHABLE && !p->may_repeat;
	return kind ? error_set(e, kind, "the daemon") : ERR_OK;
}

static enum err reach(struct play *p, bool may_repeat)
{
	p->may_repeat = may_repeat;
	return attachment_reach(&f.d->at, NULL, play_step, p, &f.e);
}

/* ---- Finding ---- */

Test(attachment, a_server_without_a_proxy_has_the_daemon_below_its_own_url)
{
	static const struct canned_row rows[] = { FOUND };

	FIND(&f, rows, &plain);
	cr_expect(strstr(f.d->toolbox.base_url, "/toolbox/i1/toolbox") != NULL, "%s",
		f.d->toolbox.base_url);
	cr_expect(eq(int, strncmp(f.d->toolbox.base_url, f.server.url, strlen(f.server.url)), 0));
}

Test(attachment, the_proxy_stands_in_the_sandbox_or_is_asked_for)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ "GET /sandbox/i2/toolbox-proxy-url ", 200,
			"{\"url\":\"https://p.example/toolbox\"}", NULL },
	};
	struct daytona_sandbox found = { .id = "i2", .toolbox_url = "https://p.example/toolbox/" },
			       silent = { .id = "i2" };
	char *url;

	FIND(&f, rows, &plain);
	cr_assert(
		eq(int, daytona_toolbox_url(&f.d->account.rest, NULL, &found, &url, &f.e), ERR_OK));
	cr_expect(eq(str, url, "https://p.example/toolbox/i2"));
	free(url);
	cr_assert(eq(
		int, daytona_toolbox_url(&f.d->account.rest, NULL, &silent, &url, &f.e), ERR_OK));
	cr_expect(eq(str, url, "https://p.example/toolbox/i2"));
	free(url);
}

Test(attachment, a_stopped_sandbox_is_started)
{
	static const struct canned_row rows[] = {
		LOOK_IS("stopped"),
		{ START, 200, SANDBOX("starting", ""), NULL },
		LOOK_IS("starting"),
		FOUND,
	};

	FIND(&f, rows, &plain);
}

Test(attachment, an_archived_sandbox_is_restored)
{
	static const struct canned_row rows[] = {
		LOOK_IS("archived"),
		{ START, 200, SANDBOX("restoring", ""), NULL },
		LOOK_IS("restoring"),
		FOUND,
	};

	FIND(&f, rows, &plain);
}

Test(attachment, a_change_in_progress_is_waited_for)
{
	static const struct canned_row rows[] = {
		LOOK_IS("stopping"),
		LOOK_IS("stopped"),
		CHANGING,
		LOOK_IS("stopped"),
		{ START, 200, SANDBOX("starting", ""), NULL },
		FOUND,
	};

	FIND(&f, rows, &plain);
}

Test(attachment, an_unknown_state_passes)
{
	static const struct canned_row rows[] = { LOOK_IS("contemplating"), FOUND };

	FIND(&f, rows, &plain);
}

Test(attachment, a_sandbox_that_failed_says_why)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, SANDBOX("build_failed", ",\"errorReason\":\"no such image\""), NULL },
	};

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, attachment_find(&f.d->at, NULL, &f.e), ERR_UNREACHABLE));
	cr_expect(eq(
		str, f.e.text, "sandbox daytona:i1 is in the state 'build_failed': no such image"));
}

Test(attachment, a_sandbox_that_is_being_deleted_is_not_found)
{
	static const struct canned_row rows[] = { LOOK_IS("destroying") };

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, attachment_find(&f.d->at, NULL, &f.e), ERR_NOT_FOUND));
}

Test(attachment, a_user_other_than_the_sandboxs_is_refused)
{
	static const struct canned_row rows[] = { LOOK_IS("started") };
	const struct provider_config cfg = { .user = "root" };

	OPEN(&f, rows, &cfg);
	cr_expect(eq(int, attachment_find(&f.d->at, NULL, &f.e), ERR_UNSUPPORTED));
	cr_expect(strstr(f.e.text, "made for the user 'daytona'") != NULL, "%s", f.e.text);
}

/* ---- Reaching ---- */

Test(attachment, what_works_asks_nobody)
{
	static const struct canned_row rows[] = { FOUND };
	struct play p = { .answers = (enum err[]){ ERR_OK } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, false), ERR_OK), "%s", f.e.text);
}

Test(attachment, an_ordinary_failure_is_passed_on)
{
	static const struct canned_row rows[] = { FOUND };
	struct play p = { .answers = (enum err[]){ ERR_NO_SPACE } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, true), ERR_NO_SPACE));
	cr_expect(eq(str, f.e.text, "the daemon"));
}

Test(attachment, a_sandbox_that_was_stopped_is_started_and_the_step_done_again)
{
	static const struct canned_row rows[] = {
		FOUND,
		LOOK_IS("stopped"),
		{ START, 200, SANDBOX("started", ""), NULL },
		LOOK_IS("started"),
	};
	struct play p = { .answers = (enum err[]){ ERR_GONE, ERR_OK } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, false), ERR_OK), "%s", f.e.text);
	cr_expect(eq(sz, p.done, 2));
}

/* The control plane reports "started" before the proxy has the route. */
Test(attachment, a_route_that_is_not_there_yet_is_waited_for)
{
	static const struct canned_row rows[] = { FOUND, LOOK_IS("started") };
	struct play p = { .answers = (enum err[]){ ERR_GONE, ERR_GONE, ERR_GONE, ERR_OK } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, false), ERR_OK), "%s", f.e.text);
	cr_expect(eq(sz, p.done, 4));
}

Test(attachment, a_step_that_then_takes_too_long_says_so_itself)
{
	static const struct canned_row rows[] = { FOUND, LOOK_IS("started") };
	struct play p = { .answers = (enum err[]){ ERR_GONE, ERR_TIMEOUT } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, false), ERR_TIMEOUT));
	cr_expect(eq(str, f.e.text, "the daemon"));
}

Test(attachment, nothing_starts_a_sandbox_that_must_rest)
{
	static const struct canned_row rows[] = { FOUND, LOOK_IS("archived") };
	const struct provider_config cfg = { .resume = RESUME_NEVER };
	struct play p = { .answers = (enum err[]){ ERR_GONE } };

	FIND(&f, rows, &cfg);
	cr_expect(eq(int, reach(&p, false), ERR_GONE));
	cr_expect(strstr(f.e.text, "daytona:i1 is archived; -o resume=access") != NULL, "%s",
		f.e.text);
}

Test(attachment, the_mounts_own_work_starts_nothing)
{
	static const struct canned_row rows[] = { FOUND, LOOK_IS("stopped") };
	struct play p = { .answers = (enum err[]){ ERR_GONE } };
	const struct call call = { .is_background = true };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, attachment_reach(&f.d->at, &call, play_step, &p, &f.e), ERR_GONE));
	cr_expect(strstr(f.e.text, "is stopped, and starts when") != NULL, "%s", f.e.text);
}

Test(attachment, a_deleted_sandbox_looks_like_a_wrong_key_and_is_remembered)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 404,
			"{\"statusCode\":400,\"message\":\"Sandbox with ID or name i1 not found\"}",
			NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_AUTH } };
	struct daytona_sandbox sandbox;

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, false), ERR_GONE));
	cr_expect(eq(str, f.e.text, "sandbox daytona:i1 is gone"));
	cr_expect(eq(int, reach(&p, true), ERR_GONE));
	cr_expect(eq(int, daytona_see(f.d, NULL, &sandbox, &f.e), ERR_GONE));
	cr_expect(eq(sz, p.done, 1));
}

Test(attachment, a_key_that_only_the_proxy_refuses_is_refused)
{
	static const struct canned_row rows[] = { FOUND, LOOK_IS("started") };
	struct play p = { .answers = (enum err[]){ ERR_AUTH } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, false), ERR_AUTH));
	cr_expect(eq(str, f.e.text, "the daemon"));
}

Test(attachment, a_daemon_that_was_not_reached_is_asked_again_where_that_is_as_good)
{
	static const struct canned_row rows[] = {
		FOUND,
		LOOK_IS("stopped"),
		{ START, 200, SANDBOX("started", ""), NULL },
		LOOK_IS("started"),
	};
	struct play p = { .answers = (enum err[]){ ERR_UNREACHABLE, ERR_OK } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, true), ERR_OK), "%s", f.e.text);
}

Test(attachment, what_may_have_been_done_is_not_done_again)
{
	static const struct canned_row rows[] = { FOUND };
	struct play p = { .answers = (enum err[]){ ERR_UNREACHABLE } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, reach(&p, false), ERR_UNREACHABLE));
	cr_expect(eq(sz, p.done, 1));
}

static enum err ignore(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

Test(attachment, a_program_whose_answer_was_lost_is_not_run_again)
{
	static const struct canned_row rows[] = { FOUND,
		{ "POST /toolbox/i1/toolbox/process/execute ", 502, NULL, NULL } };
	const char *const argv[] = { "true", NULL };
	int exit_code;

	FIND(&f, rows, &plain);
	cr_expect(eq(int,
		daytona_remote.run(f.d, NULL, argv, 0, NULL, ignore, NULL, &exit_code, &f.e),
		ERR_UNREACHABLE));
}
