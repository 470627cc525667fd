/*
 * The way to the daemon when it does not answer. The control plane is canned, and the steps'
 * results are given by the test.
 */
#include "providers/e2b/e2b.h"
#include "providers/http/client.h"
#include "tests/e2b/envd_server.h"
#include "tests/support/canned.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define RUNNING(token)                                                                             \
	"{\"sandboxID\":\"i1\",\"state\":\"running\",\"envdVersion\":\"0.6.13\","                  \
	"\"envdAccessToken\":\"" token "\"}"
#define PAUSED                                                                                     \
	"{\"sandboxID\":\"i1\",\"state\":\"paused\",\"envdVersion\":\"0.6.13\","                   \
	"\"envdAccessToken\":\"t1\"}"
#define NO_SANDBOX "{\"code\":404,\"message\":\"Sandbox \\\"i1\\\" doesn't exist\"}"
#define LOOK       "GET /sandboxes/i1 "
#define WAKE       "POST /v2/sandboxes/i1/connect "

static struct canned server;
static struct e2b *b;
static struct error e;

/* The results of a step, one after the other. */
struct play {
	const enum err *answers;
	size_t done;
	bool is_done; /* the step reports that it is done */
};

static enum err play_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *why)
{
	struct play *p = context;
	enum err kind = p->answers[p->done++];

	(void)d, (void)call;
	*is_done = p->is_done;
	return kind ? error_set(why, kind, "the daemon") : ERR_OK;
}

static void set_environment(void)
{
	setenv("E2B_API_URL", server.url, 1);
	setenv("E2B_API_KEY", "e2b_s3cret", 1);
	/*
	 * Port 1 has no listener. A name would be looked up, which could last beyond the test's
	 * end.
	 */
	setenv("E2B_SANDBOX_URL", "http://127.0.0.1:1", 1);
	unsetenv("E2B_DEBUG");
}

static void start_rows(const struct canned_row *rows, size_t count, enum resume_mode resume)
{
	struct provider_config cfg = { .id = "i1", .resume = resume };

	canned_start(&server, rows, count);
	set_environment();
	cr_assert(eq(int, e2b_new(&b, &cfg, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, e2b_name(b, cfg.id, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, attachment_find(&b->at, NULL, &e), ERR_OK), "%s", e.text);
	/* As after an attach: a sandbox that is not found from then on has existed before. */
	b->at.has_remote = true;
}
#define START(rows, resume) start_rows(rows, sizeof(rows) / sizeof *(rows), resume)

static void stop(void)
{
	if (b) {
		b->at.has_remote = false;
		e2b_release(&b->at.base);
	}
	canned_stop(&server);
	for (size_t i = 0; i < server.got; i++)
		free(server.requests[i]);
}

TestSuite(provider_reach, .fini = stop, .timeout = 300);

Test(provider_reach, what_works_asks_nobody)
{
	static const struct canned_row rows[] = { { LOOK, 200, RUNNING("t1"), NULL } };
	struct play p = { .answers = (enum err[]){ ERR_OK } };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_OK), "%s", e.text);
}

Test(provider_reach, the_control_plane_is_sent_the_headers_of_the_environment)
{
	static const struct canned_row rows[] = { { LOOK, 200, RUNNING("t1"), NULL } };

	setenv("E2B_API_HEADERS", "X-Gate: open", 1);
	START(rows, RESUME_ON_ACCESS);
	unsetenv("E2B_API_HEADERS");
	cr_expect(strstr(server.requests[0], "\r\nX-Gate: open\r\n") != NULL, "%s",
		server.requests[0]);
}

Test(provider_reach, an_ordinary_failure_is_passed_on)
{
	static const struct canned_row rows[] = { { LOOK, 200, RUNNING("t1"), NULL } };
	struct play p = { .answers = (enum err[]){ ERR_NO_SPACE } };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_NO_SPACE));
	cr_expect(eq(str, e.text, "the daemon"));
}

