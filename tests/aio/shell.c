/* Images without /v1/bash. */
#include "tests/aio/fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

TestSuite(shell, .fini = fixture_end, .timeout = 300);

#define SHELL  "POST /v1/shell/"
#define UPLOAD "POST /v1/file/upload "
#define GOOD   "{\"success\":true,\"data\":{\"session_id\":\"s1\"}}"

struct received {
	char out[64], err[64];
};

static enum err receive(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct received *h = context;

	(void)e;
	strncat(stream == STREAM_OUT ? h->out : h->err, bytes, len);
	return ERR_OK;
}

/* Runs a program, in a sandbox whose image is known to have no /v1/bash. */
static enum err run(struct received *received, int *exit_code)
{
	static const char *const argv[] = { "printf", "it's", NULL };
	struct fixture *f = fixture();

	f->sandbox.sessions.is_shell = true;
	return aio_run(&f->sandbox, NULL, argv, 0, NULL, receive, received, exit_code, &f->e);
}

#define SAYS(status, output)                                                                       \
	"{\"success\":true,\"data\":{\"session_id\":\"s1\",\"status\":\"" status                   \
	"\",\"output\":\"" output "\",\"exit_code\":0}}"

Test(shell, output_that_never_came_is_an_error)
{
	static const struct canned_row rows[] = { { UPLOAD, 200, GOOD, NULL },
		{ SHELL "sessions/create ", 200, GOOD, NULL },
		{ SHELL "exec ", 200, SAYS("completed", "what is no output of ours\\r\\n"), NULL },
		{ "DELETE /v1/shell/sessions/s1 ", 200, GOOD, NULL } };
	struct received received = { "", "" };
	int code;

	FIXTURE_START(NULL, rows);
	cr_expect(eq(int, run(&received, &code), ERR_PROTOCOL));
	canned_stop(&fixture()->server);
	cr_expect(strstr(fixture()->e.text, "pieces missing") != NULL, "%s", fixture()->e.text);
	cr_expect(fixture_has(2, "\"truncate\": false"));
	cr_expect(fixture_has(2, "\"id\": \"s1\""));
}

Test(shell, what_the_service_ended_has_failed)
{
	static const struct canned_row rows[] = { { UPLOAD, 200, GOOD, NULL },
		{ SHELL "sessions/create ", 200, GOOD, NULL },
		{ SHELL "exec ", 200, SAYS("running", ""), NULL },
		{ SHELL "wait ", 200, SAYS("terminated", ""), NULL },
		{ SHELL "view ", 200, SAYS("terminated", ""), NULL },
		{ "DELETE /v1/shell/sessions/s1 ", 200, GOOD, NULL } };
	struct received received = { "", "" };
	int code;

	FIXTURE_START(NULL, rows);
	cr_expect(eq(int, run(&received, &code), ERR_IO));
	canned_stop(&fixture()->server);
	cr_expect(strstr(fixture()->e.text, "'terminated'") != NULL, "%s", fixture()->e.text);
}

Test(shell, the_script_is_where_its_owner_alone_can_read)
{
	static const struct canned_row rows[] = { { UPLOAD, 200, GOOD, NULL },
		{ SHELL "sessions/create ", 200, GOOD, NULL },
		{ SHELL "exec ", 200, SAYS("completed", ""), NULL },
		{ "DELETE /v1/shell/sessions/s1 ", 200, GOOD, NULL } };
	struct attachment *at = &fixture()->sandbox.at;
	char staging[] = "/it is/.sandboxfs";
	struct received received = { "", "" };
	int code;

	FIXTURE_START(NULL, rows);
	at->has_remote = true;
	at->remote.staging = staging;
	run(&received, &code);
	canned_stop(&fixture()->server);
	cr_expect(fixture_has(0, "/it is/.sandboxfs/.sandboxfs-"));
	cr_expect(fixture_has(2, "/it is/.sandboxfs/.sandboxfs-"));
	cr_expect(eq(int, fixture_has(2, "bash /it is"), false));
	at->has_remote = false;
	at->remote.staging = NULL;
}
