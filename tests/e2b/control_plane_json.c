#include "providers/e2b/control_plane_json.h"
#include "providers/rest/rest.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

/* An id has at most 63 characters. */
#define FIFTY_DIGITS "01234567890123456789012345678901234567890123456789"

TestSuite(control_plane_json, .timeout = 300);

static struct buf body_of(const char *text)
{
	return (struct buf){ .bytes = (unsigned char *)text, .len = strlen(text), .max = SIZE_MAX };
}

/* 2026-01-02T03:04:05Z */
#define NOW_S 1767323045

static enum err read_sandbox(const char *text, struct plane_sandbox *out, struct error *e)
{
	struct buf body = body_of(text);

	return plane_json_sandbox(&body, NOW_S, out, e);
}

Test(control_plane_json, a_created_sandbox_tells_its_ids_and_its_token)
{
	struct plane_sandbox s;
	struct error e = { 0 };

	cr_assert(eq(int,
			  read_sandbox(
				  "{\"templateID\":\"base\",\"sandboxID\":\"iabc\",\"alias\":\"b\","
				  "\"clientID\":\"x\",\"envdVersion\":\"0.6.13\","
				  "\"envdAccessToken\":\"t0k.en\",\"trafficAccessToken\":null,"
				  "\"domain\":\"e2b.dev\"}",
				  &s, &e),
			  ERR_OK),
		"%s", e.text);
	cr_expect(eq(str, s.id, "iabc"));
	cr_expect(eq(str, s.token, "t0k.en"));
	cr_expect(eq(str, s.domain, "e2b.dev"));
	cr_expect(eq(str, s.envd_version, "0.6.13"));
	cr_expect(eq(int, s.state, SANDBOX_RUNNING));
	cr_expect(eq(i64, s.ends_s, -1));
}

Test(control_plane_json, what_is_null_or_missing_is_empty)
{
	struct plane_sandbox s;

	cr_assert(eq(int,
		read_sandbox("{\"sandboxID\":\"i1\",\"domain\":null,\"state\":\"paused\","
			     "\"endAt\":\"1999-01-01T00:00:00Z\"}",
			&s, NULL),
		ERR_OK));
	cr_expect(eq(str, s.token, ""));
	cr_expect(eq(str, s.domain, ""));
	cr_expect(eq(str, s.envd_version, ""));
	cr_expect(eq(int, s.state, SANDBOX_PAUSED));
	cr_expect(eq(i64, s.ends_s, 0));
}

Test(control_plane_json, an_end_counts_from_the_time_by_the_services_clock)
{
	struct plane_sandbox s;

	cr_assert(eq(int,
		read_sandbox(
			"{\"sandboxID\":\"i1\",\"endAt\":\"2026-01-02T03:14:06.5Z\"}", &s, NULL),
		ERR_OK));
	cr_expect(eq(i64, s.ends_s, 601));
}

Test(control_plane_json, what_could_not_stand_in_a_url_or_a_header_is_refused)
{
	static const char *const bad[] = {
		"",
		"null",
		"[]",
		"{",
		"{\"sandboxID\":\"a\"} x",
		"{}",
		"{\"sandboxID\":7}",
		"{\"sandboxID\":\"\"}",
		"{\"sandboxID\":\"a/b\"}",
		"{\"sandboxID\":\"IABC\"}",
		"{\"sandboxID\":\"a\\u0000b\"}",
		"{\"sandboxID\":\"a\",\"domain\":\"evil.example/\"}",
		"{\"sandboxID\":\"a\",\"domain\":\"user@evil\"}",
		"{\"sandboxID\":\"a\",\"envdAccessToken\":\"t\\r\\nX: 1\"}",
		"{\"sandboxID\":\"a\",\"envdVersion\":\"1 2\"}",
		"{\"sandboxID\":\"" FIFTY_DIGITS "01234567890123\"}",
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct plane_sandbox s;
		struct error e = { 0 };

		cr_expect(eq(int, read_sandbox(bad[i], &s, &e), ERR_PROTOCOL), "%s", bad[i]);
		cr_expect(ne(str, e.text, ""));
	}
}

