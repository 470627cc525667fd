/* The meaning of failures: the four forms, statuses and types of both planes. */
#include "providers/langsmith/verdict.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(langsmith_verdict, .timeout = 300);

#define CONTROL "/boxes/b1"
#define DATA    "/execute"

static enum err verdict_of(const char *path, int status, const char *body, struct error *e)
{
	const struct rest rest = { .vendor = "langsmith" };
	const struct rest_ask ask = { .path = path, .what = "asking", .id = "b1" };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_JSON struct json_object *json = NULL;

	answer.status = status;
	buf_add_string(&answer.body, body);
	rest_parse(&answer.body, &json);
	return langsmith_verdict(&rest, &ask, status, json, &answer, e);
}

#define TYPED(type, message) "{\"detail\":{\"error\":\"" type "\",\"message\":\"" message "\"}}"

Test(langsmith_verdict, errors_come_in_four_forms_and_as_pages)
{
	static const struct {
		const char *body, *words;
	} cases[] = {
		{ "{\"detail\":{\"error\":\"Odd\",\"message\":\"it broke\",\"error_id\":\"x7\"}}",
			"it broke (error_id x7)" },
		{ "{\"detail\":[{\"loc\":[\"body\",\"vcpus\"],\"msg\":\"too "
		  "many\",\"type\":\"v\"}]}",
			"vcpus: too many" },
		{ "{\"detail\":\"Not Found\"}", "Not Found" },
		{ "{\"error\":\"Odd\",\"message\":\"flat\"}", "flat" },
		{ "{\"error\":\"only a type\"}", "only a type" },
		{ "upstream gave up\r\nand more", "upstream gave up" },
		{ "<html>", "asking: 418" },
		{ "", "asking: 418" },
		{ "{\"detail\":[]}", "asking: 418" },
		{ "{\"detail\":7}", "asking: 418" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error e = { 0 };

		cr_expect(eq(int, verdict_of(CONTROL, 418, cases[i].body, &e), ERR_PROTOCOL));
		cr_expect(strstr(e.text, cases[i].words) != NULL, "%zu: %s", i, e.text);
		cr_expect(strstr(e.text, "langsmith:b1: ") == e.text, "%s", e.text);
	}
}

Test(langsmith_verdict, kinds)
{
	static const struct {
		const char *path;
		int status;
		const char *body;
		enum err want;
	} cases[] = {
		{ DATA, 200, "{}", ERR_OK },
		{ DATA, 204, "", ERR_OK },
		{ CONTROL, 401, "{\"detail\":\"no\"}", ERR_AUTH },
		{ CONTROL, 403, "{\"detail\":\"no\"}", ERR_AUTH },
		{ DATA, 403, TYPED("PermissionDenied", "open /x: permission denied"), ERR_DENIED },
		{ CONTROL, 404, TYPED("ResourceNotFound", "no such"), ERR_NOT_FOUND },
		{ DATA, 404, TYPED("FileNotFound", "/x"), ERR_NOT_FOUND },
		/*
		 * The sandbox is not found: the request did nothing, and the control plane knows
		 * more.
		 */
		{ DATA, 404, "{\"error\":\"NotFound\",\"message\":\"sandbox not found\"}",
			ERR_GONE },
		{ DATA, 404, "", ERR_GONE },
		{ "/download?path=/x", 404, "{\"detail\":\"not found\"}", ERR_NOT_FOUND },
		{ DATA, 400, TYPED("NotReady", "provisioning"), ERR_GONE },
		{ CONTROL, 400, TYPED("InvalidRequest", "it runs"), ERR_INVALID },
		{ CONTROL, 408, TYPED("Timeout", "late"), ERR_TIMEOUT },
		{ DATA, 408, TYPED("CommandTimeout", "late"), ERR_TIMEOUT },
		{ CONTROL, 409, TYPED("Conflict", "name"), ERR_BUSY },
		{ CONTROL, 422, "{\"detail\":[]}", ERR_INVALID },
		{ CONTROL, 429, TYPED("RateLimited", "slow down"), ERR_BUSY },
		{ DATA, 429, TYPED("RateLimited", "slow down"), ERR_BUSY },
		{ DATA, 500, TYPED("WriteError", "open /a: no such file or directory"),
			ERR_NOT_FOUND },
		{ DATA, 500, TYPED("WriteError", "open /a: is a directory"), ERR_IS_DIR },
		{ DATA, 500, TYPED("WriteError", "write /a: no space left on device"),
			ERR_NO_SPACE },
		{ DATA, 500, TYPED("CommandError", "fork/exec: argument list too long"),
			ERR_TOO_LARGE },
		{ DATA, 500, TYPED("ReadError", "odd"), ERR_IO },
		{ DATA, 502, TYPED("ConnectionError", "no route"), ERR_UNREACHABLE },
		{ CONTROL, 503, TYPED("Unschedulable", "no room"), ERR_UNREACHABLE },
		{ DATA, 504, "upstream request timeout", ERR_UNREACHABLE },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error e = { 0 };

		cr_expect(eq(int, verdict_of(cases[i].path, cases[i].status, cases[i].body, &e),
				  cases[i].want),
			"%zu: %s", i, e.text);
	}
}

Test(langsmith_verdict, the_id_of_an_error_hides_no_errno)
{
	struct error e = { 0 };

	cr_expect(eq(int,
		verdict_of(DATA, 500,
			"{\"detail\":{\"error\":\"WriteError\",\"message\":\"open /a: not a "
			"directory\","
			"\"error_id\":\"x7\"}}",
			&e),
		ERR_NOT_DIR));
	cr_expect(strstr(e.text, "error_id x7") != NULL, "%s", e.text);
}

Test(langsmith_verdict, a_refused_key_names_the_way_out)
{
	struct error e = { 0 };

	cr_expect(eq(int, verdict_of(CONTROL, 403, "{\"detail\":\"Forbidden\"}", &e), ERR_AUTH));
	cr_expect(strstr(e.text, "LANGSMITH_API_KEY") != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "Forbidden") != NULL, "%s", e.text);
}
