#include "tests/e2b/envd_fixture.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static struct envd_fixture f;
static struct buf answer = BUF_INIT(1 << 24);

static void tear_down(void)
{
	envd_fixture_release(&f);
	buf_release(&answer);
}

TestSuite(envd_files, .fini = tear_down, .timeout = 300);

/* A server with this answer to one request. */
static void given(const char *want, int status, const char *headers, const char *body)
{
	put_answer(&answer, status, headers, body, strlen(body));
	envd_fixture_make(&f, NULL, &(struct envd_row){ .want = want, .answer = &answer }, 1);
}

static enum err store(const char *path, const void *bytes, size_t len)
{
	return envd_store(f.envd, NULL,
		&(struct remote_upload){ .path = path, .bytes = bytes, .len = len }, &f.e);
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

Test(envd_files, stores_an_empty_file)
{
	given("POST /files", 200, "", "[]");
	cr_expect(eq(int, store("/f", "", 0), ERR_OK));
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(&f, 0, "\r\nContent-Length: 0\r\n"));
}

/*
 * The URL names the path, as for raw bytes: the form's own name of a file does not carry every
 * byte.
 */
Test(envd_files, a_daemon_that_takes_forms_alone_gets_one)
{
	static const char head[] =
		"\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\na\0b\r\n--sandboxfs-";
	const char *body;
	size_t len;

	put_answer(&answer, 200, "", "[]", 2);
	envd_fixture_make_old(&f, "0.5.6", NULL,
		&(struct envd_row){
			.want = "POST /files?path=/d/%FFx HTTP/1.1\r\n", .answer = &answer },
		1);
	cr_assert(eq(int, store("/d/\xffx", "a\0b", 3), ERR_OK), "%s", f.e.text);
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(
		&f, 0, "\r\nContent-Type: multipart/form-data; boundary=sandboxfs-"));
	body = envd_fixture_body(&f, 0, &len);
	cr_expect(ne(ptr, memmem(body, len, head, sizeof head - 1), NULL));
	cr_expect(eq(int, memcmp(body + len - 4, "--\r\n", 4), 0));
}

Test(envd_files, a_daemon_without_a_default_user_is_given_the_usual_one)
{
	static const struct {
		const char *version, *user, *want;
	} rows[] = {
		{ "0.3.9", NULL, "POST /files?path=/f&username=user HTTP/1.1\r\n" },
		{ "0.3.9", "root", "POST /files?path=/f&username=root HTTP/1.1\r\n" },
		{ "0.4.0", NULL, "POST /files?path=/f HTTP/1.1\r\n" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_reset(&answer);
		put_answer(&answer, 200, "", "[]", 2);
		envd_fixture_make_old(&f, rows[i].version, rows[i].user,
			&(struct envd_row){ .want = rows[i].want, .answer = &answer }, 1);
		cr_expect(eq(int, store("/f", "x", 1), ERR_OK), "row %zu: %s", i, f.e.text);
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}

/* The upload would fail in the same way each time, so the change is refused and not repeated. */
Test(envd_files, a_daemon_older_than_it_says_is_unsupported)
{
	given("POST /files", 500, IS_JSON,
		"{\"code\":500,\"message\":\"error parsing multipart form: request Content-Type "
		"isn't multipart/form-data\"}");
	cr_expect(eq(int, store("/f", "x", 1), ERR_UNSUPPORTED), "%s", f.e.text);
	envd_fixture_stop(&f);
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

Test(envd_files, refusals_have_their_kinds_and_never_the_token)
{
	static const struct {
		int status;
		const char *body;
		enum err kind;
	} rows[] = {
		{ 401, "{\"code\":401,\"message\":\"unauthorized access\"}", ERR_AUTH },
		{ 502,
			"{\"sandboxId\":\"i1\",\"message\":\"The sandbox was not "
			"found\",\"code\":502}",
			ERR_GONE },
		{ 400, "{\"code\":400,\"message\":\"wrong: i1; " TEST_TOKEN "; 49983\"}",
			ERR_INVALID },
		{ 500, "{\"code\":500,\"message\":\"wrong: i1; " TEST_TOKEN "; 49983\"}", ERR_IO },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_reset(&answer);
		given("POST /files", rows[i].status, IS_JSON, rows[i].body);
		cr_expect(eq(int, store("/d/f", "x", 1), rows[i].kind), "%s", rows[i].body);
		cr_expect(eq(ptr, strstr(f.e.text, TEST_TOKEN), NULL));
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}