static enum err note(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct buf *out = context;

	(void)e;
	if (entry->unread)
		buf_printf(out, "(%s) ", entry->unread);
	else
		buf_printf(out, "%s%c ", entry->id, entry->state == SANDBOX_PAUSED ? 'p' : 'r');
	return ERR_OK;
}

Test(control_plane_json, a_page_names_each_sandbox)
{
	struct buf body = body_of("[{\"sandboxID\":\"a\",\"state\":\"running\"},"
				  "{\"sandboxID\":\"b\",\"state\":\"paused\"}]");
	AUTO_BUF struct buf out = BUF_INIT(1000);

	cr_assert(eq(int, plane_json_list(&body, NOW_S, note, &out, NULL), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&out), "ar bp "));
	body = body_of("{}");
	cr_expect(eq(int, plane_json_list(&body, NOW_S, note, &out, NULL), ERR_PROTOCOL));
}

Test(control_plane_json, a_sandbox_that_cannot_be_read_hides_no_other)
{
	struct buf body =
		body_of("[7,{\"sandboxID\":\"a\"},"
			"{\"sandboxID\":\"b\",\"domain\":\"no/domain\"},{\"sandboxID\":\"c\"}]");
	AUTO_BUF struct buf out = BUF_INIT(1000);

	cr_assert(eq(int, plane_json_list(&body, NOW_S, note, &out, NULL), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&out),
		"(e2b: the answer's sandboxID makes no sense) ar "
		"(e2b: the answer's domain makes no sense) cr "));
}

static enum err note_age(void *context, const struct sandbox_entry *entry, struct error *e)
{
	(void)e;
	buf_printf(context, "%lld ", (long long)entry->age_s);
	return ERR_OK;
}

/* NOW_S is 2026-01-02T03:04:05Z. */
Test(control_plane_json, an_age_is_counted_from_the_start)
{
	struct buf body =
		body_of("[{\"sandboxID\":\"a\",\"startedAt\":\"2026-01-02T03:03:05.9Z\"},"
			"{\"sandboxID\":\"b\",\"startedAt\":\"2026-01-02T04:04:05Z\"},"
			"{\"sandboxID\":\"c\",\"startedAt\":1767323035000},"
			"{\"sandboxID\":\"d\",\"startedAt\":\"soon\"},{\"sandboxID\":\"e\"}]");
	AUTO_BUF struct buf out = BUF_INIT(1000);

	cr_assert(eq(int, plane_json_list(&body, NOW_S, note_age, &out, NULL), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&out), "60 0 10 -1 -1 "));
}

static enum err note_labels(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct buf *out = context;

	(void)e;
	for (const char *const *label = entry->labels; *label; label++)
		buf_printf(out, "%s ", *label);
	return ERR_OK;
}

/* The vendor's list filters by text labels, so a label of another type could not be found. */
Test(control_plane_json, labels_are_texts)
{
	struct buf body =
		body_of("[{\"sandboxID\":\"a\",\"metadata\":{\"count\":7,\"team\":\"red\","
			"\"on\":true}}]");
	AUTO_BUF struct buf out = BUF_INIT(1000);

	cr_assert(eq(int, plane_json_list(&body, NOW_S, note_labels, &out, NULL), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&out), "team=red "));
}

Test(control_plane_json, an_error_gives_its_words)
{
	static const struct {
		const char *body, *want;
	} rows[] = {
		{ "{\"code\":404,\"message\":\"no such thing\"}", "no such thing" },
		{ "{\"code\":\"x\",\"message\":\"words\",\"error_code\":\"y\"}", "words" },
		{ "{\"code\":401}", "" },
		{ "{\"message\":5}", "" },
		{ "", "" },
		{ "404 page not found", "" },
		{ "<html>", "" },
	};
	char text[100];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf body = body_of(rows[i].body);

		plane_json_message(&body, text, sizeof text);
		cr_expect(eq(str, text, (char *)rows[i].want), "%s", rows[i].body);
	}
}

