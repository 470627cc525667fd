/* Files that are uploaded as a form. */
#include "providers/rest/form.h"

#include "providers/base/cleanup.h"
#include "tests/http/room.h"

#include <stdio.h>
#include <string.h>

TestSuite(rest_form, .timeout = 300);

#define AUTO_FORM   __attribute__((cleanup(rest_form_release)))
#define DISPOSITION "\r\nContent-Disposition: form-data; name="
#define FILE_HEAD                                                                                  \
	DISPOSITION "\"file\"; filename=\"file\"\r\nContent-Type: "                                \
		    "application/octet-stream\r\n\r\n"

static void make(struct rest_form_body *out, const struct rest_form *form)
{
	struct error e;

	cr_assert(eq(int, rest_form_make(out, form, &e), ERR_OK), "%s", e.text);
}

static void read_in_steps(struct rest_form_body *b, uint64_t offset, size_t step, struct buf *out)
{
	char place[1000];

	for (uint64_t left; (left = rest_form_len(b) - offset); offset += step) {
		step = left < step ? (size_t)left : step;
		cr_assert(eq(int, rest_form_read(b, offset, place, step, NULL), ERR_OK));
		buf_add(out, place, step);
	}
}

static const char *boundary_of(const struct rest_form_body *b)
{
	cr_assert(zero(int, strncmp(b->type, "multipart/form-data; boundary=", 30)), "%s", b->type);
	return b->type + 30;
}

/* `want`: a B stands for the boundary. */
static void expect_body(const struct rest_form *form, const char *want)
{
	AUTO_FORM struct rest_form_body b;
	AUTO_BUF struct buf got = BUF_INIT(10000), full = BUF_INIT(10000);

	make(&b, form);
	for (; *want; want++)
		if (*want == 'B')
			buf_add_string(&full, boundary_of(&b));
		else
			buf_add_byte(&full, (unsigned char)*want);
	read_in_steps(&b, 0, sizeof(char[1000]), &got);
	cr_expect(eq(str, (char *)buf_text(&got), (char *)buf_text(&full)));
}

Test(rest_form, a_path_stands_before_its_file)
{
	const struct rest_form form = {
		.path_field = "path", .path = "/x y", .file_field = "file", .bytes = "abc", .len = 3
	};

	expect_body(&form,
		"--B" DISPOSITION "\"path\"\r\n\r\n/x y\r\n--B" FILE_HEAD "abc\r\n--B--\r\n");
}

Test(rest_form, a_file_may_be_alone_and_empty)
{
	const struct rest_form form = { .file_field = "file" };

	expect_body(&form, "--B" FILE_HEAD "\r\n--B--\r\n");
}

Test(rest_form, every_offset_and_every_step_give_the_same_bytes)
{
	char bytes[333];
	const struct rest_form form = { .path_field = "path",
		.path = "/x",
		.file_field = "file",
		.bytes = bytes,
		.len = sizeof bytes };
	AUTO_FORM struct rest_form_body b;
	AUTO_BUF struct buf whole = BUF_INIT(10000);

	for (size_t n = 0; n < sizeof bytes; n++)
		bytes[n] = (char)('a' + n % 26);
	make(&b, &form);
	read_in_steps(&b, 0, 1000, &whole);
	for (size_t step = 1; step <= 50; step += 7)
		for (uint64_t offset = 0; offset < rest_form_len(&b); offset++) {
			AUTO_BUF struct buf part = BUF_INIT(10000);

			read_in_steps(&b, offset, step, &part);
			cr_assert(eq(sz, part.len, whole.len - offset));
			cr_assert(zero(int, memcmp(part.bytes, whole.bytes + offset, part.len)),
				"from %zu in steps of %zu", (size_t)offset, step);
		}
}

Test(rest_form, boundaries_are_random)
{
	const struct rest_form form = { .file_field = "file" };
	AUTO_FORM struct rest_form_body one, other;

	make(&one, &form);
	make(&other, &form);
	cr_expect(ne(str, (char *)boundary_of(&one), (char *)boundary_of(&other)));
	/* RFC 2046: at most 70 characters. */
	cr_expect(le(sz, strlen(boundary_of(&one)), (size_t)70));
}

#define BIG ((size_t)3000000)

/* "{}" where the body is as long as announced and ends with the boundary of its type. */
static void check_form(struct peer *p)
{
	while (peer_read_request(p)) {
		const char *text = buf_text(&p->request);
		const char *type = strcasestr(text, "boundary=");
		char end[80];

		snprintf(end, sizeof end, "\r\n--%.*s--\r\n",
			type ? (int)strcspn(type + 9, "\r\n") : 0, type ? type + 9 : "");
		peer_say(p,
			!strncmp(text, "POST /at?path=/a%20b/%C3%BC ", 28) &&
					p->request.len > BIG + strlen(end) &&
					!strcmp(text + p->request.len - strlen(end), end)
				? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
				: "HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n");
	}
}

static enum err verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e)
{
	(void)json, (void)answer;
	return status == 200 ? ERR_OK : rest_refuse(r, ask, status, "", e);
}

Test(rest_form, a_large_file_is_sent_whole_to_an_escaped_path)
{
	AUTO_FREE char *big = calloc(1, BIG);
	const struct rest_ask ask = { .method = HTTP_POST,
		.path = "/at?path=",
		.file = "/a b/\303\274",
		.form = { .file_field = "file", .bytes = big, .len = BIG },
		.what = "uploading" };
	struct rest rest;
	struct room r;
	char url[128];

	room_open(&r, check_form, NULL);
	server_url(&r.server, "", url);
	cr_assert(eq(int, rest_init(&rest, r.http, "vendor", url, NULL, 0, verdict, &r.e), ERR_OK),
		"%s", r.e.text);
	cr_expect(eq(int, rest_perform(&rest, NULL, &ask, NULL, &r.e), ERR_OK), "%s", r.e.text);
	rest_release(&rest);
	room_close(&r);
}
