/* Requests to the daemon, as they leave and as they fail. */
#include "tests/daytona/fixture.h"

#include <stdlib.h>
#include <string.h>

#define EXECUTE  "POST /toolbox/i1/toolbox/process/execute "
#define UPLOAD   "POST /toolbox/i1/toolbox/files/bulk-upload "
#define DOWNLOAD "GET /toolbox/i1/toolbox/files/download?path="

static struct fixture f;
static const struct provider_config plain;
static const char *const argv[] = { "true", NULL };

static void stop(void)
{
	fixture_close(&f);
}

TestSuite(toolbox, .fini = stop, .timeout = 300);

static enum err ignore(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

static enum err run(const struct call *call, unsigned flags)
{
	struct toolbox_run run = { .argv = argv, .flags = flags, .sink = ignore };

	return toolbox_run(&f.d->toolbox, call, &run, &f.e);
}

/* ---- Headers ---- */

Test(toolbox, every_request_says_which_client_this_is)
{
	static const struct canned_row rows[] = { FOUND, { EXECUTE, 408, LATE, NULL } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, run(NULL, 0), ERR_TIMEOUT));
	for (size_t i = 0; i < 3; i++) {
		cr_expect(strstr(f.server.requests[i], "Authorization: Bearer dtn_s3cret\r\n") !=
			NULL);
		cr_expect(
			strstr(f.server.requests[i], "X-Daytona-SDK-Version: 0.218.0\r\n") != NULL);
		cr_expect(strstr(f.server.requests[i], "Organization") == NULL);
		cr_expect(strstr(f.server.requests[i], "Last-Activity") == NULL);
	}
}

Test(toolbox, work_that_nobody_waits_for_does_not_keep_the_sandbox)
{
	static const char quiet[] = "X-Daytona-Skip-Last-Activity-Update: true\r\n";
	static const struct canned_row rows[] = { FOUND, { EXECUTE, 408, LATE, NULL },
		{ UPLOAD, 408, LATE, NULL }, { DOWNLOAD "/s/f ", 408, LATE, NULL } };
	const struct call call = { .is_background = true };

	FIND(&f, rows, &plain);
	run(&call, 0);
	toolbox_upload(&f.d->toolbox, &call, &(struct remote_upload){ "/s/f", "x", 1 }, &f.e);
	toolbox_download(&f.d->toolbox, &call, "/s/f", ignore, NULL, &f.e);
	for (size_t i = 2; i < 5; i++)
		cr_expect(strstr(f.server.requests[i], quiet) != NULL, "%s", f.server.requests[i]);
}

/* ---- Programs ---- */

Test(toolbox, a_program_has_a_time_limit_that_is_never_the_daemons)
{
	static const struct canned_row rows[] = { FOUND, { EXECUTE, 408, LATE, NULL } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, run(NULL, 0), ERR_TIMEOUT));
	cr_expect(strstr(f.server.requests[2], "\"timeout\": 86400}") != NULL, "%s",
		f.server.requests[2]);
}

Test(toolbox, a_shell_that_did_not_start_is_a_failure)
{
	static const struct canned_row rows[] = {
		FOUND,
		{ EXECUTE, 200,
			"{\"exitCode\":-1,\"result\":\"fork/exec /usr/bin/zsh: permission "
			"denied\"}",
			NULL },
		{ EXECUTE, 200, "{\"exitCode\":0}", NULL },
	};

	FIND(&f, rows, &plain);
	cr_expect(eq(int, run(NULL, 0), ERR_IO));
	cr_expect(strstr(f.e.text, "fork/exec /usr/bin/zsh") != NULL, "%s", f.e.text);
	cr_expect(eq(int, run(NULL, 0), ERR_PROTOCOL));
}

/*
 * The output is longer than other answers may be. It lacks the marks of this request, so the run
 * fails, but only after all of it was read.
 */
Test(toolbox, output_may_be_large)
{
	static struct canned_row rows[] = { FOUND, { EXECUTE, 200, NULL, NULL } };
	static const char before[] = "{\"exitCode\":0,\"result\":\"";
	size_t len = HTTP_BODY_MAX + 1;
	char *body = malloc(sizeof before + len + 2);

	memset(stpcpy(body, before), 'x', len);
	strcpy(body + strlen(before) + len, "\"}");
	rows[2].body = body;
	FIND(&f, rows, &plain);
	cr_expect(eq(int, run(NULL, 0), ERR_IO), "%s", f.e.text);
	cr_expect(strstr(f.e.text, "did not run to its end (exit code 0): xxx") != NULL, "%s",
		f.e.text);
	free(body);
}

Test(toolbox, a_broken_gateway_is_asked_again_only_where_that_is_as_good)
{
	static const struct canned_row rows[] = { FOUND, { EXECUTE, 502, NULL, NULL },
		{ EXECUTE, 502, NULL, NULL }, { EXECUTE, 408, LATE, NULL } };

	FIND(&f, rows, &plain);
	cr_expect(eq(int, run(NULL, 0), ERR_UNREACHABLE));
	cr_expect(eq(int, run(NULL, RUN_REPEATABLE), ERR_TIMEOUT));
}

/* ---- Files ---- */

Test(toolbox, an_upload_says_where_before_what)
{
	static const struct canned_row rows[] = { FOUND,
		{ UPLOAD, 200, "{\"files\":[{\"path\":\"/s/f\",\"bytes\":3}]}", NULL } };
	const struct remote_upload upload = { "/s/f", "one", 3 };
	const char *path, *file;

	FIND(&f, rows, &plain);
	cr_expect(eq(int, toolbox_upload(&f.d->toolbox, NULL, &upload, &f.e), ERR_OK), "%s",
		f.e.text);
	path = strstr(f.server.requests[2], "name=\"files[0].path\"\r\n\r\n/s/f\r\n");
	file = strstr(f.server.requests[2], "name=\"files[0].file\"; filename=\"file\"");
	cr_expect(path && file && path < file, "%s", f.server.requests[2]);
	cr_expect(strstr(f.server.requests[2], "Expect:") == NULL);
}

Test(toolbox, a_path_that_the_daemon_would_trim_is_refused)
{
	static const char *const paths[] = { " /s/f", "/s/f ", "/s/f\n", "\t/s/f", "" };
	static const struct canned_row rows[] = { FOUND };

	FIND(&f, rows, &plain);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		cr_expect(eq(int,
			toolbox_upload(&f.d->toolbox, NULL,
				&(struct remote_upload){ paths[i], "x", 1 }, &f.e),
			ERR_INVALID));
}

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	cr_expect(eq(int, (int)stream, STREAM_OUT));
	return buf_add(context, bytes, len) ? ERR_OK : buf_check(context, "a test", e);
}

Test(toolbox, a_download_is_the_bytes_of_any_path)
{
	static const struct canned_row rows[] = { FOUND,
		{ DOWNLOAD "/s/%FF%20%C3%BCf ", 200, "whole\377", OCTETS },
		{ DOWNLOAD "/s/f ", 404, NULL, NULL } };
	AUTO_BUF struct buf got = BUF_INIT(100);

	FIND(&f, rows, &plain);
	cr_expect(eq(int,
			  toolbox_download(
				  &f.d->toolbox, NULL, "/s/\377 \303\274f", keep, &got, &f.e),
			  ERR_OK),
		"%s", f.e.text);
	cr_expect(eq(str, (char *)buf_text(&got), "whole\377"));
	cr_expect(eq(int, toolbox_download(&f.d->toolbox, NULL, "/s/f", keep, &got, &f.e),
		ERR_NOT_FOUND));
}
