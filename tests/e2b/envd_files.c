#include "tests/e2b/envd_fixture.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static struct envd_fixture f;
static struct buf answer = BUF_INIT(1 << 24), heard = BUF_INIT(1 << 24);

static void tear_down(void)
{
	envd_fixture_release(&f);
	buf_release(&answer);
	buf_release(&heard);
}

TestSuite(envd_files, .fini = tear_down, .timeout = 120);

static enum err hear(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context;
	cr_expect(eq(int, stream, STREAM_OUT));
	buf_add(&heard, bytes, len);
	return buf_check(&heard, "what was heard", e);
}

/* One request, answered so. */
static void given(const char *want, int status, const char *headers, const char *body)
{
	put_answer(&answer, status, headers, body, strlen(body));
	envd_fixture_make(&f, NULL, &(struct envd_row){ .want = want, .answer = &answer }, 1);
}

static enum err fetch(uint64_t offset, uint64_t len, uint64_t *size)
{
	return envd_fetch(f.envd, NULL, "/d/f", offset, len, hear, NULL, size, &f.e);
}

static enum err store(const char *path, const void *bytes, size_t len)
{
	return envd_store(f.envd, NULL,
		&(struct envd_upload){ .path = path, .bytes = bytes, .len = len }, &f.e);
}

/* ---- Storing ---- */

