#include "providers/e2b/verdict.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(connect_refusal, .timeout = 300);

/* The answers are observed ones. */
static const struct {
	int status; /* 0: the end of a stream */
	const char *body;
	enum err kind;
	bool is_untouched;
	const char *says;
} rows[] = {
	{ 0, "{}", ERR_OK, false, "" },
	{ 0, "{\"metadata\":{}}", ERR_OK, false, "" },
	{ 0,
		"{\"error\":{\"code\":\"invalid_argument\",\"message\":\"cwd '/nonexistent' does "
		"not exist\"}}",
		ERR_INVALID, true, "cwd '/nonexistent' does not exist" },
	{ 0, "{\"error\":{\"code\":\"unauthenticated\",\"message\":\"invalid username: 'x'\"}}",
		ERR_AUTH, true, "invalid username" },
	{ 0, "{\"error\":{\"code\":\"internal\",\"message\":\"watcher error: queue\"}}", ERR_IO,
		false, "watcher error" },
	{ 0, "{\"error\":{\"code\":\"internal\",\"message\":\"mkdir /a/b: not a directory\"}}",
		ERR_NOT_DIR, false, "/a/b" },
	{ 0, "{\"error\":{\"code\":\"deadline_exceeded\"}}", ERR_TIMEOUT, false,
		"deadline_exceeded" },
	{ 0, "{\"error\":{\"code\":\"made_up\",\"message\":\"m\"}}", ERR_PROTOCOL, false, "m" },
	{ 0, "{\"error\":{}}", ERR_PROTOCOL, false, "" },
	{ 0, "{\"error\":[]}", ERR_PROTOCOL, false, "" },
	{ 0, "[]", ERR_PROTOCOL, false, "no JSON" },
	{ 0, "{\"error\":", ERR_PROTOCOL, false, "no JSON" },
	{ 0, "", ERR_PROTOCOL, false, "no JSON" },

	{ 404, "{\"code\":\"not_found\",\"message\":\"process with pid 7 not found\"}",
		ERR_NOT_FOUND, true, "pid 7" },
	{ 401, "{\"code\":401,\"message\":\"unauthorized access\"}", ERR_AUTH, true,
		"access token" },
	{ 502, "{\"sandboxId\":\"i1\",\"message\":\"The sandbox was not found\",\"code\":502}",
		ERR_GONE, true, "The sandbox was not found" },
	{ 502,
		"{\"sandboxId\":\"i1\",\"message\":\"The sandbox is running but port is not "
		"open\",\"port\":49983,\"code\":502}",
		ERR_GONE, false, "port is not open" },
	{ 502, "<html>", ERR_UNREACHABLE, false, "502" },
	{ 409, "{\"message\":\"still transitioning\"}", ERR_BUSY, true, "still transitioning" },
	{ 507, "{\"code\":507,\"message\":\"not enough disk space available\"}", ERR_NO_SPACE,
		false, "not enough disk space" },
	{ 404, "{\"code\":404,\"message\":\"path '/x' does not exist\"}", ERR_NOT_FOUND, true,
		"/x" },
	{ 400, "{\"code\":400,\"message\":\"path '/d' is a directory\"}", ERR_IS_DIR, true, "/d" },
	{ 400, "{\"code\":400,\"message\":\"path is a directory: /d\"}", ERR_IS_DIR, true, "/d" },
	{ 400, "{\"code\":400,\"message\":\"path ' is a directory/x' is odd\"}", ERR_INVALID, true,
		"odd" },
	{ 500, "{\"code\":500,\"message\":\"error ensuring directories: path is a file: /f\"}",
		ERR_NOT_DIR, false, "/f" },
	{ 500, "{\"code\":500,\"message\":\"error opening file: open /f: permission denied\"}",
		ERR_DENIED, false, "/f" },
	{ 500, "{\"code\":500,\"message\":\"seeker can't seek\"}", ERR_IO, false, "seek" },
	{ 404, "{\"code\":{},\"message\":[]}", ERR_NOT_FOUND, true, "404" },
};

Test(connect_refusal, every_answer_that_was_observed_has_its_kind)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct error e = { 0 };
		bool untouched = false;
		size_t len = strlen(rows[i].body);
		enum err kind = rows[i].status
			? refusal_of_status(
				  rows[i].status, rows[i].body, len, "doing it", &untouched, &e)
			: refusal_of_end(rows[i].body, len, "doing it", &untouched, &e);

		cr_expect(eq(int, kind, rows[i].kind), "row %zu: %d %s: %s", i, rows[i].status,
			rows[i].body, e.text);
		cr_expect(eq(int, kind, e.kind), "row %zu", i);
		cr_expect(eq(int, untouched, rows[i].is_untouched), "row %zu: %s", i, rows[i].body);
		cr_expect(ne(ptr, strstr(e.text, rows[i].says), NULL), "row %zu: %s", i, e.text);
	}
}

Test(connect_refusal, a_body_that_is_cut_off_or_not_terminated_is_not_read_past)
{
	char body[9] = { '{', '"', 'c', 'o', 'd', 'e', '"', ':', '4' };
	struct error e;
	bool untouched;

	cr_expect(eq(int, refusal_of_status(400, body, sizeof body, "it", &untouched, &e),
		ERR_UNREACHABLE));
	cr_expect(not(untouched));
	cr_expect(eq(int, refusal_of_status(500, NULL, 0, "it", &untouched, &e), ERR_UNREACHABLE));
}
