#include "tests/runloop/devbox_fixture.h"

TestSuite(devbox_parse, .timeout = 300);

static enum err parse(const char *json, struct devbox *out, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(10000);
	AUTO_JSON struct json_object *value = NULL;

	buf_add_string(&text, json);
	cr_assert(rest_parse(&text, &value), "%s", json);
	return devbox_parse(out, value, e);
}

Test(devbox_parse, every_status_is_one_of_five_phases)
{
	static const struct {
		const char *json;
		enum devbox_phase want;
	} rows[] = {
		{ DEVBOX("scheduled"), DEVBOX_STARTING },
		{ DEVBOX("queued"), DEVBOX_STARTING },
		{ DEVBOX("provisioning"), DEVBOX_STARTING },
		{ DEVBOX("initializing"), DEVBOX_STARTING },
		{ DEVBOX("resuming"), DEVBOX_STARTING },
		{ DEVBOX("running"), DEVBOX_RUNNING },
		{ DEVBOX("suspending"), DEVBOX_SUSPENDING },
		{ DEVBOX("suspended"), DEVBOX_SUSPENDED },
		{ DEVBOX("failure"), DEVBOX_ENDED },
		{ DEVBOX("shutdown"), DEVBOX_ENDED },
		{ DEVBOX("of_next_year"), DEVBOX_RUNNING },
		{ "{\"id\":\"dbx_1\",\"status\":7}", DEVBOX_RUNNING },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct devbox d;
		struct error e = { 0 };

		cr_assert(eq(int, parse(rows[i].json, &d, &e), ERR_OK), "%s", e.text);
		cr_expect(eq(int, (int)d.phase, (int)rows[i].want), "%s", rows[i].json);
	}
}

Test(devbox_parse, a_lifetime_counts_from_the_last_start_or_from_the_last_use)
{
	static const struct {
		const char *launch;
		int64_t want_s;
		bool is_idle_counted;
	} rows[] = {
		{ "{}", -1, false },
		{ "null", -1, false },
		{ "{\"keep_alive_time_seconds\":600}", 600, false },
		{ "{\"keep_alive_time_seconds\":600,\"lifecycle\":{\"after_idle\":"
		  "{\"idle_time_seconds\":60,\"on_idle\":\"suspend\"}}}",
			60, true },
		{ "{\"after_idle\":{\"idle_time_seconds\":70,\"on_idle\":\"shutdown\"}}", 70,
			true },
		{ "{\"lifecycle\":{\"after_idle\":null},\"keep_alive_time_seconds\":9}", 9, false },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf json = BUF_INIT(10000);
		struct devbox d;
		struct error e = { 0 };

		buf_printf(&json,
			"{\"id\":\"dbx_1\",\"status\":\"running\",\"create_time_ms\":1000,"
			"\"launch_parameters\":%s,\"state_transitions\":["
			"{\"status\":\"running\",\"transition_time_ms\":2000},"
			"{\"status\":\"suspended\",\"transition_time_ms\":3000},"
			"{\"status\":\"running\",\"transition_time_ms\":4000}]}",
			rows[i].launch);
		cr_assert(eq(int, parse(buf_text(&json), &d, &e), ERR_OK), "%s", e.text);
		cr_expect(eq(i64, d.lifetime_s, rows[i].want_s), "%s", rows[i].launch);
		cr_expect(eq(int, d.is_idle_counted, rows[i].is_idle_counted));
		cr_expect(eq(i64, d.running_ms, 4000));
	}
}

Test(devbox_parse, a_tunnel_that_could_lead_elsewhere_is_none)
{
	static const char *const keys[] = { "evil.example/", "a.b", "a b", "" };
	struct devbox d;
	struct error e = { 0 };

	cr_assert(eq(int, parse("{\"id\":\"dbx_1\",\"tunnel\":{\"tunnel_key\":\"k-1\"}}", &d, &e),
		ERR_OK));
	cr_expect(eq(str, d.tunnel, "k-1"));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		AUTO_BUF struct buf json = BUF_INIT(1000);

		buf_printf(&json, "{\"id\":\"dbx_1\",\"tunnel\":{\"tunnel_key\":\"%s\"}}", keys[i]);
		cr_assert(eq(int, parse(buf_text(&json), &d, &e), ERR_OK));
		cr_expect(eq(str, d.tunnel, ""));
	}
}

Test(devbox_parse, says_why_one_has_ended)
{
	struct devbox d;
	struct error e = { 0 };

	cr_assert(eq(int,
		parse("{\"id\":\"dbx_1\",\"status\":\"shutdown\",\"failure_reason\":null,"
		      "\"shutdown_reason\":\"idle\"}",
			&d, &e),
		ERR_OK));
	cr_expect(eq(str, d.reason, "idle"));
	cr_assert(eq(int,
		parse("{\"id\":\"dbx_1\",\"status\":\"failure\","
		      "\"failure_reason\":\"out_of_memory\",\"shutdown_reason\":null}",
			&d, &e),
		ERR_OK));
	cr_expect(eq(str, d.reason, "out_of_memory"));
}

Test(devbox_parse, an_id_that_could_lead_elsewhere_is_refused)
{
	static const char *const rows[] = { "{}", "[]", "null", "{\"id\":7}", "{\"id\":\"\"}",
		"{\"id\":\"../x\"}", "{\"id\":\"a?b\"}", "{\"id\":\"a b\"}",
		"{\"id\":\"a\\u0000\"}", "{\"id\":\"d\\u00e4\"}" };
	AUTO_BUF struct buf lengthy = BUF_INIT(1000);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct devbox d;
		struct error e = { 0 };

		cr_expect(eq(int, parse(rows[i], &d, &e), ERR_PROTOCOL), "%s", rows[i]);
	}
	for (size_t i = 0; i < 128; i++)
		buf_add_byte(&lengthy, 'a');
	cr_expect(not(devbox_is_id(buf_text(&lengthy))));
	cr_expect(devbox_is_id(buf_text(&lengthy) + 1));
}

Test(devbox_parse, command_ids_are_uuids_of_version_7_and_differ)
{
	char one[UUID7_SIZE], other[UUID7_SIZE];
	struct error e = { 0 };

	cr_assert(eq(int, uuid7_make(one, &e), ERR_OK));
	cr_assert(eq(int, uuid7_make(other, &e), ERR_OK));
	cr_expect(ne(str, one, other));
	cr_expect(eq(sz, strlen(one), 36));
	cr_expect(eq(chr, one[14], '7'));
	cr_expect(strchr("89ab", one[19]) != NULL);
	for (size_t i = 0; i < 36; i++)
		cr_expect(strchr(i == 8 || i == 13 || i == 18 || i == 23 ? "-" : "0123456789abcdef",
				  one[i]) != NULL,
			"%s", one);
}
