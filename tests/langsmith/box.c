/* The control plane's answers, and the requests to it. */
#include "providers/base/cleanup.h"
#include "tests/langsmith/fixture.h"

TestSuite(langsmith_box, .fini = fixture_end, .timeout = 300);

#define NOW_S 1800000000 /* 2027-01-15T08:00:00Z */

static struct box parse(const char *text)
{
	AUTO_JSON struct json_object *json = json_tokener_parse(text);
	struct box b;

	cr_assert(eq(int, box_parse(&b, json, NOW_S, &e), ERR_OK), "%s", e.text);
	return b;
}

Test(langsmith_box, has_a_status_an_address_and_a_directory)
{
	struct box b = parse("{\"id\":\"b1\",\"status\":\"failed\",\"status_message\":\"no image\","
			     "\"dataplane_url\":\"https://r/b\",\"idle_ttl_seconds\":1800,"
			     "\"run_config\":{\"work_dir\":\"/w\"}}");

	cr_expect(eq(str, b.id, "b1"));
	cr_expect(eq(int, b.status, BOX_FAILED));
	cr_expect(eq(str, b.message, "no image"));
	cr_expect(eq(str, b.dataplane_url, "https://r/b"));
	cr_expect(eq(str, b.work_dir, "/w"));
	cr_expect(eq(i64, b.idle_s, 1800));
}

Test(langsmith_box, an_unknown_status_is_left_to_requests)
{
	cr_expect(eq(int, parse("{\"id\":\"b1\",\"status\":\"hibernating\"}").status, BOX_READY));
	cr_expect(eq(str, parse("{\"id\":\"b1\",\"dataplane_url\":null}").dataplane_url, ""));
}

Test(langsmith_box, ends_when_idle_or_long_stopped)
{
	struct box idle = parse("{\"id\":\"b1\",\"status\":\"ready\",\"idle_ttl_seconds\":600}");
	struct box ever = parse("{\"id\":\"b1\",\"status\":\"ready\",\"idle_ttl_seconds\":0}");
	struct box kept = parse("{\"id\":\"b1\",\"status\":\"stopped\",\"idle_ttl_seconds\":600,"
				"\"stopped_at\":\"2027-01-15T07:59:00.123Z\","
				"\"delete_after_stop_seconds\":86400}");
	struct box always = parse("{\"id\":\"b1\",\"status\":\"stopped\",\"stopped_at\":"
				  "\"2027-01-15T07:59:00Z\",\"delete_after_stop_seconds\":0}");

	cr_expect(eq(i64, box_ends_s(&idle), 600));
	cr_expect(eq(i64, box_ends_s(&ever), -1));
	cr_expect(eq(i64, box_ends_s(&kept), 86340));
	cr_expect(eq(i64, box_ends_s(&always), -1));
	cr_expect(eq(int, box_state(&kept), SANDBOX_STOPPED));
}

Test(langsmith_box, says_what_it_loses_where_it_is_not_persistent)
{
	struct box kept = parse("{\"id\":\"b1\",\"status\":\"ready\",\"persistent\":true}");
	struct box lost = parse("{\"id\":\"b1\",\"status\":\"ready\",\"persistent\":false,"
				"\"idle_ttl_seconds\":600}");
	struct sandbox_info info;

	box_describe(&kept, &info);
	cr_expect(eq(str, info.warning, ""));
	box_describe(&lost, &info);
	cr_expect(eq(str, info.warning,
		"it is not persistent: what is written is lost when it stops, as it does when it "
		"is idle"));
}

Test(langsmith_box, without_an_id_it_makes_no_sense)
{
	AUTO_JSON struct json_object *json = json_tokener_parse("{\"id\":\"a b\"}");
	struct box b;

	cr_expect(eq(int, box_parse(&b, json, NOW_S, &e), ERR_PROTOCOL));
	cr_expect(eq(int, box_parse(&b, NULL, NOW_S, &e), ERR_PROTOCOL));
}

Test(langsmith_box, ids_that_would_name_another_resource_are_refused)
{
	static const char *const bad[] = { "", ".", "..", "a b", "a\nb", "\x7f" };
	char long_one[200];

	memset(long_one, 'a', sizeof long_one - 1);
	long_one[sizeof long_one - 1] = 0;
	cr_expect(eq(int, box_check_id(long_one, &e), ERR_INVALID));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect(eq(int, box_check_id(bad[i], &e), ERR_INVALID), "%zu", i);
	cr_expect(eq(int, box_check_id("my-box.1", &e), ERR_OK));
	cr_expect(eq(int, box_check_id("a/b", &e), ERR_OK));
}

/* ---- Requests ---- */

static struct rest_account account;

static void open_account(void)
{
	const struct provider_config cfg = { 0 };

	cr_assert(eq(int, langsmith_account_open(&account, &cfg, &e), ERR_OK), "%s", e.text);
}

static void close_account(void)
{
	rest_account_close(&account);
	fixture_end();
}

TestSuite(langsmith_box_api, .fini = close_account, .timeout = 300);

Test(langsmith_box_api, a_name_is_escaped_and_the_key_is_a_header)
{
	static const struct canned_row rows[] = { { "GET " BOXES "/a%2Fb%3Fc ", 200, box_ready,
		NULL } };
	struct box b;

	SERVE(rows);
	open_account();
	cr_assert(eq(int, box_get(&account.rest, NULL, "a/b?c", &b, &e), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, b.id, "b1"));
	cr_expect(request_has(0, "\r\nX-Api-Key: " KEY "\r\n"));
}

