/* GET /download: whole, and from the byte where it broke off. */
#include "providers/langsmith/files.h"
#include "tests/langsmith/fixture.h"

#include <stdio.h>

TestSuite(langsmith_download, .fini = fixture_end, .timeout = 300);

#define DOWNLOAD "GET /dp/opaque/download?path=/root/a%25b "
#define V1       "ETag: \"v1\"\r\n"
#define V2       "ETag: \"v2\"\r\n"
#define REST     "Content-Range: bytes 5-9/10\r\n"

static struct kept kept;
static uint64_t done_behind; /* the `done` of the last fetch */

/* Fetches the rest of the version `tag`, where `done` bytes came before a connection broke. */
static enum err fetch_rest(uint64_t done, const char *tag)
{
	struct file_fetch f = {
		.path = "/root/a%b", .id = "b1", .sink = keep, .sink_context = &kept, .done = done
	};

	snprintf(f.tag, sizeof f.tag, "%s", tag);
	enum err kind = file_fetch(&f, &sandbox->data, NULL, &e);

	done_behind = f.done;
	return kind;
}

Test(langsmith_download, a_whole_file_is_one_request)
{
	static const struct canned_row rows[] = { FOUND, { DOWNLOAD, 200, "0123456789", V1 } };

	FIND(rows);
	cr_assert(eq(int, langsmith_download(sandbox, NULL, "/root/a%b", keep, &kept, &e), ERR_OK),
		"%s", e.text);
	fixture_stop();
	cr_expect(eq(str, kept.out, "0123456789"));
	cr_expect(not(request_has(1, "\r\nRange:")));
}

Test(langsmith_download, an_empty_file_is_whole)
{
	static const struct canned_row rows[] = { FOUND, { DOWNLOAD, 200, "", V1 } };

	FIND(rows);
	cr_expect(eq(int, fetch_rest(0, ""), ERR_OK), "%s", e.text);
}

Test(langsmith_download, goes_on_by_a_range_of_its_version)
{
	static const struct canned_row rows[] = { FOUND, { DOWNLOAD, 206, "56789", V1 REST } };

	FIND(rows);
	cr_assert(eq(int, fetch_rest(5, "\"v1\""), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, kept.out, "56789"));
	cr_expect(request_has(1, "\r\nRange: bytes=5-\r\n"));
	cr_expect(request_has(1, "\r\nIf-Range: \"v1\"\r\n"));
}

Test(langsmith_download, another_version_is_never_appended)
{
	static const struct canned_row rows[] = {
		FOUND, { DOWNLOAD, 200, "abcdefghij", V2 }, /* If-Range did not match */
		{ DOWNLOAD, 206, "fghij", V2 REST },        /* the server ignored If-Range */
	};

	FIND(rows);
	cr_expect(eq(int, fetch_rest(5, "\"v1\""), ERR_STALE));
	cr_expect(eq(int, fetch_rest(5, "\"v1\""), ERR_STALE));
	cr_expect(eq(str, kept.out, ""));
}

Test(langsmith_download, from_an_older_server_what_came_is_passed_over)
{
	static const struct canned_row rows[] = { FOUND, { DOWNLOAD, 200, "0123456789", NULL } };

	FIND(rows);
	cr_assert(eq(int, fetch_rest(5, ""), ERR_OK), "%s", e.text);
	fixture_stop();
	cr_expect(eq(str, kept.out, "56789"));
	cr_expect(eq(u64, done_behind, 10));
	cr_expect(not(request_has(1, "If-Range")));
}

Test(langsmith_download, a_weak_tag_promises_nothing)
{
	static const struct canned_row rows[] = { FOUND,
		{ DOWNLOAD, 200, "0123456789", "ETag: W/\"v1\"\r\n" } };

	FIND(rows);
	cr_assert(eq(int, fetch_rest(5, ""), ERR_OK), "%s", e.text);
	cr_expect(eq(str, kept.out, "56789"));
}

Test(langsmith_download, another_range_than_was_asked_for_makes_no_sense)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ DOWNLOAD, 206, "456789", V1 "Content-Range: bytes 4-9/10\r\n" },
		{ DOWNLOAD, 206, "56789", V1 },
		{ DOWNLOAD, 206, "56789", V1 REST },
	};

	FIND(rows);
	cr_expect(eq(int, fetch_rest(5, "\"v1\""), ERR_PROTOCOL));
	cr_expect(eq(int, fetch_rest(5, "\"v1\""), ERR_PROTOCOL));
	cr_expect(eq(int, fetch_rest(0, ""), ERR_PROTOCOL));
	cr_expect(eq(str, kept.out, ""));
}

Test(langsmith_download, a_416_at_the_very_end_is_the_end)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ DOWNLOAD, 416, "invalid range\n", "Content-Range: bytes */5\r\n" },
		{ DOWNLOAD, 416, "invalid range\n", "Content-Range: bytes */3\r\n" },
	};

	FIND(rows);
	cr_expect(eq(int, fetch_rest(5, "\"v1\""), ERR_OK), "%s", e.text);
	cr_expect(eq(int, fetch_rest(5, "\"v1\""), ERR_PROTOCOL));
}

Test(langsmith_download, a_304_was_not_asked_for)
{
	static const struct canned_row rows[] = { FOUND, { DOWNLOAD, 304, NULL, V1 },
		{ DOWNLOAD, 304, NULL, V1 }, { DOWNLOAD, 304, NULL, V1 },
		{ DOWNLOAD, 304, NULL, V1 } };

	FIND(rows);
	cr_expect(eq(int, fetch_rest(0, ""), ERR_UNREACHABLE), "%s", e.text);
}

Test(langsmith_download, a_sink_that_refuses_ends_it)
{
	static const struct canned_row rows[] = { FOUND, { DOWNLOAD, 200, "0123456789", V1 } };

	kept.refusal = ERR_UNREACHABLE;
	FIND(rows);
	cr_expect(eq(int, fetch_rest(0, ""), ERR_UNREACHABLE));
	cr_expect(eq(str, e.text, "the sink"));
}

/* Each of three tries is four requests. */
Test(langsmith_download, a_connection_that_breaks_all_the_time_is_given_up)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
		{ DOWNLOAD, 0, NULL, NULL },
	};

	FIND(rows);
	cr_expect(eq(int, fetch_rest(5, "\"v1\""), ERR_UNREACHABLE));
}

Test(langsmith_download, what_is_not_there_is_not_found)
{
	static const struct canned_row rows[] = { FOUND,
		{ DOWNLOAD, 404,
			"{\"detail\":{\"error\":\"FileNotFound\",\"message\":\"/root/a%b\"}}",
			NULL } };

	FIND(rows);
	cr_expect(eq(int, fetch_rest(0, ""), ERR_NOT_FOUND));
}