Test(provider_reach, a_paused_sandbox_is_woken_and_the_step_done_again)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, RUNNING("t1"), NULL },
		{ LOOK, 200, PAUSED, NULL },
		{ WAKE, 201, RUNNING("t1"), NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_GONE, ERR_OK } };

	START(rows, RESUME_ON_ACCESS);
	uint64_t drops = b->account.http->drops;

	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(sz, p.done, 2));
	/* Connections from before the pause are dead, and only their silence would show that. */
	cr_expect(eq(u64, b->account.http->drops, drops + 1));
}

Test(provider_reach, nothing_wakes_a_sandbox_that_must_sleep)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, RUNNING("t1"), NULL },
		{ LOOK, 200, PAUSED, NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_GONE } };

	START(rows, RESUME_NEVER);
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_GONE));
	cr_expect(strstr(e.text, "e2b:i1 is paused; -o resume=access") != NULL, "%s", e.text);
}

Test(provider_reach, the_mounts_own_work_wakes_nothing)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, RUNNING("t1"), NULL },
		{ LOOK, 200, PAUSED, NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_GONE } };
	struct call call = { .is_background = true };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_reach(b, &call, play_step, &p, &e), ERR_GONE));
	cr_expect(strstr(e.text, "is paused") != NULL, "%s", e.text);
}

Test(provider_reach, what_may_have_been_done_is_not_done_again)
{
	static const struct canned_row rows[] = { { LOOK, 200, RUNNING("t1"), NULL } };
	struct play p = { .answers = (enum err[]){ ERR_GONE }, .is_done = true };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_GONE));
	cr_expect(eq(sz, p.done, 1));
}

Test(provider_reach, a_sandbox_that_is_gone_is_remembered_and_costs_no_request)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, RUNNING("t1"), NULL },
		{ LOOK, 404, NO_SANDBOX, NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_GONE } };

	START(rows, RESUME_ON_ACCESS);
	for (int i = 0; i < 3; i++) {
		cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_GONE));
		cr_expect(eq(str, e.text, "sandbox e2b:i1 is gone"));
	}
	cr_expect(eq(sz, p.done, 1));
	cr_expect(eq(int, e2b_provider.extend(&b->at.base, NULL, 60, &e), ERR_GONE));
	cr_expect(eq(int, e2b_provider.pause(&b->at.base, NULL, &e), ERR_GONE));
	cr_expect(eq(int, e2b_provider.resume(&b->at.base, NULL, &e), ERR_GONE));
}

Test(provider_reach, an_extension_notices_too_that_the_sandbox_is_gone)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, RUNNING("t1"), NULL },
		{ "POST /sandboxes/i1/refreshes ", 404, NO_SANDBOX, NULL },
	};
	struct play p = { 0 };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_provider.extend(&b->at.base, NULL, 60, &e), ERR_GONE));
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_GONE));
	cr_expect(eq(sz, p.done, 0));
}

Test(provider_reach, a_daemon_that_stays_away_is_unreachable_not_gone)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, RUNNING("t1"), NULL },
		{ LOOK, 200, RUNNING("t1"), NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_GONE, ERR_GONE } };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_UNREACHABLE));
}

Test(provider_reach, a_new_token_is_asked_for_once)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, RUNNING("t1"), NULL },
		{ LOOK, 200, RUNNING("t2"), NULL },
		{ LOOK, 200, RUNNING("t2"), NULL },
	};
	struct play renewed = { .answers = (enum err[]){ ERR_AUTH, ERR_OK } };
	struct play refused = { .answers = (enum err[]){ ERR_AUTH } };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &renewed, &e), ERR_OK), "%s", e.text);
	/* The token is unchanged, so it would be refused again. */
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &refused, &e), ERR_AUTH));
	cr_expect(eq(sz, refused.done, 1));
}

