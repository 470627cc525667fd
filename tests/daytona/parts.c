/* Answers to bulk downloads, whole and broken, in pieces of every size. */
#include "providers/daytona/parts.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#define EDGE "--DAYTONA-FILE-BOUNDARY"
#define NAMED(n)                                                                                   \
	"Content-Disposition: form-data; name=\"" n                                                \
	"\"; filename=\"/s/error\"; filename*=utf-8''%2Fs\r\n"
#define FILE_OF(length, contents)                                                                  \
	EDGE "\r\n" NAMED("file") "Content-Length: " length                                        \
				  "\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" contents   \
				  "\r\n"
#define REFUSAL_OF(words)                                                                          \
	EDGE "\r\n" NAMED("error") "Content-Type: application/json; charset=utf-8\r\n\r\n" words   \
				   "\r\n"
#define END EDGE "--\r\n"

TestSuite(parts, .timeout = 300);

static enum err keep(void *context, const void *bytes, size_t len, struct error *e)
{
	return buf_add(context, bytes, len) ? ERR_OK : buf_check(context, "a test", e);
}

static enum err read_in_pieces(
	const char *text, size_t len, size_t piece, struct buf *contents, struct error *e)
{
	AUTO_PARTS struct parts_reader p;
	enum err kind = ERR_OK;

	parts_init(&p, keep, contents);
	for (size_t at = 0; !kind && at < len; at += piece)
		kind = parts_take(&p, text + at, len - at < piece ? len - at : piece, e);
	return kind ? kind : parts_end(&p, e);
}

/* However it arrives. */
static void expect(const char *text, size_t len, enum err want, const char *contents)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 64, 100000 };

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		AUTO_BUF struct buf got = BUF_INIT(1000000);
		struct error e = { 0 };

		cr_expect(eq(int, read_in_pieces(text, len, pieces[i], &got, &e), (int)want),
			"in pieces of %zu: %s", pieces[i], e.text);
		cr_expect(eq(str, (char *)buf_text(&got), (char *)contents), "in pieces of %zu",
			pieces[i]);
	}
}
#define EXPECT(text, want, contents) expect(text, sizeof(text) - 1, want, contents)

Test(parts, a_file_is_taken_by_its_length)
{
	EXPECT(FILE_OF("12", "hello world\n") END, ERR_OK, "hello world\n");
	EXPECT(FILE_OF("0", "") END, ERR_OK, "");
}

/* Its own, that of the answer, and the closing one. */
#define TRICKY "\r\n" EDGE "\r\nno part\r\n" EDGE "--\r\nA"

Test(parts, contents_may_hold_the_boundary)
{
	char length[16], text[1000];
	int len;

	snprintf(length, sizeof length, "%zu", strlen(TRICKY));
	len = snprintf(text, sizeof text,
		EDGE "\r\n"
		     "Content-Disposition: form-data; name=\"file\"; "
		     "filename=\"/s\"\r\nContent-Length: %s\r\n\r\n%s\r\n" END,
		length, TRICKY);
	expect(text, (size_t)len, ERR_OK, TRICKY);
}

Test(parts, without_the_closing_boundary_it_was_cut_short)
{
	static const char whole[] = FILE_OF("12", "hello world\n") END;
	struct error e = { 0 };

	/* The end of the line behind it does not matter. */
	for (size_t len = 0; len < sizeof whole - 1 - strlen("\r\n"); len++) {
		AUTO_BUF struct buf got = BUF_INIT(1000);

		cr_expect(eq(int, read_in_pieces(whole, len, 5, &got, &e), ERR_UNREACHABLE),
			"after %zu", len);
	}
}

Test(parts, a_file_of_length_0_may_have_contents)
{
	EXPECT(FILE_OF("0", "Linux version 6\n") END, ERR_OK, "Linux version 6\n");
}

Test(parts, a_file_may_have_grown)
{
	EXPECT(FILE_OF("5", "hello world\r\n--") END, ERR_OK, "hello world\r\n--");
}

Test(parts, a_refusal_has_a_kind_of_its_own)
{
	EXPECT(REFUSAL_OF("{\"statusCode\":404,\"message\":\"file not found: "
			  "/s\",\"code\":\"FILE_NOT_FOUND\"}") END,
		ERR_NOT_FOUND, "");
	EXPECT(REFUSAL_OF("{\"message\":\"permission denied: /s\",\"code\":\"FILE_ACCESS_DENIED\"}")
			END,
		ERR_DENIED, "");
	EXPECT(REFUSAL_OF("{\"message\":\"a directory\",\"code\":\"INVALID_FILE_PATH\"}") END,
		ERR_INVALID, "");
	EXPECT(REFUSAL_OF("{\"message\":\"broken\",\"code\":\"FILE_READ_FAILED\"}") END, ERR_IO,
		"");
}

Test(parts, old_daemons_refuse_in_plain_text)
{
	AUTO_BUF struct buf got = BUF_INIT(1000);
	static const char text[] = REFUSAL_OF("open /s: no such file") END;
	struct error e = { 0 };

	cr_expect(eq(int, read_in_pieces(text, sizeof text - 1, 1, &got, &e), ERR_IO));
	cr_expect(strstr(e.text, "open /s: no such file") != NULL, "%s", e.text);
}

Test(parts, a_name_does_not_make_a_refusal)
{
	EXPECT(EDGE "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"error\"\r\n"
		    "content-length: 1\r\n\r\nx\r\n" END,
		ERR_OK, "x");
}

Test(parts, what_is_no_form_makes_no_sense)
{
	EXPECT("<html>\r\n", ERR_PROTOCOL, "");
	EXPECT(EDGE "\r\n\r\n\r\n" EDGE "xx", ERR_PROTOCOL, "");
	EXPECT(EDGE "\r\n" EDGE "--\r\n", ERR_UNREACHABLE, "");
}

Test(parts, what_is_held_is_bounded)
{
	AUTO_PARTS struct parts_reader p;
	AUTO_BUF struct buf got = BUF_INIT(1000);
	char noise[1024];
	enum err kind = ERR_OK;

	memset(noise, 'x', sizeof noise);
	parts_init(&p, keep, &got);
	for (int i = 0; !kind && i < 1000; i++)
		kind = parts_take(&p, noise, sizeof noise, NULL);
	cr_expect(eq(int, kind, ERR_PROTOCOL));
}

static enum err refuse(void *context, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)bytes, (void)len;
	return error_set(e, ERR_NO_SPACE, "the sink");
}

Test(parts, what_the_sink_says_comes_out)
{
	static const char text[] = FILE_OF("3", "abc") END;
	AUTO_PARTS struct parts_reader p;
	struct error e = { 0 };

	parts_init(&p, refuse, NULL);
	cr_expect(eq(int, parts_take(&p, text, sizeof text - 1, &e), ERR_NO_SPACE));
	cr_expect(eq(str, e.text, "the sink"));
}
