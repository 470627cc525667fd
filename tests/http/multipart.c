#include "providers/http/multipart.h"

#include "providers/base/cleanup.h"
#include "tests/http/room.h"

#include <stdio.h>
#include <string.h>

TestSuite(http_multipart, .timeout = 300);

#define AUTO_MULTIPART __attribute__((cleanup(multipart_release)))

/* What a form of these parts is, with B for the boundary. */
#define HEAD(name, more) "--B\r\nContent-Disposition: form-data; name=\"" name "\"" more "\r\n"
#define FILE_TYPE        "Content-Type: application/octet-stream\r\n\r\n"

static struct multipart made(void)
{
	struct multipart m;
	struct error e;

	cr_assert(eq(int, multipart_init(&m, &e), ERR_OK), "%s", e.text);
	return m;
}

static void finish(struct multipart *m)
{
	struct error e;

	cr_assert(eq(int, multipart_finish(m, &e), ERR_OK), "%s", e.text);
}

/* The body from `offset` on in steps of `step`, the boundary as B. */
static void read_in_steps(struct multipart *m, uint64_t offset, size_t step, struct buf *out)
{
	while (offset < m->len) {
		size_t left = (size_t)(m->len - offset), len = left < step ? left : step;
		unsigned char *place = buf_reserve(out, len);

		cr_assert(eq(int, multipart_read(m, offset, place, len, NULL), ERR_OK));
		buf_filled(out, len);
		offset += len;
	}
}

static void shorten_boundary(const struct multipart *m, struct buf *body)
{
	size_t len = strlen(m->boundary);

	for (char *at; (at = strstr((char *)body->bytes, m->boundary));) {
		*at = 'B';
		memmove(at + 1, at + len, strlen(at + len) + 1);
	}
	body->len = strlen((char *)body->bytes);
}

static void expect_body(struct multipart *m, const char *want)
{
	AUTO_BUF struct buf body = BUF_INIT(100000);

	read_in_steps(m, 0, SIZE_MAX, &body);
	cr_expect(eq(sz, body.len, (size_t)m->len));
	shorten_boundary(m, &body);
	cr_expect(eq(str, (char *)body.bytes, (char *)want));
}

Test(http_multipart, a_form_has_its_parts_in_order)
{
	AUTO_MULTIPART struct multipart m = made();

	multipart_add_text(&m, "path", "/home/x y");
	multipart_add_file(&m, "file", "a.txt", "contents", 8);
	multipart_add_file(&m, "more", NULL, "abcde", 5);
	finish(&m);
	expect_body(&m,
		HEAD("path", "") "\r\n/home/x y\r\n" HEAD("file", "; filename=\"a.txt\"") FILE_TYPE
		"contents\r\n" HEAD("more", "") FILE_TYPE "abcde\r\n--B--\r\n");
}

Test(http_multipart, an_empty_file_and_an_empty_value_are_parts)
{
	AUTO_MULTIPART struct multipart m = made();

	multipart_add_file(&m, "file", "none", NULL, 0);
	multipart_add_text(&m, "text", "");
	finish(&m);
	expect_body(&m,
		HEAD("file", "; filename=\"none\"") FILE_TYPE
		"\r\n" HEAD("text", "") "\r\n\r\n--B--\r\n");
}

Test(http_multipart, no_name_breaks_out_of_its_quotes)
{
	AUTO_MULTIPART struct multipart m = made();

	multipart_add_file(&m, "a\"b", "x\r\ny\"\\z%\xc3\xa4", "1", 1);
	finish(&m);
	expect_body(&m,
		HEAD("a%22b", "; filename=\"x%0D%0Ay%22\\z%\xc3\xa4\"") FILE_TYPE "1\r\n--B--\r\n");
}

Test(http_multipart, every_offset_and_every_step_give_the_same_bytes)
{
	AUTO_MULTIPART struct multipart m = made();
	AUTO_BUF struct buf whole = BUF_INIT(100000);
	char bytes[333];

	for (size_t n = 0; n < sizeof bytes; n++)
		bytes[n] = (char)('a' + n % 26);
	multipart_add_text(&m, "one", "1");
	multipart_add_file(&m, "two", "2", "22", 2);
	multipart_add_file(&m, "three", "3", bytes, sizeof bytes);
	finish(&m);
	read_in_steps(&m, 0, SIZE_MAX, &whole);
	for (size_t step = 1; step <= 50; step += 7)
		for (uint64_t offset = 0; offset < m.len; offset++) {
			AUTO_BUF struct buf part = BUF_INIT(100000);

			read_in_steps(&m, offset, step, &part);
			cr_assert(eq(sz, part.len, whole.len - offset));
			cr_assert(zero(int, memcmp(part.bytes, whole.bytes + offset, part.len)),
				"from %zu in steps of %zu", (size_t)offset, step);
		}
}

Test(http_multipart, boundaries_are_random)
{
	AUTO_MULTIPART struct multipart one = made();
	AUTO_MULTIPART struct multipart other = made();
	char type[96];

	cr_expect(ne(str, one.boundary, other.boundary));
	multipart_content_type(&one, type);
	cr_expect(eq(int, strncmp(type, "multipart/form-data; boundary=", 30), 0));
	cr_expect(eq(str, type + 30, one.boundary));
	/* RFC 2046: at most 70 characters. */
	cr_expect(lt(sz, strlen(one.boundary), sizeof one.boundary - 1));
}

Test(http_multipart, hundreds_of_parts_fit)
{
	AUTO_MULTIPART struct multipart m = made();
	AUTO_BUF struct buf body = BUF_INIT(1000000);
	size_t found = 0;

	for (int i = 0; i < 500; i++) {
		char name[16];

		snprintf(name, sizeof name, "/f%d", i);
		multipart_add_file(&m, "file", name, "0123456789", 10);
	}
	finish(&m);
	read_in_steps(&m, 0, 1000, &body);
	for (const char *at = (char *)body.bytes; (at = strstr(at, m.boundary)); at++)
		found++;
	cr_expect(eq(sz, found, (size_t)501));
}

/* "ok" where the body is as long as announced and ends with the boundary of its type. */
static void check_form(struct peer *p)
{
	while (peer_read_request(p)) {
		const char *text = buf_text(&p->request);
		const char *type = strcasestr(text, "boundary=");
		char end[80];

		snprintf(end, sizeof end, "\r\n--%.*s--\r\n",
			type ? (int)strcspn(type + 9, "\r\n") : 0, type ? type + 9 : "");
		peer_say(p,
			p->request.len > strlen(end) &&
					!strcmp(text + p->request.len - strlen(end), end)
				? OK_ANSWER
				: "HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n");
	}
}

#define BIG ((size_t)3000000)

Test(http_multipart, it_is_the_source_of_a_request)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_MULTIPART struct multipart m = made();
	AUTO_FREE char *big = calloc(1, BIG);
	struct http_request request;
	struct room r;
	char type[96];

	multipart_content_type(&m, type);
	multipart_add_file(&m, "file", "/big", big, BIG);
	finish(&m);
	room_open(&r, check_form, NULL);
	request = room_request(&r, HTTP_POST, 0);
	request.headers = &(struct http_header){ .name = "Content-Type", .value = type };
	request.headers_count = 1;
	request.source = multipart_read;
	request.source_context = &m;
	request.body_len = m.len;
	cr_assert(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, answer.status, 200));
	room_close(&r);
}
