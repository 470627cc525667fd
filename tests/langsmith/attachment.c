/*
 * Which requests may start a sandbox that stopped, and how its end is found. The steps' results are
 * given by the test.
 */
#include "tests/langsmith/fixture.h"

TestSuite(langsmith_reach, .fini = fixture_end, .timeout = 300);

static const struct call background = { .is_background = true };

/* The results of a step, one after the other. */
struct play {
	const enum err *answers;
	size_t done;
};

static enum err play_step(
	struct langsmith *l, const struct call *call, void *context, struct error *why)
{
	struct play *p = context;
	enum err kind = p->answers[p->done++];

	(void)l, (void)call;
	return kind ? error_set(why, kind, "the data plane") : ERR_OK;
}

static enum err reach(const struct call *call, struct play *p)
{
	return langsmith_reach(sandbox, call, play_step, p, &e);
}

/* As if no request had gone from here for longer than the sandbox may be idle. */
static void let_time_pass(void)
{
	sandbox->used_ms -= 600 * 1000;
}

#define NEVER_ASKED ((enum err[]){ ERR_IO })

Test(langsmith_reach, what_works_asks_nobody)
{
	static const struct canned_row rows[] = { FOUND };
	struct play p = { .answers = (enum err[]){ ERR_OK, ERR_NO_SPACE } };

	FIND(rows);
	cr_expect(eq(int, reach(NULL, &p), ERR_OK), "%s", e.text);
	cr_expect(eq(int, reach(NULL, &p), ERR_NO_SPACE));
	cr_expect(eq(str, e.text, "the data plane"));
}

/* Makes the last answer a recent one, however long ago it is on a busy machine. */
static void be_just_now(int64_t asked_ms)
{
	cr_expect(sandbox->ran_ms || monotonic_ms() - asked_ms >= 500);
	sandbox->ran_ms = monotonic_ms() + 600 * 1000;
}

/* The router starts a stopped sandbox for any request. */
Test(langsmith_reach, what_must_start_nothing_looks_first)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_ready, NULL },
		{ LOOK, 200, box_stopped, NULL } };
	struct play p = { .answers = (enum err[]){ ERR_OK, ERR_UNREACHABLE, ERR_OK } };
	int64_t asked_ms = monotonic_ms();

	FIND(rows);
	be_just_now(asked_ms);
	asked_ms = monotonic_ms();
	cr_expect(eq(int, reach(&background, &p), ERR_OK), "%s", e.text);
	be_just_now(asked_ms);
	/* A request that was cut off is a sign that the sandbox may have stopped. */
	cr_expect(eq(int, reach(&background, &p), ERR_UNREACHABLE));
	cr_expect(eq(int, reach(&background, &p), ERR_OK), "%s", e.text);
	sandbox->ran_ms -= 1000;
	cr_expect(eq(int, reach(&background, &p), ERR_GONE));
	cr_expect(eq(sz, p.done, 3));
}

Test(langsmith_reach, a_user_starts_what_stopped_meanwhile)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 200, box_stopped, NULL },
		{ START_BOX, 200, box_stopped, NULL },
		{ STATUS, 200, "{\"status\":\"provisioning\"}", NULL },
		{ STATUS, 200, "{\"status\":\"ready\"}", NULL },
		{ LOOK, 200, box_ready, NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_OK, ERR_OK } };

	FIND(rows);
	let_time_pass();
	cr_expect(eq(int, reach(NULL, &p), ERR_OK), "%s", e.text);
	/* The sandbox is known to run now, so the control plane is not asked. */
	cr_expect(eq(int, reach(NULL, &p), ERR_OK), "%s", e.text);
}

#define TOO_MANY "{\"detail\":{\"error\":\"QuotaExceeded\",\"message\":\"cpu limit reached\"}}"

/*
 * No start has happened by then, so the request is repeated when the service says, as often as any
 * request.
 */
Test(langsmith_reach, a_start_that_is_one_too_many_is_tried_again_when_the_service_says)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 200, box_stopped, NULL },
		{ START_BOX, 429, TOO_MANY, "Retry-After: 1\r\n" },
		{ START_BOX, 200, box_stopped, NULL },
		{ STATUS, 200, "{\"status\":\"ready\"}", NULL },
		{ LOOK, 200, box_ready, NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_OK } };
	int64_t began_ms;

	FIND(rows);
	let_time_pass();
	began_ms = monotonic_ms();
	cr_expect(eq(int, reach(NULL, &p), ERR_OK), "%s", e.text);
	cr_expect(ge(i64, monotonic_ms() - began_ms, 1000));
}

