/* The life of a sandbox, as the control plane records it. */
#include "tests/daytona/fixture.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TOUCH "POST /sandbox/i1/last-activity "

static struct fixture f;
static const struct provider_config plain;
static const struct provider_config named = { .id = "i1" };

static void stop(void)
{
	fixture_close(&f);
}

TestSuite(lifecycle, .fini = stop, .timeout = 300);

/* ---- Making and deleting ---- */

Test(lifecycle, a_new_sandbox_is_waited_for_until_its_daemon_answers)
{
	static const struct canned_row rows[] = {
		{ "POST /sandbox ", 200, SANDBOX("creating", ""), NULL },
		LOOK_IS("creating"),
		FOUND,
		{ "GET /toolbox/i1/toolbox/version ", 400,
			"{\"statusCode\":400,\"message\":\"no IP address found. Is the Sandbox "
			"started?\"}",
			NULL },
		LOOK_IS("started"),
		{ "GET /toolbox/i1/toolbox/version ", 200, "{\"version\":\"0.190.0\"}", NULL },
	};
	char id[128];

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.create(&plain, NULL, id, &f.e), ERR_OK), "%s", f.e.text);
	cr_expect(eq(str, id, "i1"));
}

Test(lifecycle, a_new_sandbox_is_made_in_the_region_of_the_environment)
{
	static const struct canned_row rows[] = { { "POST /sandbox ", 422,
		"{\"statusCode\":422,\"message\":\"no\"}", NULL } };
	char id[128];

	OPEN(&f, rows, &plain);
	setenv("DAYTONA_TARGET", "eu", 1);
	cr_expect(eq(int, daytona_provider.create(&plain, NULL, id, &f.e), ERR_INVALID));
	cr_expect(strstr(f.server.requests[0], "{\"target\": \"eu\"}") != NULL, "%s",
		f.server.requests[0]);
}

Test(lifecycle, a_new_sandbox_that_fails_is_deleted)
{
	static const struct canned_row rows[] = {
		{ "POST /sandbox ", 200, SANDBOX("pending_build", ""), NULL },
		LOOK_IS("building_snapshot"),
		{ LOOK, 200, SANDBOX("build_failed", ",\"errorReason\":\"no such image\""), NULL },
		{ "DELETE /sandbox/i1 ", 409,
			"{\"statusCode\":400,\"message\":\"Sandbox state change in progress\"}",
			NULL },
		{ "DELETE /sandbox/i1 ", 200, SANDBOX("destroying", ""), NULL },
	};
	char id[128];

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.create(&plain, NULL, id, &f.e), ERR_UNREACHABLE));
	cr_expect(strstr(f.e.text, "no such image") != NULL, "%s", f.e.text);
}

/* A second sandbox may exist then, and its creator would not know the first. */
Test(lifecycle, making_one_is_not_repeated_when_it_may_have_been_made)
{
	static const struct canned_row rows[] = { { "POST /sandbox ", 502, NULL, NULL } };
	char id[128];

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.create(&plain, NULL, id, &f.e), ERR_UNREACHABLE));
}

Test(lifecycle, a_sandbox_that_could_not_be_deleted_is_reported)
{
	static const struct canned_row rows[] = { { "DELETE /sandbox/i1 ", 403,
		"{\"statusCode\":403,\"message\":\"no\"}", NULL } };

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.delete(&named, NULL, &f.e), ERR_AUTH));
}

Test(lifecycle, to_delete_what_is_not_there_is_success)
{
	static const struct canned_row rows[] = {
		{ "DELETE /sandbox/i1 ", 404,
			"{\"statusCode\":400,\"message\":\"Sandbox with ID or name i1 not found\"}",
			NULL },
	};

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.delete(&named, NULL, &f.e), ERR_OK), "%s", f.e.text);
}

Test(lifecycle, names_are_escaped)
{
	static const struct canned_row rows[] = { { "DELETE /sandbox/a%20b%2Fc ", 200, "{}",
		NULL } };
	const struct provider_config cfg = { .id = "a b/c" };

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.delete(&cfg, NULL, &f.e), ERR_OK), "%s", f.e.text);
}

/* ---- Listing ---- */

struct seen {
	char text[200];
};

static enum err see(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct seen *s = context;
	size_t len = strlen(s->text);

	(void)e;
	if (entry->unread)
		snprintf(s->text + len, sizeof s->text - len, "(%s), ", entry->unread);
	else
		snprintf(s->text + len, sizeof s->text - len, "%s %d %lld, ", entry->id,
			(int)entry->state, (long long)entry->expires_s);
	return ERR_OK;
}