Test(control_plane_json, times_have_fractions_and_zones)
{
	static const struct {
		const char *text;
		int64_t want;
	} rows[] = {
		{ "2026-11-21T01:07:26Z", 26 },
		{ "2026-11-21T01:07:26.122139874Z", 26 },
		{ "2026-11-21T03:07:26+02:00", 26 },
		{ "2026-11-20T20:37:26.5-04:30", 26 },
		{ "2026-11-21T01:06:59Z", 0 },
		{ "2026-11-21T01:07:26", -1 },
		{ "2026-11-21T01:07:26Zx", -1 },
		{ "2026-11-21T01:07:26+02:00x", -1 },
		{ "soon", -1 },
		{ "", -1 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		/* 2026-11-21T01:07:00Z */
		cr_expect(eq(i64, rest_seconds_until(rows[i].text, 1795223220), rows[i].want), "%s",
			rows[i].text);
}

Test(control_plane_json, a_new_sandbox_is_asked_for_in_either_form)
{
	static const char *const env[] = { "A=1", "B=x=\"y\"", "C=", NULL };
	static const char *const labels[] = { "team=red", NULL };
	static const struct plane_new_sandbox none,
		all = { .template = "my \"box\"",
			.env = env,
			.labels = labels,
			.lifetime_s = 3000000000,
			.pause_at_end = true,
			.block_network = true };
	AUTO_BUF struct buf out = BUF_INIT(1000);

	plane_json_create(&out, &none, false);
	cr_expect(eq(str, (char *)buf_text(&out), "{\"templateID\": \"base\"}"));
	buf_reset(&out);
	plane_json_create(&out, &all, false);
	cr_expect(eq(str, (char *)buf_text(&out),
		"{\"templateID\": \"my \\\"box\\\"\", \"timeout\": 2147483647, "
		"\"envVars\": {\"A\": \"1\", \"B\": \"x=\\\"y\\\"\", \"C\": \"\"}, "
		"\"metadata\": {\"team\": \"red\"}, \"autoPause\": true, "
		"\"allow_internet_access\": false}"));
	buf_reset(&out);
	plane_json_create(&out, &none, true);
	cr_expect(eq(str, (char *)buf_text(&out),
		"{\"templateID\": \"base\", \"secure\": true, \"timeout\": 300}"));
}

Test(control_plane_json, what_it_may_reach_goes_before_all_that_is_denied)
{
	static const char *const allowed[] = { "pypi.org", "10.0.0.0/8", NULL };
	static const struct plane_new_sandbox wanted = { .allowed = allowed,
		.block_network = true };
	AUTO_BUF struct buf out = BUF_INIT(1000);

	plane_json_create(&out, &wanted, false);
	cr_expect(eq(str, (char *)buf_text(&out),
		"{\"templateID\": \"base\", \"network\": {\"allowOut\": [\"pypi.org\", "
		"\"10.0.0.0/8\"], \"denyOut\": [\"0.0.0.0/0\"]}}"));
}

Test(control_plane_json, a_timeout_of_nothing_is_left_out)
{
	AUTO_BUF struct buf out = BUF_INIT(1000);

	plane_json_timeout(&out, "timeout", 0);
	plane_json_timeout(&out, "duration", 91);
	cr_expect(eq(str, (char *)buf_text(&out), "{}{\"duration\": 91}"));
}

Test(control_plane_json, the_rules_of_a_network_replace_those_of_before)
{
	static const char *const allowed[] = { "pypi.org", "10.0.0.0/8", NULL };
	static const struct {
		bool blocked;
		const char *const *allowed;
		const char *want;
	} rows[] = {
		{ false, NULL, "{}" },
		{ true, NULL, "{\"allow_internet_access\": false}" },
		{ false, allowed,
			"{\"allowOut\": [\"pypi.org\", \"10.0.0.0/8\"], \"denyOut\": "
			"[\"0.0.0.0/0\"]}" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf out = BUF_INIT(1000);

		plane_json_network(&out, rows[i].blocked, rows[i].allowed);
		cr_expect(eq(str, (char *)buf_text(&out), (char *)rows[i].want));
	}
}