/* Waiting for the sandbox would be in vain: only this request starts it. */
Test(langsmith_reach, a_start_that_always_exceeds_the_quota_is_reported)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 200, box_stopped, NULL },
		{ START_BOX, 429, TOO_MANY, NULL },
		{ START_BOX, 429, TOO_MANY, NULL },
		{ START_BOX, 429, TOO_MANY, NULL },
		{ START_BOX, 429, TOO_MANY, NULL },
	};
	struct play p = { .answers = NEVER_ASKED };

	FIND(rows);
	let_time_pass();
	cr_expect(eq(int, reach(NULL, &p), ERR_QUOTA));
	cr_expect(strstr(e.text, "cpu limit reached") != NULL, "%s", e.text);
	cr_expect(eq(sz, p.done, 0));
}

Test(langsmith_reach, nothing_in_the_background_starts_it)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_stopped, NULL },
		{ LOOK, 200, box_stopped, NULL } };
	struct play p = { .answers = NEVER_ASKED };

	FIND(rows);
	let_time_pass();
	cr_expect(eq(int, reach(&background, &p), ERR_GONE));
	cr_expect(strstr(e.text, "b1 is stopped, and started when") != NULL, "%s", e.text);
	cr_expect(eq(int, reach(&background, &p), ERR_GONE));
	cr_expect(eq(sz, p.done, 0));
}

Test(langsmith_reach, resume_never_asks_before_it_might_start_it)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_stopped, NULL } };
	struct play p = { .answers = NEVER_ASKED };

	FIND(rows);
	sandbox->at.resume = RESUME_NEVER;
	let_time_pass();
	cr_expect(eq(int, reach(NULL, &p), ERR_GONE));
	cr_expect(strstr(e.text, "-o resume=access") != NULL, "%s", e.text);
	cr_expect(eq(sz, p.done, 0));
}

Test(langsmith_reach, what_was_stopped_here_is_not_started_by_the_background)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 200, box_ready, NULL },
		{ "POST " BOXES "/b1/stop ", 204, NULL, NULL },
		{ LOOK, 200, box_stopped, NULL },
	};
	struct play p = { .answers = NEVER_ASKED };

	FIND(rows);
	cr_assert(eq(int, langsmith_provider.pause(&sandbox->at.base, NULL, &e), ERR_OK), "%s",
		e.text);
	cr_expect(eq(int, reach(&background, &p), ERR_GONE));
	cr_expect(eq(sz, p.done, 0));
}

Test(langsmith_reach, a_sandbox_in_use_is_not_suspected)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_ready, NULL } };
	struct play p = { .answers = (enum err[]){ ERR_OK, ERR_OK } };

	FIND(rows);
	let_time_pass();
	cr_expect(eq(int, reach(NULL, &p), ERR_OK), "%s", e.text);
	cr_expect(eq(int, reach(NULL, &p), ERR_OK), "%s", e.text);
}

Test(langsmith_reach, what_the_router_does_not_know_is_looked_for_and_asked_again)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_ready, NULL } };
	struct play p = { .answers = (enum err[]){ ERR_GONE, ERR_OK } };

	FIND(rows);
	cr_expect(eq(int, reach(NULL, &p), ERR_OK), "%s", e.text);
	cr_expect(eq(sz, p.done, 2));
}

Test(langsmith_reach, a_router_that_goes_on_not_knowing_it_cannot_be_reached)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_ready, NULL } };
	struct play p = { .answers = (enum err[]){ ERR_GONE, ERR_GONE } };

	FIND(rows);
	cr_expect(eq(int, reach(NULL, &p), ERR_UNREACHABLE));
	cr_expect(strstr(e.text, "its data plane does not know it") != NULL, "%s", e.text);
}

Test(langsmith_reach, what_is_gone_is_asked_nothing_more)
{
	static const struct canned_row rows[] = { FOUND,
		{ LOOK, 404, "{\"detail\":{\"error\":\"ResourceNotFound\"}}", NULL } };
	struct play p = { .answers = (enum err[]){ ERR_GONE } };
	struct sandbox_info info;

	FIND(rows);
	cr_expect(eq(int, reach(NULL, &p), ERR_GONE));
	cr_expect(eq(str, e.text, "sandbox langsmith:b1 is gone"));
	cr_expect(eq(int, reach(NULL, &p), ERR_GONE));
	cr_expect(eq(int, langsmith_provider.pause(&sandbox->at.base, NULL, &e), ERR_GONE));
	sandbox->at.has_found = false;
	cr_expect(eq(int, langsmith_provider.info(&sandbox->at.base, NULL, &info, &e), ERR_GONE));
}

#define FAILED                                                                                     \
	{                                                                                          \
		LOOK, 200,                                                                         \
			"{\"id\":\"b1\",\"status\":\"failed\",\"status_message\":\"disk full\"}",  \
			NULL                                                                       \
	}