Test(lifecycle, all_pages_are_listed)
{
	static const struct canned_row rows[] = {
		{ "GET /sandbox?limit=200 ", 200,
			"{\"items\":[{\"id\":\"a\",\"state\":\"started\"},{\"id\":\"b\",\"state\":"
			"\"destroyed\"}],"
			"\"nextCursor\":\"c/d\"}",
			NULL },
		{ "GET /sandbox?limit=200&cursor=c%2Fd ", 200,
			"{\"items\":[{\"id\":\"e\",\"state\":\"archived\"},{\"id\":\"f\",\"state\":"
			"\"paused\"},"
			"{\"id\":\"g\",\"state\":\"restoring\"}],\"nextCursor\":null}",
			NULL },
	};
	struct seen s = { "" };

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.list_sandboxes(&plain, NULL, see, &s, &f.e), ERR_OK),
		"%s", f.e.text);
	cr_expect(eq(str, s.text, "a 0 -1, e 2 -1, f 1 -1, g 0 -1, "));
}

Test(lifecycle, broken_sandboxes_are_listed_as_such)
{
	static const struct canned_row rows[] = {
		{ "GET /sandbox?limit=200 ", 200,
			"{\"items\":[{\"id\":\"a\",\"state\":\"error\"},"
			"{\"id\":\"b\",\"state\":\"build_failed\"},"
			"{\"id\":\"c\",\"state\":\"stopping\"},"
			"{\"id\":\"d\",\"state\":\"pausing\"}]}",
			NULL },
	};
	struct seen s = { "" };

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.list_sandboxes(&plain, NULL, see, &s, &f.e), ERR_OK),
		"%s", f.e.text);
	cr_expect(eq(str, s.text, "a 3 -1, b 4 -1, c 2 -1, d 1 -1, "));
}

Test(lifecycle, a_sandbox_that_cannot_be_read_hides_no_other)
{
	static const struct canned_row rows[] = {
		{ "GET /sandbox?limit=200 ", 200,
			"{\"items\":[{\"state\":\"started\"},{\"id\":\"b\",\"state\":\"started\"}]"
			"}",
			NULL },
	};
	struct seen s = { "" };

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.list_sandboxes(&plain, NULL, see, &s, &f.e), ERR_OK),
		"%s", f.e.text);
	cr_expect(eq(str, s.text, "(daytona: a sandbox without an ID), b 0 -1, "));
}

/* ---- Stopping and starting ---- */

Test(lifecycle, pausing_waits_until_it_rests)
{
	static const struct canned_row rows[] = {
		FOUND,
		LOOK_IS("started"),
		{ "POST /sandbox/i1/stop ", 409,
			"{\"statusCode\":400,\"message\":\"Sandbox state change in progress\"}",
			NULL },
		{ "POST /sandbox/i1/stop ", 200, SANDBOX("stopping", ""), NULL },
		LOOK_IS("stopping"),
		LOOK_IS("stopped"),
	};

	FIND(&f, rows, &plain);
	cr_expect(
		eq(int, daytona_provider.pause(&f.d->at.base, NULL, &f.e), ERR_OK), "%s", f.e.text);
}

Test(lifecycle, an_ephemeral_sandbox_is_not_stopped)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 200, SANDBOX("started", ",\"autoDeleteInterval\":0"), NULL },
	};

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.pause(&f.d->at.base, NULL, &f.e), ERR_UNSUPPORTED));
	cr_expect(strstr(f.e.text, "ephemeral") != NULL, "%s", f.e.text);
}

Test(lifecycle, resuming_starts_whatever_the_mount_allows_itself)
{
	static const struct canned_row rows[] = {
		FOUND,
		LOOK_IS("stopped"),
		{ START, 200, SANDBOX("starting", ""), NULL },
		LOOK_IS("starting"),
		LOOK_IS("started"),
	};
	const struct provider_config cfg = { .resume = RESUME_NEVER };

	FIND(&f, rows, &cfg);
	cr_expect(eq(int, daytona_provider.resume(&f.d->at.base, NULL, &f.e), ERR_OK), "%s",
		f.e.text);
}

#define BROKEN(more) SANDBOX("error", ",\"errorReason\":\"disk full\"" more)
#define RECOVER      "POST /sandbox/i1/recover "

