#include "tests/aio/fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(deliver, .fini = fixture_end, .timeout = 300);

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct buf *kept = context;

	(void)e;
	cr_expect(eq(int, (int)stream, STREAM_OUT));
	return buf_add(kept, bytes, len) ? ERR_OK : ERR_NO_MEMORY;
}

static enum err download(const char *path, struct buf *kept)
{
	return aio_download(&fixture()->sandbox, NULL, path, keep, kept, &fixture()->e);
}

Test(deliver, a_download_is_the_bytes_themselves)
{
	static const struct canned_row rows[] = {
		{ "GET /v1/file/download?path=/home/gem/a%20b%26c%FF ", 200, "\x01\xff{}",
			"Content-Type: application/octet-stream\r\n" }
	};
	AUTO_BUF struct buf kept = BUF_INIT(100);

	FIXTURE_START(NULL, rows);
	cr_expect(eq(int, download("/home/gem/a b&c\xff", &kept), ERR_OK), "%s", fixture()->e.text);
	canned_stop(&fixture()->server);
	cr_expect(eq(str, (char *)buf_text(&kept), "\x01\xff{}"));
}

/* Only a download reports by its status that a file does not exist. */
Test(deliver, a_file_that_is_not_there_is_not_downloaded)
{
	static const struct canned_row rows[] = {
		{ "GET ", 404, "{\"detail\":\"File not found: /x\"}", NULL },
		{ "GET ", 409, "{\"detail\":\"changed\"}", NULL },
	};
	AUTO_BUF struct buf kept = BUF_INIT(100);

	FIXTURE_START(NULL, rows);
	cr_expect(eq(int, download("/x", &kept), ERR_NOT_FOUND));
	cr_expect(eq(int, download("/x", &kept), ERR_CONFLICT));
	canned_stop(&fixture()->server);
	cr_expect(eq(sz, kept.len, 0));
}

Test(deliver, an_upload_is_a_form_and_its_failure_an_answer)
{
	static const struct canned_row rows[] = {
		{ "POST /v1/file/upload ", 200,
			"{\"success\":true,\"data\":{\"file_path\":\"/x\",\"success\":true}}",
			NULL },
		{ "POST /v1/file/upload ", 200,
			"{\"success\":false,\"message\":\"full\",\"data\":{\"errno\":28}}", NULL },
	};
	const struct remote_upload file = { .path = "/x", .bytes = "\r\n--abc", .len = 7 };
	struct fixture *f = fixture();

	FIXTURE_START("Bearer s3cret", rows);
	cr_expect(eq(int, aio_upload(&f->sandbox, NULL, &file, &f->e), ERR_OK), "%s", f->e.text);
	cr_expect(eq(int, aio_upload(&f->sandbox, NULL, &file, &f->e), ERR_NO_SPACE));
	canned_stop(&f->server);
	cr_expect(fixture_has(0, "Content-Type: multipart/form-data; boundary="));
	cr_expect(fixture_has(0, "name=\"path\"\r\n\r\n/x\r\n--"));
	cr_expect(fixture_has(0, "name=\"file\"; filename="));
	cr_expect(fixture_has(0, "\r\n\r\n\r\n--abc\r\n--"));
	cr_expect(strstr(f->e.text, "full") != NULL, "%s", f->e.text);
}