Test(langsmith_reach, what_failed_says_why_and_is_not_given_up)
{
	static const struct canned_row rows[] = { FOUND, FAILED, FAILED, FAILED };
	struct play p = { .answers = (enum err[]){ ERR_GONE, ERR_GONE } };
	struct sandbox_info info;

	FIND(rows);
	cr_expect(eq(int, reach(NULL, &p), ERR_UNREACHABLE));
	cr_expect(eq(str, e.text,
		"sandbox langsmith:b1 has failed: disk full; sandboxctl resume starts it again"));
	cr_expect(eq(int, reach(NULL, &p), ERR_UNREACHABLE));
	sandbox->at.has_found = false;
	cr_assert(eq(int, langsmith_provider.info(&sandbox->at.base, NULL, &info, &e), ERR_OK),
		"%s", e.text);
	cr_expect(eq(int, info.state, SANDBOX_FAILED));
	cr_expect(eq(str, info.warning, "disk full; sandboxctl resume starts it again"));
}

Test(langsmith_reach, what_failed_is_started_again_by_resume)
{
	static const struct canned_row rows[] = { FOUND, FAILED, { START_BOX, 200, "{}", NULL },
		{ STATUS, 200, "{\"status\":\"provisioning\"}", NULL },
		{ STATUS, 200, "{\"status\":\"ready\"}", NULL }, { LOOK, 200, box_ready, NULL } };

	FIND(rows);
	cr_expect(eq(int, langsmith_provider.resume(&sandbox->at.base, NULL, &e), ERR_OK), "%s",
		e.text);
}

Test(langsmith_reach, what_is_not_persistent_is_not_stopped)
{
	static const struct canned_row rows[] = { FOUND,
		{ LOOK, 200, "{\"id\":\"b1\",\"status\":\"ready\",\"persistent\":false}", NULL } };

	FIND(rows);
	cr_expect(eq(int, langsmith_provider.pause(&sandbox->at.base, NULL, &e), ERR_UNSUPPORTED));
	cr_expect(strstr(e.text, "discards what was written") != NULL, "%s", e.text);
}

Test(langsmith_reach, without_a_router_the_way_out_is_named)
{
	static const struct canned_row rows[] = { { LOOK, 200,
		"{\"id\":\"b1\",\"status\":\"ready\",\"dataplane_url\":null}", NULL } };
	const struct provider_config cfg = { .id = "b1" };

	SERVE(rows);
	cr_assert(eq(int, langsmith_new(&sandbox, &cfg, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, attachment_find(&sandbox->at, NULL, &e), ERR_UNSUPPORTED));
	cr_expect(strstr(e.text, "dataplane_url") != NULL, "%s", e.text);
}

Test(langsmith_reach, the_key_goes_to_no_data_plane_in_the_clear)
{
	static const struct canned_row rows[] = { { LOOK, 200,
		"{\"id\":\"b1\",\"status\":\"ready\",\"dataplane_url\":\"http://example.com/b\"}",
		NULL } };
	const struct provider_config cfg = { .id = "b1" };

	SERVE(rows);
	cr_assert(eq(int, langsmith_new(&sandbox, &cfg, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, attachment_find(&sandbox->at, NULL, &e), ERR_PROTOCOL));
}

/* ---- End of a sandbox ---- */

#define EXECUTE "POST /dp/opaque/execute "
#define DONE    "{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":0}"

Test(langsmith_reach, its_end_is_put_off_by_using_it)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_ready, NULL },
		{ EXECUTE, 200, DONE, NULL } };

	FIND(rows);
	cr_expect(eq(int, langsmith_provider.extend(&sandbox->at.base, NULL, 300, &e), ERR_OK),
		"%s", e.text);
}

Test(langsmith_reach, a_sandbox_may_be_idle_longer_where_that_is_asked_for)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_ready, NULL },
		{ "PATCH " BOXES "/b1 ", 200, box_ready, NULL }, { EXECUTE, 200, DONE, NULL } };

	FIND(rows);
	cr_expect(eq(int, langsmith_provider.extend(&sandbox->at.base, NULL, 1000, &e), ERR_OK),
		"%s", e.text);
	fixture_stop();
	cr_expect(eq(str, (char *)request_body(2), "{\"idle_ttl_seconds\":1020}"));
}

Test(langsmith_reach, its_end_is_as_far_off_as_it_was_used_lately)
{
	static const struct canned_row rows[] = { FOUND, { LOOK, 200, box_ready, NULL } };
	struct sandbox_info info;

	FIND(rows);
	cr_assert(eq(int, langsmith_provider.info(&sandbox->at.base, NULL, &info, &e), ERR_OK),
		"%s", e.text);
	cr_expect(le(i64, info.expires_s, 600));
	sandbox->used_ms -= 400 * 1000;
	cr_assert(eq(int, langsmith_provider.info(&sandbox->at.base, NULL, &info, &e), ERR_OK),
		"%s", e.text);
	cr_expect(le(i64, info.expires_s, 200));
}