Test(lifecycle, resuming_recovers_what_can_be_recovered)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 200, BROKEN(",\"recoverable\":true"), NULL },
		{ RECOVER, 200, SANDBOX("starting", ""), NULL },
		LOOK_IS("starting"),
		LOOK_IS("started"),
	};

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.resume(&f.d->at.base, NULL, &f.e), ERR_OK), "%s",
		f.e.text);
}

Test(lifecycle, a_recovery_that_does_not_help_is_not_tried_again)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 200, BROKEN(",\"recoverable\":true"), NULL },
		{ RECOVER, 200, SANDBOX("starting", ""), NULL },
		{ LOOK, 200, BROKEN(",\"recoverable\":true"), NULL },
	};

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.resume(&f.d->at.base, NULL, &f.e), ERR_UNREACHABLE));
	cr_expect(strstr(f.e.text, "'error': disk full") != NULL, "%s", f.e.text);
}

Test(lifecycle, what_cannot_be_recovered_says_why)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ LOOK, 200, BROKEN(""), NULL },
	};

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.resume(&f.d->at.base, NULL, &f.e), ERR_UNREACHABLE));
	cr_expect(eq(str, f.e.text, "sandbox daytona:i1 is in the state 'error': disk full"));
}

Test(lifecycle, a_sandbox_that_does_not_come_up_says_in_which_state_it_is)
{
	static const struct canned_row rows[] = { LOOK_IS("pulling_snapshot") };
	const struct call call = { .ready_ms = 1 };

	OPEN(&f, rows, &plain);
	atomic_store(&f.server.repeats_at_end, true);
	cr_expect(eq(int, attachment_find(&f.d->at, &call, &f.e), ERR_TIMEOUT));
	cr_expect(strstr(f.e.text, ": its state is 'pulling_snapshot'") != NULL, "%s", f.e.text);
}

Test(lifecycle, an_evicted_sandbox_says_so)
{
	static const struct canned_row rows[] = { { LOOK, 200,
		SANDBOX("destroyed", ",\"spotEvictedAt\":\"2026-11-27T10:00:00Z\""), NULL } };

	OPEN(&f, rows, &plain);
	cr_expect(eq(int, daytona_know(f.d, NULL, &f.e), ERR_NOT_FOUND));
	cr_expect(strstr(f.e.text, "it was a spot sandbox") != NULL, "%s", f.e.text);
}

/* ---- Lifetime ---- */

#define STOPS_AFTER(minutes)                                                                       \
	{                                                                                          \
		LOOK, 200, SANDBOX("started", ",\"autoStopInterval\":" minutes), NULL              \
	}

Test(lifecycle, to_extend_is_to_use_it)
{
	static const struct canned_row rows[] = { STOPS_AFTER("15"), NO_PROXY,
		{ TOUCH, 201, NULL, NULL } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.extend(&f.d->at.base, NULL, 900, &f.e), ERR_OK), "%s",
		f.e.text);
}

Test(lifecycle, to_extend_further_raises_the_interval_once)
{
	static const struct canned_row rows[] = {
		STOPS_AFTER("15"),
		NO_PROXY,
		{ "POST /sandbox/i1/autostop/16 ", 200, SANDBOX("started", ""), NULL },
		{ TOUCH, 201, NULL, NULL },
		{ TOUCH, 201, NULL, NULL },
	};

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.extend(&f.d->at.base, NULL, 901, &f.e), ERR_OK), "%s",
		f.e.text);
	cr_expect(eq(int, daytona_provider.extend(&f.d->at.base, NULL, 901, &f.e), ERR_OK), "%s",
		f.e.text);
}

Test(lifecycle, to_extend_by_less_takes_nothing_away)
{
	static const struct canned_row rows[] = { STOPS_AFTER("15"), NO_PROXY,
		{ TOUCH, 201, NULL, NULL } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.extend(&f.d->at.base, NULL, 60, &f.e), ERR_OK), "%s",
		f.e.text);
}

Test(lifecycle, to_extend_what_pauses_raises_that_interval)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200, SANDBOX("started", ",\"autoStopInterval\":0,\"autoPauseInterval\":15"),
			NULL },
		NO_PROXY,
		{ "POST /sandbox/i1/autopause/16 ", 200, SANDBOX("started", ""), NULL },
		{ TOUCH, 201, NULL, NULL },
	};

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.extend(&f.d->at.base, NULL, 901, &f.e), ERR_OK), "%s",
		f.e.text);
}

