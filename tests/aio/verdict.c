#include "providers/aio/verdict.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(verdict, .timeout = 300);

/* The guide's own example. */
#define MISSING                                                                                    \
	"{\"success\":false,\"message\":\"Failed to read file: [Errno 2] No such file or "         \
	"directory: "                                                                              \
	"'/tmp/missing.txt'\",\"data\":{\"path\":\"/tmp/"                                          \
	"missing.txt\",\"operation\":\"read\",\"message\":\"...\",\"error_type\":\"not_found\","   \
	"\"retryable\":false,\"errno\":2,\"errno_name\":\"ENOENT\"}}"
#define HTML "<html><head><title>401 Authorization Required</title></head></html>"

struct row {
	const char *path;
	int status;
	const char *body;
	enum err want;
	const char *says;
};

static enum err verdict_of(
	const char *path, int status, const char *body, bool has_key, struct error *e)
{
	struct http_header key = { .name = "Authorization", .value = "x" };
	const struct rest r = {
		.vendor = "aio", .headers = &key, .headers_count = has_key, .verdict = aio_verdict
	};
	const struct rest_ask ask = { .path = path, .what = "asking", .id = "localhost_1" };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_JSON struct json_object *json = NULL;

	answer.status = status;
	buf_add_string(&answer.body, body);
	rest_parse(&answer.body, &json);
	return aio_verdict(&r, &ask, status, json, &answer, e);
}

static void expect_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		struct error e = { 0 };

		cr_expect(
			eq(int, verdict_of(row->path, row->status, row->body, true, &e), row->want),
			"row %zu: %s", i, e.text);
		cr_expect(strstr(e.text, row->says) != NULL, "row %zu: %s", i, e.text);
	}
}
#define EXPECT_ROWS(rows) expect_rows(rows, sizeof(rows) / sizeof *(rows))

Test(verdict, a_failure_inside_a_200_is_a_failure)
{
	static const struct row rows[] = {
		{ "/v1/file/upload", 200, MISSING, ERR_NOT_FOUND,
			"aio:localhost_1: asking: Failed to read file: [Errno 2]" },
		{ "/v1/file/upload", 200, "{\"success\":false,\"data\":{\"errno\":13}}", ERR_DENIED,
			"permission denied" },
		{ "/v1/file/upload", 200,
			"{\"success\":false,\"data\":{\"error_type\":\"no_space_left\"}}",
			ERR_NO_SPACE, "no space" },
		{ "/v1/file/upload", 200,
			"{\"success\":false,\"data\":{\"error_type\":\"read_only_filesystem\"}}",
			ERR_READ_ONLY, "read-only" },
		{ "/v1/bash/exec", 200, "{\"success\":false,\"message\":\"command failed\"}",
			ERR_IO, "command failed" },
		{ "/v1/sandbox", 200, "{\"success\":false,\"message\":null,\"data\":\"odd\"}",
			ERR_IO, "input/output error" },
		{ "/v1/sandbox", 200, "{\"success\":true}", ERR_OK, "" },
		{ "/v1/sandbox", 200, "{}", ERR_OK, "" },
	};

	EXPECT_ROWS(rows);
}

Test(verdict, a_status_comes_before_what_the_body_says)
{
	static const struct row rows[] = {
		{ "/v1/sandbox", 500, "{\"success\":true}", ERR_UNREACHABLE, "500" },
		{ "/v1/file/download", 409, "", ERR_CONFLICT, "changed meanwhile" },
		{ "/v1/file/download", 404, "{\"detail\":\"File not found: /x\"}", ERR_NOT_FOUND,
			"File not found: /x" },
		{ "/v1/sandbox", 502, "<html>", ERR_UNREACHABLE, "it may be starting" },
		{ "/v1/sandbox", 429, "", ERR_BUSY, "too many requests" },
	};

	EXPECT_ROWS(rows);
}

Test(verdict, a_fault_of_a_body_is_reported)
{
	static const struct row rows[] = {
		{ "/v1/file/upload", 422,
			"{\"detail\":[{\"loc\":[\"body\",\"file\"],\"msg\":\"Field "
			"required\",\"type\":"
			"\"missing\"}]}",
			ERR_INVALID, "422: Field required" },
		{ "/v1/file/upload", 422, "{\"detail\":[]}", ERR_INVALID, "422" },
		{ "/v1/file/upload", 422, "{\"detail\":[[]]}", ERR_INVALID, "422" },
	};

	EXPECT_ROWS(rows);
}

Test(verdict, a_busy_session_is_distinguished_from_a_missing_one)
{
	static const struct row rows[] = {
		{ "/v1/bash/exec", 400, "{\"detail\":\"Maximum number of sessions (10) reached\"}",
			ERR_BUSY, "Maximum number of sessions (10) reached" },
		{ "/v1/bash/output", 404, "{\"detail\":\"Session not found: s\"}", ERR_STALE,
			"Session not found" },
	};

	EXPECT_ROWS(rows);
}

Test(verdict, a_key_that_is_missing_and_one_that_is_wrong_differ)
{
	struct error e = { 0 };

	for (int status = 401; status <= 403; status += 2) {
		cr_expect(eq(int, verdict_of("/v1/sandbox", status, HTML, false, &e), ERR_AUTH));
		cr_expect(strstr(e.text, "wants a key: SANDBOX_API_KEY") != NULL, "%s", e.text);
		cr_expect(eq(int, verdict_of("/v1/sandbox", status, HTML, true, &e), ERR_AUTH));
		cr_expect(strstr(e.text, "refuses the key") != NULL, "%s", e.text);
		cr_expect(strstr(e.text, "<html>") == NULL, "%s", e.text);
	}
}
