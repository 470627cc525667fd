/* The sandbox that a name stands for. */
#include "tests/runloop/devbox_fixture.h"

#include <stdio.h>

TestSuite(runloop_name, .fini = fixture_end, .timeout = 300);

#define NAMED(id, name, status)                                                                    \
	"{\"id\":\"" id "\",\"name\":\"" name "\",\"status\":\"" status "\"}"
#define PAGE(query, more, devboxes)                                                                \
	{                                                                                          \
		"GET " PATHS "?limit=100&include_total_count=false" query " ", 200,                \
			"{\"devboxes\":[" devboxes "],\"has_more\":" more "}", NULL                \
	}
#define SHUTDOWN(id)                                                                               \
	{                                                                                          \
		"POST " PATHS "/" id "/shutdown ", 200, "{}", NULL                                 \
	}

static enum err resolve(const char *text)
{
	snprintf(f.b->at.id, sizeof f.b->at.id, "%s", text);
	return runloop_resolve(f.b, &fixture_call, &f.e);
}

static enum err delete_one(const char *text)
{
	const struct provider_config cfg = { .id = text };

	return runloop_provider.delete(&cfg, &fixture_call, &f.e);
}

Test(runloop_name, an_id_is_not_looked_for)
{
	fixture_start(NULL, 0);
	cr_expect(eq(int, resolve("dbx_of-mine"), ERR_OK), "%s", f.e.text);
	cr_expect(eq(str, f.b->at.id, "dbx_of-mine"));
	fixture_stop();
}

Test(runloop_name, a_name_is_found_on_any_page_among_those_that_live)
{
	static const struct canned_row rows[] = {
		PAGE("", "true",
			NAMED("dbx_1", "mine", "shutdown") "," NAMED("dbx_2", "other", "running")),
		PAGE("&starting_after=dbx_2", "false", NAMED("dbx_3", "mine", "suspended")),
	};

	FIXTURE_START(rows);
	cr_expect(eq(int, resolve("mine"), ERR_OK), "%s", f.e.text);
	cr_expect(eq(str, f.b->at.id, "dbx_3"));
	fixture_stop();
}

Test(runloop_name, nobody_is_taken_where_nobody_is_meant)
{
	static const struct canned_row rows[] = { PAGE("", "false", DEVBOX("running")) };

	FIXTURE_START(rows);
	cr_expect(eq(int, resolve("mine"), ERR_NOT_FOUND));
	cr_expect(strstr(f.e.text, "'mine'") != NULL, "%s", f.e.text);
	/* A devbox without a name does not have the empty name. */
	cr_expect(eq(int, resolve(""), ERR_INVALID));
	fixture_stop();
}

Test(runloop_name, that_two_have_is_refused_with_their_ids)
{
	static const struct canned_row rows[] = { PAGE("", "false",
		NAMED("dbx_1", "mine", "running") "," NAMED("dbx_2", "mine", "suspended")) };

	FIXTURE_START(rows);
	cr_expect(eq(int, resolve("mine"), ERR_INVALID));
	cr_expect(strstr(f.e.text, "dbx_1, dbx_2") != NULL, "%s", f.e.text);
	fixture_stop();
}

Test(runloop_name, an_id_of_another_form_is_meant_before_a_name)
{
	static const struct canned_row rows[] = { PAGE("", "false",
		NAMED("dbx_1", "x-2", "running") "," NAMED("x-2", "x-2", "running") "," NAMED(
			"dbx_3", "x-2", "running")) };

	FIXTURE_START(rows);
	cr_expect(eq(int, resolve("x-2"), ERR_OK), "%s", f.e.text);
	cr_expect(eq(str, f.b->at.id, "x-2"));
	fixture_stop();
}

Test(runloop_name, deleting_by_name_ends_the_one_that_has_it)
{
	static const struct canned_row rows[] = {
		PAGE("", "false", NAMED("dbx_2", "mine", "running")),
		SHUTDOWN("dbx_2"),
		PAGE("", "false", NAMED("dbx_2", "mine", "shutdown")),
	};

	FIXTURE_START(rows);
	cr_expect(eq(int, delete_one("mine"), ERR_OK), "%s", f.e.text);
	cr_expect(eq(int, delete_one("mine"), ERR_OK), "%s", f.e.text);
	fixture_stop();
}