/* A sandbox's JSON; it is destroyed in so many seconds. */
static const char *mortal(const char *state, int seconds)
{
	static char text[2][300];
	static size_t next;
	char *out = text[next++ % 2], at[40];
	time_t end = time(NULL) + seconds;
	struct tm tm;

	strftime(at, sizeof at, "%FT%TZ", gmtime_r(&end, &tm));
	snprintf(out, sizeof text[0],
		"{\"id\":\"i1\",\"state\":\"%s\",\"user\":\"daytona\",\"autoDestroyAt\":\"%s\","
		"\"autoStopInterval\":60}",
		state, at);
	return out;
}

Test(lifecycle, what_is_destroyed_in_time_is_given_more_where_it_has_less)
{
	const struct canned_row made[] = {
		{ LOOK, 200, mortal("started", 1000), NULL },
		NO_PROXY,
		{ TOUCH, 201, NULL, NULL },
		{ TOUCH, 201, NULL, NULL },
		{ "POST /sandbox/i1/ttl/18 ", 200, SANDBOX("started", ""), NULL },
		{ TOUCH, 201, NULL, NULL },
		{ "POST /sandbox/i1/ttl/30 ", 200, SANDBOX("started", ""), NULL },
	};
	static struct canned_row rows[sizeof made / sizeof *made];

	/* The server reads its rows until it stops. */
	memcpy(rows, made, sizeof made);
	FIND(&f, rows, &plain);
	for (int64_t seconds = 300; seconds <= 1800; seconds += 750)
		cr_expect(eq(int, daytona_provider.extend(&f.d->at.base, NULL, seconds, &f.e),
				  ERR_OK),
			"%s", f.e.text);
}

Test(lifecycle, what_is_destroyed_in_time_says_so_also_at_rest)
{
	const struct canned_row made[] = { { LOOK, 200, mortal("started", 1000), NULL }, NO_PROXY,
		{ LOOK, 200, mortal("stopped", 1000), NULL } };
	static struct canned_row rows[sizeof made / sizeof *made];
	struct sandbox_info info;
	char root[] = "/home/daytona";

	/* The server reads its rows until it stops. */
	memcpy(rows, made, sizeof made);
	FIND(&f, rows, &plain);
	f.d->at.remote.root = root;
	for (int i = 0; i < 2; i++) {
		cr_assert(eq(int, daytona_provider.info(&f.d->at.base, NULL, &info, &f.e), ERR_OK),
			"%s", f.e.text);
		cr_expect(info.expires_s > 700 && info.expires_s <= 1000, "%d: %lld", i,
			(long long)info.expires_s);
		cr_expect(strstr(info.warning, "is destroyed at 2") != NULL, "%s", info.warning);
	}
}

Test(lifecycle, what_does_not_stop_by_itself_is_not_extended)
{
	static const struct canned_row rows[] = { STOPS_AFTER("0"), NO_PROXY };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.extend(&f.d->at.base, NULL, 900, &f.e), ERR_OK), "%s",
		f.e.text);
}

Test(lifecycle, an_interval_of_no_sense_is_none)
{
	static const struct canned_row rows[] = { STOPS_AFTER("9223372036854775807"), NO_PROXY };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, daytona_provider.extend(&f.d->at.base, NULL, 900, &f.e), ERR_OK), "%s",
		f.e.text);
}

Test(lifecycle, the_time_left_is_never_more_than_the_interval)
{
	static const struct canned_row rows[] = {
		{ LOOK, 200,
			SANDBOX("started",
				",\"autoStopInterval\":2,\"lastActivityAt\":\"2999-01-01T00:00:"
				"00Z\""),
			NULL },
		NO_PROXY,
		{ LOOK, 200,
			SANDBOX("started",
				",\"autoStopInterval\":2,\"lastActivityAt\":\"1999-01-01T00:00:"
				"00Z\""),
			NULL },
	};
	struct sandbox_info info;
	char root[] = "/home/daytona";

	FIND(&f, rows, &plain);
	f.d->at.has_remote = true;
	f.d->at.remote.root = root;
	cr_assert(eq(int, daytona_provider.info(&f.d->at.base, NULL, &info, &f.e), ERR_OK), "%s",
		f.e.text);
	cr_expect(eq(i64, info.expires_s, 120));
	cr_assert(eq(int, daytona_provider.info(&f.d->at.base, NULL, &info, &f.e), ERR_OK), "%s",
		f.e.text);
	cr_expect(eq(i64, info.expires_s, 0));
	cr_expect(eq(str, info.id, "i1"));
	cr_expect(eq(str, info.root, "/home/daytona"));
}