Test(langsmith_box_api, a_ports_url_is_an_address_that_the_service_may_name)
{
	static const struct {
		const char *answer, *url; /* NULL: refused */
	} cases[] = {
		{ "{\"browser_url\":\"https://b.example/?token=t\"}",
			"https://b.example/?token=t" },
		{ "{\"browser_url\":\"http://b.example/?token=t\"}", NULL },
		{ "{\"browser_url\":\"https://u:p@b.example/?token=t\"}", NULL },
		{ "{\"browser_url\":\"https://b.example/#?token=t\"}", NULL },
		{ "{}", NULL },
	};
	struct canned_row rows[sizeof cases / sizeof *cases];

	for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
		rows[n] = (struct canned_row){ "POST " BOXES "/b1/service-url ", 200,
			cases[n].answer, NULL };
	SERVE(rows);
	open_account();
	for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
		AUTO_BUF struct buf url = BUF_INIT(1000);
		enum err kind = box_port_url(&account.rest, NULL, "b1", 80, &url, &e);

		cr_expect(eq(int, kind, cases[n].url ? ERR_OK : ERR_PROTOCOL), "%s", e.text);
		cr_expect(eq(
			str, (char *)buf_text(&url), (char *)(cases[n].url ? cases[n].url : "")));
	}
	fixture_stop();
}

static enum err count(void *context, const struct sandbox_entry *entry, struct error *why)
{
	(void)why;
	strcat(context, entry->unread ? entry->unread : entry->id);
	strcat(context, entry->unread ? "! " : entry->state == SANDBOX_RUNNING ? "+ " : "- ");
	return ERR_OK;
}

Test(langsmith_box_api, list_follows_the_cursor_until_it_is_null)
{
	static const struct canned_row rows[] = {
		{ "GET " BOXES " ", 200,
			"{\"items\":[{\"id\":\"a\",\"status\":\"ready\"}],\"next_cursor\":\"x/= "
			"1\"}",
			NULL },
		/* An empty page is not the end. */
		{ "GET " BOXES "?cursor=x%2F%3D%201 ", 200,
			"{\"items\":[],\"next_cursor\":\"y\",\"sandboxes\":[]}", NULL },
		{ "GET " BOXES "?cursor=y ", 200,
			"{\"items\":[{\"id\":\"b\",\"status\":\"stopped\"},"
			"{\"id\":\"c\",\"status\":\"deleting\"}],\"next_cursor\":null}",
			NULL },
	};
	char found[64] = "";

	SERVE(rows);
	open_account();
	cr_expect(eq(int, box_list(&account.rest, NULL, count, found, &e), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, found, "a+ b- "));
}

Test(langsmith_box_api, a_sandbox_that_cannot_be_read_hides_no_other)
{
	static const struct canned_row rows[] = { { "GET " BOXES " ", 200,
		"{\"items\":[{\"id\":\"..\"},{\"id\":\"b\",\"status\":\"ready\"}]}", NULL } };
	char found[100] = "";

	SERVE(rows);
	open_account();
	cr_expect(eq(int, box_list(&account.rest, NULL, count, found, &e), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, found, "langsmith: a sandbox without a usable id! b+ "));
}

Test(langsmith_box_api, list_takes_the_old_name_of_items)
{
	static const struct canned_row rows[] = { { "GET " BOXES " ", 200,
		"{\"sandboxes\":[{\"id\":\"a\",\"status\":\"ready\"}],\"offset\":0}", NULL } };
	char found[64] = "";

	SERVE(rows);
	open_account();
	cr_expect(eq(int, box_list(&account.rest, NULL, count, found, &e), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, found, "a+ "));
}

Test(langsmith_box_api, deleting_what_is_not_there_is_success)
{
	static const struct canned_row rows[] = {
		{ "DELETE " BOXES "/b1 ", 404, "{\"detail\":{\"error\":\"ResourceNotFound\"}}",
			NULL },
		{ "DELETE " BOXES "/b1 ", 403, "{\"detail\":\"no\"}", NULL },
	};

	SERVE(rows);
	open_account();
	cr_expect(eq(int, box_delete(&account.rest, NULL, "b1", &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, box_delete(&account.rest, NULL, "b1", &e), ERR_AUTH));
}

Test(langsmith_box_api, a_refusal_does_not_say_the_key_back)
{
	static const struct canned_row rows[] = { { "GET " BOXES "/b1 ", 403,
		"{\"detail\":\"not for " KEY "\"}", NULL } };
	struct box b;

	SERVE(rows);
	open_account();
	cr_expect(eq(int, box_get(&account.rest, NULL, "b1", &b, &e), ERR_AUTH));
	cr_expect(strstr(e.text, "not for ***") != NULL, "%s", e.text);
	cr_expect(strstr(e.text, KEY) == NULL, "%s", e.text);
}

Test(langsmith_box_api, times_are_multiples_of_60)
{
	cr_expect(eq(i64, box_whole_minutes(1), 60));
	cr_expect(eq(i64, box_whole_minutes(60), 60));
	cr_expect(eq(i64, box_whole_minutes(601), 660));
}
