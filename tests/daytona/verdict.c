/* The meaning of refusals, in all their shapes. */
#include "providers/daytona/account.h"
#include "providers/daytona/toolbox.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#define JSON(code, message) "{\"statusCode\":0,\"code\":\"" code "\",\"message\":\"" message "\"}"

TestSuite(refusal, .timeout = 300);

struct row {
	int status;
	const char *body;
	enum err want;
};

static enum err verdict_of(rest_verdict by, int status, const char *body, struct error *e)
{
	const struct rest r = { .vendor = "daytona" };
	const struct rest_ask ask = { .what = "asking", .id = "i1" };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_JSON struct json_object *json = NULL;

	answer.status = status;
	buf_add_string(&answer.body, body);
	rest_parse(&answer.body, &json);
	return by(&r, &ask, status, json, &answer, e);
}

static void expect(rest_verdict by, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct error e = { 0 };

		cr_expect(eq(int, verdict_of(by, rows[i].status, rows[i].body, &e),
				  (int)rows[i].want),
			"%d %s: %s", rows[i].status, rows[i].body, e.text);
	}
}
#define EXPECT(by, rows) expect(by, rows, sizeof(rows) / sizeof *(rows))

Test(refusal, a_404_is_of_a_file_a_route_or_a_sandbox)
{
	static const struct row rows[] = {
		{ 404, "", ERR_NOT_FOUND },
		{ 404, JSON("FILE_NOT_FOUND", "file not found: /container"), ERR_NOT_FOUND },
		{ 404, JSON("NOT_FOUND", "not found: session not found"), ERR_NOT_FOUND },
		{ 404, "404 page not found", ERR_UNSUPPORTED },
		{ 404, JSON("", "Cannot GET /api/toolbox/i1"), ERR_UNSUPPORTED },
		{ 404,
			JSON("NOT_FOUND",
				"not found: sandbox container not found: No such container: i1"),
			ERR_GONE },
		{ 404, JSON("", "Sandbox with ID i1 not found"), ERR_GONE },
	};

	EXPECT(toolbox_verdict, rows);
}

Test(refusal, a_stopped_sandbox_looks_like_a_bad_request)
{
	static const struct row rows[] = {
		{ 400,
			JSON("BAD_REQUEST",
				"bad request: failed to resolve container IP after 3 attempts: no "
				"IP address found. Is the Sandbox started?"),
			ERR_GONE },
		{ 400, JSON("SANDBOX_NOT_RUNNING", "whatever"), ERR_GONE },
		{ 400, JSON("BAD_REQUEST", "bad request: failed to get runner info: 404"),
			ERR_GONE },
		{ 400, JSON("BAD_REQUEST", "bad request: command cannot be empty"), ERR_INVALID },
		{ 400, "", ERR_INVALID },
	};

	EXPECT(toolbox_verdict, rows);
}

Test(refusal, an_upload_fails_in_the_words_of_errno)
{
	static const struct row rows[] = {
		{ 400, "{\"errors\":[\"/a: create: open /a: is a directory\"],\"files\":null}",
			ERR_IS_DIR },
		{ 400,
			"{\"errors\":[\"/a/b: mkdir /a: mkdir /a: not a "
			"directory\"],\"files\":null}",
			ERR_NOT_DIR },
		{ 400, "{\"errors\":[\"/a: write: write /a: no space left on device\"]}",
			ERR_NO_SPACE },
		{ 400, "{\"errors\":[\"/a: create: open /a: permission denied\"]}", ERR_DENIED },
		{ 400, "{\"errors\":[\"file[0]: missing .path metadata\"]}", ERR_INVALID },
		{ 400, "{\"errors\":[5]}", ERR_INVALID },
		{ 400, "{\"errors\":[]}", ERR_INVALID },
	};

	EXPECT(toolbox_verdict, rows);
}

Test(refusal, other_statuses_of_the_daemon)
{
	static const struct row rows[] = {
		{ 200, "", ERR_OK },
		{ 401, JSON("UNAUTHORIZED", "unauthorized: authentication failed"), ERR_AUTH },
		{ 403, "", ERR_AUTH },
		{ 408, JSON("REQUEST_TIMEOUT", "request timeout: command execution timeout"),
			ERR_TIMEOUT },
		{ 408, JSON("PROCESS_EXECUTION_TIMEOUT", "newer"), ERR_TIMEOUT },
		{ 410, "", ERR_GONE },
		{ 413, "", ERR_TOO_LARGE },
		{ 429, "", ERR_BUSY },
		{ 500, "{\"statusCode\":500,\"message\":\"failed\",\"path\":\"\"}",
			ERR_UNREACHABLE },
		{ 502, "", ERR_UNREACHABLE },
	};

	EXPECT(toolbox_verdict, rows);
}

Test(refusal, of_the_control_plane)
{
	static const struct row rows[] = {
		{ 200, "{}", ERR_OK },
		{ 201, "", ERR_OK },
		{ 400, JSON("", "Snapshot x not found. Did you add it?"), ERR_INVALID },
		{ 400, JSON("", "Sandbox is not in valid state"), ERR_BUSY },
		{ 400, JSON("", "Sandbox is not in a stoppable state"), ERR_BUSY },
		{ 401, JSON("", "Invalid credentials"), ERR_AUTH },
		{ 404, JSON("", "Sandbox with ID or name x not found"), ERR_NOT_FOUND },
		{ 404, JSON("", "Cannot GET /api/sandbox/x/toolbox-proxy-url"), ERR_UNSUPPORTED },
		{ 409, JSON("", "Sandbox state change in progress"), ERR_BUSY },
		{ 409, JSON("", "Sandbox with name x already exists"), ERR_EXISTS },
		{ 503, "<html>", ERR_UNREACHABLE },
	};

	EXPECT(daytona_control_verdict, rows);
}

Test(refusal, tells_the_way_out)
{
	struct error e = { 0 };

	verdict_of(daytona_control_verdict, 401, JSON("", "Invalid credentials"), &e);
	cr_expect(eq(str, e.text,
		"daytona:i1: asking: 401: Invalid credentials; is DAYTONA_API_KEY right, and of "
		"the "
		"service at DAYTONA_API_URL?"));
	verdict_of(toolbox_verdict, 400, "{\"error\":\"request body\"}", &e);
	cr_expect(eq(str, e.text, "daytona:i1: asking: 400: request body"));
}
