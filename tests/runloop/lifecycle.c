#include "tests/runloop/devbox_fixture.h"

#include <time.h>

TestSuite(runloop_life, .fini = fixture_end, .timeout = 300);

#define CREATE(status)                                                                             \
	{                                                                                          \
		"POST " PATHS " ", 200, DEVBOX(status), NULL                                       \
	}
#define WAIT(status)                                                                               \
	{                                                                                          \
		"POST " PATHS "/dbx_1/wait_for_status ", 200, DEVBOX(status), NULL                 \
	}
#define ACT(action)                                                                                \
	{                                                                                          \
		"POST " PATHS "/dbx_1/" action " ", 200, "{}", NULL                                \
	}
#define LAUNCH(seconds)                                                                            \
	"\"launch_parameters\": {\"lifecycle\": {\"after_idle\": {\"idle_time_seconds\": " seconds \
	", \"on_idle\": \"suspend\"}}"

static enum err create(const struct provider_config *cfg, char id[128])
{
	return runloop_provider.create(cfg, &fixture_call, id, &f.e);
}

Test(runloop_life, a_new_one_is_suspended_when_nobody_used_it_for_its_lifetime)
{
	static const struct canned_row rows[] = { CREATE("provisioning"), WAIT("running") };
	const struct provider_config cfg = { 0 };
	char id[128];

	FIXTURE_START(rows);
	cr_assert(eq(int, create(&cfg, id), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(eq(str, id, "dbx_1"));
	cr_expect(eq(str, (char *)fixture_body(0), "{" LAUNCH("3600") "}}"));
}

Test(runloop_life, all_that_is_asked_for_is_passed_on)
{
	static const struct canned_row rows[] = { CREATE("running"), WAIT("running") };
	const struct provider_config cfg = { .template = "mine",
		.env = (const char *const[]){ "A=b=c", NULL },
		.labels = (const char *const[]){ "k=v", NULL },
		.name = "n",
		.cpus = 0.5,
		.memory_mb = 1000,
		.disk_mb = 4096,
		.lifetime_s = 60 };
	char id[128];

	FIXTURE_START(rows);
	cr_assert(eq(int, create(&cfg, id), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(eq(str, (char *)fixture_body(0),
		"{\"name\": \"n\", \"blueprint_name\": \"mine\", "
		"\"environment_variables\": {\"A\": \"b=c\"}, \"metadata\": {\"k\": "
		"\"v\"}, " LAUNCH("60") ", \"resource_size_request\": \"CUSTOM_SIZE\", "
					"\"custom_cpu_cores\": 0.5, "
					"\"custom_gb_memory\": 1, \"custom_disk_size\": 4}}"));
}

Test(runloop_life, a_template_is_a_blueprint_or_a_snapshot)
{
	static const struct {
		const char *template, *want;
	} rows[] = {
		{ "name", "\"blueprint_name\": \"name\"" },
		{ "bpt_1", "\"blueprint_id\": \"bpt_1\"" },
		{ "blueprint:1", "\"blueprint_id\": \"1\"" },
		{ "snp_1", "\"snapshot_id\": \"snp_1\"" },
		{ "snapshot:1", "\"snapshot_id\": \"1\"" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		static const struct canned_row answers[] = { CREATE("running"), WAIT("running") };
		const struct provider_config cfg = { .template = rows[i].template };
		char id[128];

		FIXTURE_START(answers);
		cr_expect(eq(int, create(&cfg, id), ERR_OK), "%s", f.e.text);
		fixture_stop();
		cr_expect(strstr(fixture_body(0), rows[i].want) != NULL, "%s", fixture_body(0));
		fixture_end();
		f = (struct fixture){ 0 };
	}
}

Test(runloop_life, what_cannot_be_asked_for_together_is_refused_before)
{
	static const struct provider_config rows[] = { { .cpus = 1 }, { .memory_mb = 1024 },
		{ .disk_mb = 4096 }, { .idle_s = 1, .lifetime_s = 1 } };

	fixture_start(NULL, 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char id[128];

		cr_expect(eq(int, create(&rows[i], id), ERR_INVALID), "%zu", i);
	}
	fixture_stop();
}

Test(runloop_life, a_devbox_that_does_not_start_is_not_left_behind)
{
	static const struct canned_row rows[] = { CREATE("provisioning"),
		{ "POST " PATHS "/dbx_1/wait_for_status ", 200,
			"{\"id\":\"dbx_1\",\"status\":\"failure\",\"failure_reason\":"
			"\"out_of_disk\"}",
			NULL },
		ACT("shutdown") };
	const struct provider_config cfg = { 0 };
	char id[128];

	FIXTURE_START(rows);
	cr_expect(eq(int, create(&cfg, id), ERR_UNREACHABLE));
	cr_expect(strstr(f.e.text, "out_of_disk") != NULL, "%s", f.e.text);
	fixture_stop();
}

Test(runloop_life, making_one_is_not_repeated_when_it_may_have_been_made)
{
	static const struct canned_row rows[] = { { "POST " PATHS " ", 503, "{}", NULL } };
	const struct provider_config cfg = { 0 };
	char id[128];

	FIXTURE_START(rows);
	cr_expect(eq(int, create(&cfg, id), ERR_UNREACHABLE), "%s", f.e.text);
	fixture_stop();
}

Test(runloop_life, deleting_one_that_has_ended_is_success)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/shutdown ", 400, "{\"message\":\"has ended\"}", NULL },
		{ "GET " PATHS "/dbx_1 ", 200, DEVBOX("shutdown"), NULL },
		{ "POST " PATHS "/dbx_1/shutdown ", 404, "{\"message\":\"unknown\"}", NULL },
		{ "POST " PATHS "/dbx_1/shutdown ", 409, "{\"message\":\"a snapshot\"}",
			"x-should-retry: false\r\n" },
		{ "GET " PATHS "/dbx_1 ", 200, DEVBOX("running"), NULL },
	};
	const struct provider_config cfg = { .id = "dbx_1" };

	FIXTURE_START(rows);
	cr_expect(eq(int, runloop_provider.delete(&cfg, &fixture_call, &f.e), ERR_OK), "%s",
		f.e.text);
	cr_expect(eq(int, runloop_provider.delete(&cfg, &fixture_call, &f.e), ERR_OK), "%s",
		f.e.text);
	cr_expect(eq(int, runloop_provider.delete(&cfg, &fixture_call, &f.e), ERR_BUSY));
	cr_expect(strstr(f.e.text, "a snapshot") != NULL, "%s", f.e.text);
	fixture_stop();
}

Test(runloop_life, pausing_waits_until_it_is_suspended)
{
	static const struct canned_row rows[] = { ACT("suspend"), WAIT("suspended") };

	FIXTURE_START(rows);
	cr_expect(eq(int, runloop_provider.pause(&f.b->at.base, &fixture_call, &f.e), ERR_OK), "%s",
		f.e.text);
	fixture_stop();
}

Test(runloop_life, a_refused_pause_is_reported_unless_it_rests_already)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/suspend ", 400, "{\"message\":\"wrong state\"}", NULL },
		{ "GET " PATHS "/dbx_1 ", 200, DEVBOX("running"), NULL },
		{ "POST " PATHS "/dbx_1/suspend ", 400, "{\"message\":\"wrong state\"}", NULL },
		{ "GET " PATHS "/dbx_1 ", 200, DEVBOX("suspended"), NULL },
		WAIT("suspended"),
	};

	FIXTURE_START(rows);
	cr_expect(eq(int, runloop_provider.pause(&f.b->at.base, &fixture_call, &f.e), ERR_INVALID));
	cr_expect(strstr(f.e.text, "wrong state") != NULL, "%s", f.e.text);
	cr_expect(eq(int, runloop_provider.pause(&f.b->at.base, &fixture_call, &f.e), ERR_OK), "%s",
		f.e.text);
	fixture_stop();
}

Test(runloop_life, a_devbox_that_is_suspended_does_not_end)
{
	static const struct canned_row rows[] = { { "GET " PATHS "/dbx_1 ", 200,
		"{\"id\":\"dbx_1\",\"status\":\"suspended\",\"create_time_ms\":1000,"
		"\"launch_parameters\":{\"after_idle\":{\"idle_time_seconds\":5000}}}",
		NULL } };
	struct sandbox_info info;

	FIXTURE_START(rows);
	f.b->at.remote.root = "/";
	cr_assert(
		eq(int, runloop_provider.info(&f.b->at.base, &fixture_call, &info, &f.e), ERR_OK));
	fixture_stop();
	cr_expect(eq(int, info.state, SANDBOX_PAUSED));
	cr_expect(eq(i64, info.expires_s, -1));
}

static int64_t left_of(const char *launch, int64_t running_s_ago)
{
	AUTO_BUF struct buf json = BUF_INIT(10000);
	struct canned_row row = { "GET " PATHS "/dbx_1 ", 200, NULL, NULL };
	struct sandbox_info info;

	buf_printf(&json,
		"{\"id\":\"dbx_1\",\"status\":\"running\",\"create_time_ms\":%lld,"
		"\"launch_parameters\":%s}",
		((long long)time(NULL) - running_s_ago) * 1000, launch);
	row.body = buf_text(&json);
	fixture_start(&row, 1);
	f.b->at.remote.root = "/";
	cr_assert(eq(int, runloop_provider.info(&f.b->at.base, &fixture_call, &info, &f.e), ERR_OK),
		"%s", f.e.text);
	fixture_stop();
	fixture_end();
	f = (struct fixture){ 0 };
	return info.expires_s;
}

Test(runloop_life, the_time_left_is_what_is_certain)
{
	static const struct {
		const char *launch;
		int64_t ago_s, want_s;
	} rows[] = {
		{ "{\"keep_alive_time_seconds\":5000}", 1000, 4000 },
		{ "{\"keep_alive_time_seconds\":5000}", 9000, 0 },
		{ "{\"keep_alive_time_seconds\":5000}", -9000, 5000 },
		{ "{\"after_idle\":{\"idle_time_seconds\":5000}}", 1000, 4000 },
		{ "{}", 1000, -1 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t left_s = left_of(rows[i].launch, rows[i].ago_s);

		/* The time that the test took may be gone as well. */
		cr_expect(le(i64, left_s, rows[i].want_s));
		cr_expect(ge(
			i64, left_s, rows[i].want_s > 0 ? rows[i].want_s - 100 : rows[i].want_s));
	}
}

Test(runloop_life, a_devbox_that_was_kept_alive_has_all_its_time)
{
	static const struct canned_row rows[] = { ACT("keep_alive"),
		{ "GET " PATHS "/dbx_1 ", 200,
			"{\"id\":\"dbx_1\",\"status\":\"running\",\"create_time_ms\":1000,"
			"\"launch_parameters\":{\"after_idle\":{\"idle_time_seconds\":5000}}}",
			NULL } };
	struct sandbox_info info;

	FIXTURE_START(rows);
	f.b->at.remote.root = "/";
	cr_assert(eq(int, runloop_provider.extend(&f.b->at.base, &fixture_call, 60, &f.e), ERR_OK));
	cr_assert(
		eq(int, runloop_provider.info(&f.b->at.base, &fixture_call, &info, &f.e), ERR_OK));
	fixture_stop();
	cr_expect(ge(i64, info.expires_s, 4900));
}

#define SNAPSHOTS PATHS "/disk_snapshots"

Test(runloop_life, a_snapshot_is_waited_for_and_create_takes_its_id)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/snapshot_disk_async ", 200, "{\"id\":\"snp_1\"}", NULL },
		{ "GET " SNAPSHOTS "/snp_1/status ", 200, "{\"status\":\"in_progress\"}", NULL },
		{ "GET " SNAPSHOTS "/snp_1/status ", 200, "{\"status\":\"complete\"}", NULL },
		{ "POST " PATHS "/dbx_1/snapshot_disk_async ", 200, "{\"id\":\"other\"}", NULL },
		{ "GET " SNAPSHOTS "/other/status ", 200, "{\"status\":\"complete\"}", NULL },
		{ "POST " SNAPSHOTS "/other/delete ", 404, "{\"message\":\"gone\"}", NULL },
		{ "POST " PATHS "/dbx_1/snapshot_disk_async ", 200, "{\"id\":\"snp_2\"}", NULL },
		{ "GET " SNAPSHOTS "/snp_2/status ", 200,
			"{\"status\":\"error\",\"error_message\":\"no room\"}", NULL },
		{ "POST " PATHS "/dbx_1/snapshot_disk_async ", 200, "{\"id\":\"../x\"}", NULL },
	};
	const struct provider_config cfg = { 0 };
	struct provider *p;
	char id[SNAPSHOT_ID_SIZE];

	FIXTURE_START(rows);
	p = &f.b->at.base;
	cr_assert(
		eq(int, runloop_snapshot(p, &fixture_call, "n", id, &f.e), ERR_OK), "%s", f.e.text);
	cr_expect(eq(str, id, "snp_1"));
	cr_assert(eq(int, runloop_snapshot(p, &fixture_call, NULL, id, &f.e), ERR_OK), "%s",
		f.e.text);
	cr_expect(eq(str, id, "snapshot:other"));
	cr_expect(eq(int, runloop_delete_snapshot(&cfg, &fixture_call, id, &f.e), ERR_OK), "%s",
		f.e.text);
	cr_expect(eq(int, runloop_snapshot(p, &fixture_call, NULL, id, &f.e), ERR_IO));
	cr_expect(strstr(f.e.text, "no room") != NULL, "%s", f.e.text);
	cr_expect(eq(int, runloop_snapshot(p, &fixture_call, NULL, id, &f.e), ERR_INVALID));
	fixture_stop();
	cr_expect(eq(str, (char *)fixture_body(0), "{\"name\": \"n\"}"));
}