Test(envd_files, stores_raw_bytes_at_any_path_and_believes_the_status_not_the_content_type)
{
	size_t len;

	put_answer(&answer, 200, "Content-Type: text/plain; charset=utf-8\r\n",
		"[{\"name\":\"x\"}]", 14);
	envd_fixture_make(&f, "us er",
		&(struct envd_row){
			.want = "POST /files?path=/d/%FFx%26%20%2B%3F%C3%A9%25&username=us%20er "
				"HTTP/1.1\r\n",
			.answer = &answer },
		1);
	cr_assert(eq(int, store("/d/\xffx& +?\xc3\xa9%", "a\0b", 3), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(&f, 0, "\r\nContent-Type: application/octet-stream\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nX-Access-Token: " TEST_TOKEN "\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nE2b-Sandbox-Id: i1\r\n"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nE2b-Sandbox-Port: 49983\r\n"));
	cr_expect(not(envd_fixture_asked(&f, 0, "authorization")));
	cr_expect(not(envd_fixture_asked(&f, 0, "expect:")));
	cr_expect(eq(int, memcmp(envd_fixture_body(&f, 0, &len), "a\0b", 3), 0));
	cr_expect(eq(sz, len, 3));
}

static enum err count_up(void *context, uint64_t offset, void *dst, size_t len, struct error *e)
{
	(void)context, (void)e;
	for (size_t i = 0; i < len; i++)
		((unsigned char *)dst)[i] = (unsigned char)((offset + i) * 7);
	return ERR_OK;
}

Test(envd_files, stores_what_a_source_makes)
{
	const char *body;
	size_t len;

	given("POST /files", 200, "", "[]");
	cr_assert(eq(int,
			  envd_store(f.envd, NULL,
				  &(struct envd_upload){
					  .path = "/f", .len = 1000000, .source = count_up },
				  &f.e),
			  ERR_OK),
		"%s", f.e.text);
	envd_fixture_stop(&f);
	body = envd_fixture_body(&f, 0, &len);
	cr_assert(eq(sz, len, 1000000));
	cr_expect(eq(int, (unsigned char)body[999999], 999999 * 7 % 256));
}

Test(envd_files, stores_an_empty_file)
{
	given("POST /files", 200, "", "[]");
	cr_expect(eq(int, store("/f", "", 0), ERR_OK));
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(&f, 0, "\r\nContent-Length: 0\r\n"));
}

Test(envd_files, a_full_disk_is_no_space)
{
	given("POST /files", 507, IS_JSON,
		"{\"code\":507,\"message\":\"not enough disk space available\"}");
	cr_expect(eq(int, store("/f", "x", 1), ERR_NO_SPACE));
	cr_expect(ne(ptr, strstr(f.e.text, "/f"), NULL));
}

Test(envd_files, below_a_file_nothing_is_stored_and_nothing_tried_again)
{
	given("POST /files", 500, IS_JSON,
		"{\"code\":500,\"message\":\"error ensuring directories: path is a file: /x\"}");
	cr_expect(eq(int, store("/x/f", "x", 1), ERR_NOT_DIR), "%s", f.e.text);
	envd_fixture_stop(&f);
}

Test(envd_files, a_directory_is_not_stored_over)
{
	given("POST /files", 400, IS_JSON,
		"{\"code\":400,\"message\":\"path is a directory: /d\"}");
	cr_expect(eq(int, store("/d", "x", 1), ERR_IS_DIR));
}

/* ---- Fetching ---- */

Test(envd_files, fetches_a_whole_file_and_asks_for_no_compression)
{
	uint64_t size = 0;

	given("GET /files?path=/d/f HTTP/1.1\r\n", 200, "", "hello");
	cr_assert(eq(int, fetch(0, FETCH_TO_END, &size), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(eq(str, (char *)buf_text(&heard), "hello"));
	cr_expect(eq(u64, size, 5));
	cr_expect(not(envd_fixture_asked(&f, 0, "accept-encoding")));
	cr_expect(not(envd_fixture_asked(&f, 0, "range")));
}

Test(envd_files, fetches_one_range_and_learns_the_size)
{
	uint64_t size = 0;

	given("GET /files", 206, "Content-Range: bytes 10-15/16\r\n", "abcdef");
	cr_assert(eq(int, fetch(10, 990, &size), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(eq(str, (char *)buf_text(&heard), "abcdef"));
	cr_expect(eq(u64, size, 16));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nRange: bytes=10-999\r\n"));
}

Test(envd_files, fetches_the_rest)
{
	uint64_t size = 0;

	given("GET /files", 206, "Content-Range: bytes 10-15/16\r\n", "abcdef");
	cr_assert(eq(int, fetch(10, FETCH_TO_END, &size), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(eq(str, (char *)buf_text(&heard), "abcdef"));
	cr_expect(envd_fixture_asked(&f, 0, "\r\nRange: bytes=10-\r\n"));
}

Test(envd_files, a_range_behind_the_end_is_nothing_and_416_tells_the_size)
{
	uint64_t size = 0;

	given("GET /files", 416, "Content-Range: bytes */16\r\n",
		"invalid range: failed to overlap\n");
	cr_assert(eq(int, fetch(16, 4, &size), ERR_OK), "%s", f.e.text);
	cr_expect(eq(sz, heard.len, 0));
	cr_expect(eq(u64, size, 16));
}

Test(envd_files, an_empty_file_answers_a_range_with_200)
{
	uint64_t size = 99;

	given("GET /files", 200, "", "");
	cr_assert(eq(int, fetch(0, 100, &size), ERR_OK), "%s", f.e.text);
	cr_expect(eq(sz, heard.len, 0));
	cr_expect(eq(u64, size, 0));
}

Test(envd_files, of_a_whole_file_only_the_wanted_range_is_passed_on)
{
	uint64_t size = 0;

	given("GET /files", 200, "", "0123456789");
	cr_assert(eq(int, fetch(3, 4, &size), ERR_OK), "%s", f.e.text);
	cr_expect(eq(str, (char *)buf_text(&heard), "3456"));
	cr_expect(eq(u64, size, 10));
}

Test(envd_files, nothing_wanted_still_tells_the_size)
{
	uint64_t size = 0;

	given("GET /files", 206, "Content-Range: bytes 5-5/16\r\n", "x");
	cr_assert(eq(int, fetch(5, 0, &size), ERR_OK), "%s", f.e.text);
	cr_expect(eq(sz, heard.len, 0));
	cr_expect(eq(u64, size, 16));
}

Test(envd_files, another_range_than_asked_for_is_refused)
{
	static const char *const ranges[] = { "", "Content-Range: bytes 11-15/16\r\n",
		"Content-Range: bytes 10-20/16\r\n", "Content-Range: bytes */16\r\n" };

	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		uint64_t size;

		buf_reset(&answer);
		f = (struct envd_fixture){ 0 };
		given("GET /files", 206, ranges[i], "abcdef");
		cr_expect(eq(int, fetch(10, 6, &size), ERR_PROTOCOL), "%s", ranges[i]);
		cr_expect(eq(sz, heard.len, 0));
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}

Test(envd_files, contents_that_are_cut_short_are_no_success)
{
	uint64_t size;

	buf_add_string(&answer,
		"HTTP/1.1 206 Scripted\r\nContent-Length: 6\r\n"
		"Content-Range: bytes 10-15/16\r\n\r\nabc");
	envd_fixture_make(
		&f, NULL, &(struct envd_row){ .want = "GET /files", .answer = &answer }, 1);
	cr_expect(eq(int, fetch(10, 6, &size), ERR_UNREACHABLE));
}

Test(envd_files, a_directory_and_a_missing_file_have_their_kinds)
{
	static const struct {
		int status;
		const char *body;
		enum err kind;
	} rows[] = {
		{ 400, "{\"code\":400,\"message\":\"path '/d/f' is a directory\"}", ERR_IS_DIR },
		{ 404, "{\"code\":404,\"message\":\"path '/d/f' does not exist\"}", ERR_NOT_FOUND },
		{ 401, "{\"code\":401,\"message\":\"unauthorized access\"}", ERR_AUTH },
		{ 502,
			"{\"sandboxId\":\"i1\",\"message\":\"The sandbox was not "
			"found\",\"code\":502}",
			ERR_GONE },
		{ 409, "{\"message\":\"still transitioning\"}", ERR_BUSY },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t size;

		buf_reset(&answer);
		given("GET /files", rows[i].status, IS_JSON, rows[i].body);
		cr_expect(eq(int, fetch(0, FETCH_TO_END, &size), rows[i].kind), "%s", rows[i].body);
		cr_expect(eq(sz, heard.len, 0));
		cr_expect(eq(ptr, strstr(f.e.text, TEST_TOKEN), NULL));
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}