Test(provider_reach, what_the_control_plane_cannot_say_is_its_own_error)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, RUNNING("t1"), NULL },
		{ LOOK, 401, "{\"code\":401,\"message\":\"e2b_s3cret is revoked\"}", NULL },
	};
	struct play p = { .answers = (enum err[]){ ERR_GONE } };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_reach(b, NULL, play_step, &p, &e), ERR_AUTH));
	cr_expect(strstr(e.text, "is revoked") != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "s3cret") == NULL, "%s", e.text);
}

Test(provider_reach, a_daemon_of_a_newer_major_version_is_not_too_old)
{
	static const struct canned_row rows[] = { { LOOK, 200, RUNNING("t1"), NULL } };
	struct plane_sandbox newer = { .id = "i1", .token = "t1", .envd_version = "1.0.3" };
	struct plane_sandbox older = { .id = "i1", .token = "t1", .envd_version = "0.0.9" };

	START(rows, RESUME_ON_ACCESS);
	cr_expect(eq(int, e2b_adopt(b, &newer, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, e2b_adopt(b, &older, &e), ERR_UNSUPPORTED));
}

/* A sandbox may get a daemon of another version while it is paused. */
Test(provider_reach, a_daemon_of_another_version_is_addressed_anew)
{
	static const struct canned_row rows[] = { { LOOK, 200, RUNNING("t1"), NULL } };
	struct plane_sandbox older = { .id = "i1", .token = "t1", .envd_version = "0.5.6" };
	struct daemon *newest;

	START(rows, RESUME_ON_ACCESS);
	newest = b->daemon;
	cr_expect(eq(int, e2b_adopt(b, &older, &e), ERR_OK), "%s", e.text);
	cr_expect(ne(ptr, b->daemon, newest));
}

/* ---- Before there is an attachment ---- */

static enum err connect_to(const char *id, enum resume_mode resume)
{
	struct provider_config cfg = { .id = id, .resume = resume };
	struct provider *p = NULL;

	set_environment();
	return provider_connect(&e2b_provider, &cfg, NULL, &p, &e);
}

Test(provider_connect, a_sandbox_that_never_was_is_not_found)
{
	static const struct canned_row rows[] = { { LOOK, 404, NO_SANDBOX, NULL } };

	CANNED_START(&server, rows);
	cr_expect(eq(int, connect_to("i1", RESUME_ON_ACCESS), ERR_NOT_FOUND));
	cr_expect(strstr(e.text, "e2b:i1") != NULL, "%s", e.text);
	canned_stop(&server);
}

Test(provider_connect, a_paused_one_stays_so_under_resume_never)
{
	static const struct canned_row rows[] = { { LOOK, 200, PAUSED, NULL } };

	CANNED_START(&server, rows);
	cr_expect(eq(int, connect_to("i1", RESUME_NEVER), ERR_GONE));
	cr_expect(strstr(e.text, "-o resume=access") != NULL, "%s", e.text);
	canned_stop(&server);
}

Test(provider_connect, a_daemon_that_is_too_old_is_refused)
{
	static const struct canned_row rows[] = { { LOOK, 200,
		"{\"sandboxID\":\"i1\",\"state\":\"running\",\"envdVersion\":\"0.0.9\"}", NULL } };

	CANNED_START(&server, rows);
	cr_expect(eq(int, connect_to("i1", RESUME_ON_ACCESS), ERR_UNSUPPORTED));
	cr_expect(strstr(e.text, "0.0.9") != NULL, "%s", e.text);
	canned_stop(&server);
}

Test(provider_connect, an_id_that_is_none_costs_no_request)
{
	static const struct canned_row rows[] = { { NULL, 0, NULL, NULL } };

	canned_start(&server, rows, 0);
	cr_expect(eq(int, connect_to("../x", RESUME_ON_ACCESS), ERR_INVALID));
	cr_expect(strstr(e.text, "'../x'") != NULL, "%s", e.text);
	canned_stop(&server);
}

Test(provider_connect, without_a_key_it_says_where_one_is_looked_for)
{
	struct provider_config cfg = { .id = "i1" };
	struct provider *p;

	unsetenv("E2B_API_KEY");
	setenv("HOME", "/nowhere", 1);
	cr_expect(eq(int, provider_connect(&e2b_provider, &cfg, NULL, &p, &e), ERR_AUTH));
	cr_expect(
		strstr(e.text,
			"set E2B_API_KEY, log in with e2b auth login, or give -o key_file=FILE") !=
			NULL,
		"%s", e.text);
}

Test(provider_connect, a_new_sandbox_that_is_too_old_is_deleted_again)
{
	static const struct canned_row rows[] = {
		{ "POST /v2/sandboxes ", 201, "{\"sandboxID\":\"i1\",\"envdVersion\":\"0.0.9\"}",
			NULL },
		{ "DELETE /sandboxes/i1 ", 204, NULL, NULL },
	};
	struct provider_config cfg = { 0 };
	char id[128] = "";

	CANNED_START(&server, rows);
	set_environment();
	cr_expect(eq(int, provider_create(&e2b_provider, &cfg, NULL, id, &e), ERR_UNSUPPORTED));
	cr_expect(eq(str, id, ""));
	canned_stop(&server);
}

/* ---- Answers out of order ---- */

static void *look_once(void *unused)
{
	struct attachment_view view;

	(void)unused;
	attachment_look(&b->at, NULL, &view, NULL);
	return NULL;
}

static bool has_asked(uint64_t count)
{
	bool has;

	pthread_mutex_lock(&b->at.lock);
	has = b->questions >= count;
	pthread_mutex_unlock(&b->at.lock);
	return has;
}

static enum err pass_no_line(void *context, const struct log_line *line, struct error *why)
{
	(void)context, (void)line, (void)why;
	return ERR_OK;
}

static void put_text(struct buf *out, const char *text)
{
	put_answer(out, 200, IS_JSON, text, strlen(text));
}

TestSuite(provider_answers, .timeout = 300);

/* The look's answer comes after the request for the log, which is sent after the wake. */
Test(provider_answers, a_look_that_began_before_a_wake_does_not_undo_it)
{
	static const char log[] = "GET /v2/sandboxes/i1/logs";
	struct provider_config cfg = { .id = "i1" };
	AUTO_BUF struct buf old = BUF_INIT(1000), new = BUF_INIT(1000), lines = BUF_INIT(1000);
	struct envd_server plane = { 0 };
	struct plane_sandbox seen;
	pthread_t looker;

	put_text(&old, PAUSED);
	put_text(&new, RUNNING("t2"));
	put_text(&lines, "{\"logs\":[]}");
	envd_server_start(&plane,
		(struct envd_row[]){ { .want = "GET /sandboxes/i1", .answer = &old, .after = log },
			{ .want = "POST /v2/sandboxes/i1/connect", .answer = &new },
			{ .want = log, .answer = &lines } },
		3);
	set_environment();
	setenv("E2B_API_URL", plane.url, 1);
	cr_assert(eq(int, e2b_new(&b, &cfg, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, e2b_name(b, cfg.id, &e), ERR_OK), "%s", e.text);
	cr_assert(zero(int, pthread_create(&looker, NULL, look_once, NULL)));
	while (!has_asked(1))
		sched_yield();
	cr_expect(eq(int, e2b_resume(&b->at.base, NULL, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, plane_logs(b->account.plane, NULL, "i1", pass_no_line, NULL, &e), ERR_OK),
		"%s", e.text);
	pthread_join(looker, NULL);
	e2b_seen(b, &seen);
	cr_expect(eq(str, seen.token, "t2"));
	e2b_release(&b->at.base);
	envd_server_stop(&plane);
	envd_server_check(&plane);
	envd_server_release(&plane);
}