/* ---- Snapshots and forks ---- */

#define KEEP "POST /sandbox/i1/snapshot "
#define FORK "POST /sandbox/i1/fork "

Test(lifecycle, a_snapshot_is_waited_for_until_it_is_active)
{
	static const struct canned_row rows[] = {
		{ KEEP, 200, SANDBOX("snapshotting", ""), NULL },
		LOOK_IS("snapshotting"),
		LOOK_IS("started"),
		{ "GET /snapshots/mine ", 200, "{\"id\":\"s1\",\"state\":\"pending\"}", NULL },
		LOOK_IS("started"),
		{ "GET /snapshots/mine ", 200, "{\"id\":\"s1\",\"state\":\"active\"}", NULL },
		{ KEEP, 200, SANDBOX("snapshotting", ""), NULL },
		LOOK_IS("started"),
		{ "GET /snapshots/mine ", 200,
			"{\"id\":\"s1\",\"state\":\"error\",\"errorReason\":\"no room\"}", NULL },
		{ KEEP, 200, SANDBOX("snapshotting", ""), NULL },
		{ LOOK, 200, SANDBOX("error", ",\"errorReason\":\"lost\""), NULL },
	};
	char id[SNAPSHOT_ID_SIZE];

	OPEN(&f, rows, &named);
	cr_assert(eq(int, daytona_snapshot(&f.d->at.base, NULL, "mine", id, &f.e), ERR_OK), "%s",
		f.e.text);
	cr_expect(eq(str, id, "mine"));
	cr_expect(eq(int, daytona_snapshot(&f.d->at.base, NULL, "mine", id, &f.e), ERR_IO));
	cr_expect(strstr(f.e.text, "no room") != NULL, "%s", f.e.text);
	cr_expect(eq(int, daytona_snapshot(&f.d->at.base, NULL, "mine", id, &f.e), ERR_IO));
	cr_expect(strstr(f.e.text, "lost") != NULL, "%s", f.e.text);
}

static enum err add_words(void *context, const char *id, const char *name, struct error *e)
{
	(void)e;
	buf_printf(context, "%s=%s ", id, name);
	return ERR_OK;
}

Test(lifecycle, snapshots_of_all_pages_are_listed_without_the_vendors_own)
{
	static const struct canned_row rows[] = {
		{ "GET /snapshots?limit=100 ", 200,
			"{\"items\":[{\"id\":\"1\",\"name\":\"theirs\",\"general\":true},"
			"{\"id\":\"2\",\"name\":\"a\",\"general\":false}]}",
			NULL },
		{ "GET /snapshots?limit=100&page=2 ", 200, "{\"items\":[{\"id\":\"3\"}]}", NULL },
		{ "GET /snapshots?limit=100&page=3 ", 200, "{\"items\":[]}", NULL },
	};
	AUTO_BUF struct buf words = BUF_INIT(1000);

	OPEN(&f, rows, &plain);
	cr_assert(eq(int, daytona_list_snapshots(&plain, NULL, add_words, &words, &f.e), ERR_OK),
		"%s", f.e.text);
	cr_expect(eq(str, (char *)buf_text(&words), "a= 3= "));
}

Test(lifecycle, a_fork_that_fails_is_deleted)
{
	static const struct canned_row rows[] = {
		{ FORK, 200, "{\"id\":\"i2\",\"state\":\"starting\"}", NULL },
		{ "GET /sandbox/i2 ", 200, "{\"id\":\"i2\",\"state\":\"starting\"}", NULL },
		{ "GET /sandbox/i2 ", 200, "{\"id\":\"i2\",\"state\":\"error\"}", NULL },
		{ "DELETE /sandbox/i2 ", 200, "{}", NULL },
		{ FORK, 200, "{}", NULL },
	};
	char id[128];

	OPEN(&f, rows, &named);
	cr_expect(eq(int, daytona_fork(&f.d->at.base, NULL, id, &f.e), ERR_IO));
	cr_expect(eq(int, daytona_fork(&f.d->at.base, NULL, id, &f.e), ERR_PROTOCOL));
}
