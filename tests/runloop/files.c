#include "providers/runloop/files.h"

#include "tests/runloop/devbox_fixture.h"

TestSuite(devbox_files, .fini = fixture_end, .timeout = 300);

#define UPLOAD   "POST " PATHS "/dbx_1/upload_file "
#define DOWNLOAD "POST " PATHS "/dbx_1/download_file "

static const struct remote_upload file = { "/home/user/a b", "con\0tents", 9 };

static enum err store(void)
{
	return devbox_store(&f.api.rest, &fixture_call, "dbx_1", &file, &f.e);
}

Test(devbox_files, an_upload_names_the_path_before_the_file)
{
	static const struct canned_row rows[] = { { UPLOAD, 200, "{}", NULL } };
	const char *path, *content;

	FIXTURE_START(rows);
	cr_assert(eq(int, store(), ERR_OK), "%s", f.e.text);
	fixture_stop();
	cr_expect(fixture_has(0, "\r\nContent-Type: multipart/form-data; boundary="));
	path = strstr(fixture_body(0), "name=\"path\"");
	content = strstr(fixture_body(0), "name=\"file\"; filename=\"");
	cr_assert(path && content);
	cr_expect(lt(ptr, (void *)path, (void *)content));
	cr_expect(strstr(path, "\r\n\r\n/home/user/a b\r\n") != NULL);
}

Test(devbox_files, an_upload_that_was_idle_is_not_repeated)
{
	static const struct canned_row rows[] = { { UPLOAD, LATE, NULL } };

	FIXTURE_START(rows);
	cr_expect(eq(int, store(), ERR_TIMEOUT), "%s", f.e.text);
	fixture_stop();
}

Test(devbox_files, a_download_is_the_bytes_that_came)
{
	static const struct canned_row rows[] = { { DOWNLOAD, 200, "{\"not\": \"JSON for us\"",
		OCTETS } };
	AUTO_BUF struct buf got = BUF_INIT(1000);

	FIXTURE_START(rows);
	cr_assert(eq(int,
			  devbox_fetch(&f.api.rest, &fixture_call, "dbx_1", "/a \"b\"",
				  fixture_keep, &got, &f.e),
			  ERR_OK),
		"%s", f.e.text);
	fixture_stop();
	cr_expect(eq(str, (char *)buf_text(&got), "{\"not\": \"JSON for us\""));
	cr_expect(eq(str, (char *)fixture_body(0), "{\"path\": \"/a \\\"b\\\"\"}"));
	cr_expect(fixture_has(0, "\r\nAccept: application/octet-stream\r\n"));
}

/* ---- Together with a command that waits for the file ---- */

static struct execution waiting(void)
{
	return (struct execution){
		.id = "dbx_1", .command = "x", .upload = &file, .sink = fixture_keep
	};
}

Test(devbox_files, a_command_that_waits_for_a_file_is_under_way_before_the_file)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/execute?", 200,
			"{\"status\":\"completed\",\"exit_status\":3}", NULL },
		{ UPLOAD, 200, "{}", NULL },
	};
	struct execution x = waiting();

	FIXTURE_START(rows);
	cr_assert(eq(int, execution_run(&x, &f.api.rest, &fixture_call, &f.e), ERR_OK), "%s",
		f.e.text);
	fixture_stop();
	cr_expect(eq(int, x.exit_code, 3));
}

Test(devbox_files, a_command_whose_file_is_refused_has_done_nothing)
{
	static const struct canned_row rows[] = {
		{ "POST " PATHS "/dbx_1/execute?", 200,
			"{\"status\":\"completed\",\"exit_status\":1}", NULL },
		{ UPLOAD, 400, "{\"message\":\"no such directory\"}", NULL },
	};
	struct execution x = waiting();

	FIXTURE_START(rows);
	cr_expect(eq(int, execution_run(&x, &f.api.rest, &fixture_call, &f.e), ERR_INVALID), "%s",
		f.e.text);
	fixture_stop();
	cr_expect(not(x.has_started));
}
