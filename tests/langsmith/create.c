/* Making a sandbox, and leaving nothing behind where that fails. */
#include "tests/langsmith/fixture.h"

TestSuite(langsmith_create, .fini = fixture_end, .timeout = 300);

#define PROVISIONING                                                                               \
	"{\"id\":\"b1\",\"name\":\"n\",\"status\":\"provisioning\",\"dataplane_url\":null}"

#define QUOTA                                                                                      \
	{                                                                                          \
		"POST " BOXES " ", 429,                                                            \
			"{\"detail\":{\"error\":\"QuotaExceeded\",\"message\":\"sandbox count "    \
			"limit\"}}",                                                               \
			NULL                                                                       \
	}

static char id[128];

static enum err create(const struct provider_config *cfg)
{
	return langsmith_provider.create(cfg, NULL, id, &e);
}

Test(langsmith_create, asks_for_what_was_wanted_and_waits_by_the_status)
{
	static const struct canned_row rows[] = {
		{ "POST " BOXES " ", 201, PROVISIONING, NULL },
		{ STATUS, 200, "{\"status\":\"provisioning\"}", NULL },
		{ STATUS, 200, "{\"status\":\"ready\"}", NULL },
	};
	static const char *const env[] = { "A=b=c", NULL }, *const labels[] = { "team=x y", NULL };
	const struct provider_config cfg = { .template = "py:3",
		.env = env,
		.labels = labels,
		.name = "mine",
		.cpus = 2,
		.memory_mb = 8192,
		.disk_mb = 1024,
		.idle_s = 90,
		.delete_after_s = 86399 };

	SERVE(rows);
	cr_assert(eq(int, create(&cfg), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, id, "b1"));
	cr_expect(request_has(0, "\r\nContent-Type: application/json\r\n"));
	cr_expect(eq(str, (char *)request_body(0),
		"{\"wait_for_ready\": false, \"name\": \"mine\", \"snapshot_name\": \"py:3\", "
		"\"env_vars\": {\"A\": \"b=c\"}, \"labels\": {\"team\": \"x y\"}, \"vcpus\": 2, "
		"\"mem_bytes\": 8589934592, \"fs_capacity_bytes\": 1073741824, "
		"\"idle_ttl_seconds\": 120, \"delete_after_stop_seconds\": 86400}"));
}

