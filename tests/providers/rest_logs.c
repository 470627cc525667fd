#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "providers/base/cleanup.h"
#include "providers/rest/logs.h"

#include <stdio.h>
#include <string.h>

TestSuite(rest_logs, .timeout = 60);

static const struct rest a_service = { .vendor = "v" };

static enum err note(void *context, const struct log_line *line, struct error *e)
{
	(void)e;
	buf_printf(context, "%s|%s|%s;", line->time, line->kind, line->text);
	return ERR_OK;
}

static enum err read_log(
	const char *text, const struct rest_log *log, struct buf *out, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(1 << 20);
	AUTO_JSON struct json_object *json = NULL;

	buf_add_string(&body, text);
	cr_assert(rest_parse(&body, &json));
	return rest_log_pass(&a_service, json, log, note, out, e);
}

Test(rest_logs, the_oldest_line_is_the_first_and_times_are_text)
{
	static const struct rest_log up = {
		.lines = "l", .time = "at", .kind = "k", .text = "m", .other_text = "cmd"
	};
	struct rest_log down = up;
	AUTO_BUF struct buf out = BUF_INIT(1 << 16);
	const char *two = "{\"l\":[{\"at\":1700000000042,\"k\":\"exec\",\"m\":null,\"cmd\":\"ls\"},"
			  "{\"at\":\"2026-11-27T20:15:42Z\",\"m\":\"b\"}]}";

	down.is_newest_first = true;
	cr_assert(eq(int, read_log(two, &up, &out, NULL), ERR_OK));
	cr_assert(eq(str, (char *)buf_text(&out),
		"2023-11-14T22:13:20.042Z|exec|ls;2026-11-27T20:15:42Z||b;"));
	buf_reset(&out);
	cr_assert(eq(int, read_log(two, &down, &out, NULL), ERR_OK));
	cr_assert(eq(str, (char *)buf_text(&out),
		"2026-11-27T20:15:42Z||b;2023-11-14T22:13:20.042Z|exec|ls;"));
}

Test(rest_logs, the_newest_thousand_lines_are_passed_on)
{
	struct rest_log log = { .lines = "l", .time = "t", .kind = "k", .text = "m" };
	AUTO_BUF struct buf text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);

	buf_add_string(&text, "{\"l\":[");
	for (int i = 0; i < LOG_LINES_MAX + 2; i++)
		buf_printf(&text, "%s{\"m\":\"%d\"}", i ? "," : "", i);
	buf_add_string(&text, "]}");
	cr_assert(eq(int, read_log(buf_text(&text), &log, &out, NULL), ERR_OK));
	cr_assert(eq(int, strncmp(buf_text(&out), "||2;||3;", 8), 0));
	buf_reset(&out);
	log.is_newest_first = true;
	cr_assert(eq(int, read_log(buf_text(&text), &log, &out, NULL), ERR_OK));
	cr_assert(eq(int, strncmp(buf_text(&out), "||999;||998;", 12), 0));
}

Test(rest_logs, an_answer_without_lines_is_no_log)
{
	const struct rest_log log = { .lines = "l", .time = "t", .kind = "k", .text = "m" };
	AUTO_BUF struct buf out = BUF_INIT(1 << 16);
	struct error e = { 0 };

	cr_assert(eq(int, read_log("{}", &log, &out, &e), ERR_PROTOCOL));
	cr_assert(eq(str, e.text, "v: a log without l"));
}