/* ---- Evictions ---- */

#define WATCH "GET " PATHS "/evictions/watch "

static void wait_for_deadline(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (!evictions_deadline_s(f.b->evictions))
		nanosleep(&pause, NULL);
}

Test(runloop_life, an_eviction_of_the_devbox_is_a_warning)
{
	static const struct canned_row rows[] = {
		{ WATCH, 200,
			": hello\r\ndata: {\"devbox_id\":\"dbx_1\",\"eviction_deadline_ms\":1000}"
			"\n\ndata: junk\n\nevent: x\ndata:{\"devbox_id\":\"dbx_1\","
			"\"eviction_deadline_ms\":4102444800000,\"more\":1}\r\n\r\n"
			"data: {\"devbox_id\":\"dbx_2\",\"eviction_deadline_ms\":4102444900000}"
			"\n\n",
			EVENTS },
		{ "GET " PATHS "/dbx_1 ", 200, DEVBOX("running"), NULL },
	};
	struct sandbox_info info;

	FIXTURE_START(rows);
	cr_assert(eq(int, evictions_new(&f.b->evictions, &f.b->api.rest, "dbx_1", 0, &f.e), ERR_OK),
		"%s", f.e.text);
	wait_for_deadline();
	cr_assert(eq(int, runloop_provider.info(&f.b->at.base, &fixture_call, &info, &f.e), ERR_OK),
		"%s", f.e.text);
	cr_expect(strstr(info.warning, "at 2100-01-01T00:00:00Z") != NULL, "%s", info.warning);
	fixture_stop();
}