Test(langsmith_create, a_uuid_is_a_snapshots_id_and_half_a_cpu_has_its_own_name)
{
	static const struct canned_row rows[] = { { "POST " BOXES " ", 201, box_ready, NULL } };
	const struct provider_config cfg = { .template = "01a1fba4-2058-7000-8000-00000000000a",
		.cpus = 0.5 };

	SERVE(rows);
	cr_assert(eq(int, create(&cfg), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(strstr(request_body(0), "\"snapshot_id\": \"01a1fba4-") != NULL);
	cr_expect(strstr(request_body(0), "\"cpu_millicores\": 500") != NULL);
	cr_expect(strstr(request_body(0), "\"name\": \"sandboxfs-") != NULL);
}

Test(langsmith_create, what_fails_while_it_is_made_is_deleted)
{
	static const struct canned_row rows[] = {
		{ "POST " BOXES " ", 201, PROVISIONING, NULL },
		{ STATUS, 200, "{\"status\":\"failed\",\"status_message\":\"no such image\"}",
			NULL },
		{ "DELETE " BOXES "/b1 ", 204, NULL, NULL },
	};
	const struct provider_config cfg = { 0 };

	SERVE(rows);
	cr_expect(eq(int, create(&cfg), ERR_UNREACHABLE));
	cr_expect(strstr(e.text, "no such image") != NULL, "%s", e.text);
}

Test(langsmith_create, whose_answer_is_lost_is_deleted_by_its_name)
{
	static const struct canned_row rows[] = {
		{ "POST " BOXES " ", 0, NULL, NULL },
		{ "DELETE " BOXES "/sandboxfs-", 204, NULL, NULL },
	};
	const struct provider_config cfg = { 0 };

	SERVE(rows);
	cr_expect(eq(int, create(&cfg), ERR_UNREACHABLE));
}

Test(langsmith_create, what_may_have_been_made_behind_a_500_is_deleted_by_its_name)
{
	static const struct canned_row rows[] = {
		/* In the service's own form: any other answer counts as none. */
		{ "POST " BOXES " ", 500,
			"{\"detail\":{\"error\":\"InternalServerError\",\"message\":\"odd end\"}}",
			NULL },
		{ "DELETE " BOXES "/sandboxfs-", 204, NULL, NULL },
	};
	const struct provider_config cfg = { 0 };

	SERVE(rows);
	cr_expect(eq(int, create(&cfg), ERR_UNREACHABLE));
	cr_expect(strstr(e.text, "odd end") != NULL, "%s", e.text);
}

Test(langsmith_create, a_name_as_long_as_a_uuid_is_a_snapshots_name)
{
	static const struct canned_row rows[] = { { "POST " BOXES " ", 201, box_ready, NULL } };
	const struct provider_config cfg = { .template = "deadbeef00deadbeef00deadbeef00deadbe" };

	SERVE(rows);
	cr_assert(eq(int, create(&cfg), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(strstr(request_body(0), "\"snapshot_name\": \"deadbeef00") != NULL);
}

Test(langsmith_create, of_a_name_of_the_users_nothing_is_deleted_where_the_outcome_is_unknown)
{
	static const struct canned_row rows[] = { { "POST " BOXES " ", 0, NULL, NULL } };
	const struct provider_config cfg = { .name = "mine" };

	SERVE(rows);
	cr_expect(eq(int, create(&cfg), ERR_UNREACHABLE));
}

Test(langsmith_create, a_full_quota_is_reported_and_nothing_is_deleted)
{
	static const struct canned_row rows[] = { QUOTA, QUOTA, QUOTA, QUOTA };
	const struct provider_config cfg = { 0 };

	SERVE(rows);
	cr_expect(eq(int, create(&cfg), ERR_QUOTA));
	cr_expect(strstr(e.text, "sandbox count limit") != NULL, "%s", e.text);
}

#define SNAPSHOTS "/api/v2/sandboxes/snapshots"

Test(langsmith_create, a_snapshot_of_a_sandbox_is_waited_for)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ "POST " BOXES "/b1/snapshot ", 201, "{\"id\":\"s1\",\"status\":\"building\"}",
			NULL },
		{ "GET " SNAPSHOTS "/s1 ", 200, "{\"id\":\"s1\",\"status\":\"building\"}", NULL },
		{ "GET " SNAPSHOTS "/s1 ", 200, "{\"id\":\"s1\",\"status\":\"ready\"}", NULL },
		{ "POST " BOXES "/b1/snapshot ", 201, "{\"id\":\"s2\",\"status\":\"building\"}",
			NULL },
		{ "GET " SNAPSHOTS "/s2 ", 200,
			"{\"status\":\"failed\",\"status_message\":\"no room\"}", NULL },
		{ "DELETE " SNAPSHOTS "/s2 ", 404, "{\"detail\":\"Snapshot 's2' not found\"}",
			NULL },
	};
	const struct provider_config cfg = { 0 };
	char made[SNAPSHOT_ID_SIZE];

	FIND(rows);
	cr_assert(eq(int, langsmith_snapshot(&sandbox->at.base, NULL, "n", made, &e), ERR_OK), "%s",
		e.text);
	cr_expect(eq(str, made, "s1"));
	cr_expect(eq(int, langsmith_snapshot(&sandbox->at.base, NULL, NULL, made, &e), ERR_IO));
	cr_expect(strstr(e.text, "no room") != NULL, "%s", e.text);
	cr_expect(eq(int, langsmith_delete_snapshot(&cfg, NULL, "s2", &e), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, (char *)request_body(1), "{\"name\": \"n\"}"));
}
