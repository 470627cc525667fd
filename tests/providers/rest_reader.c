/*
 * JSON that is read as it comes equals JSON read as a whole, and takes no more memory than is set.
 */
#include "providers/rest/reader.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(rest_reader, .timeout = 300);

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MIB          ((size_t)1024 * 1024)

/* The value as it is written again; NULL: no JSON. */
static char *read_in_pieces(const char *text, size_t len, size_t first, size_t step)
{
	struct rest_reader reader;
	struct json_object *json;
	char *said = NULL;

	rest_reader_begin(&reader, 0);
	for (size_t at = 0, piece = first; at < len; at += piece, piece = step) {
		if (piece > len - at)
			piece = len - at;
		cr_assert_not(rest_reader_add(&reader, text + at, piece, NULL));
	}
	if (rest_reader_end(&reader, &json) &&
		asprintf(&said, "%s", json_object_to_json_string(json)) < 0)
		cr_fatal("no memory");
	rest_put(&json);
	rest_reader_release(&reader);
	return said;
}

static const char *const texts[] = { "{}", " {\"a\" : [1, 2.5e3, true, null]} \r\n", "7", "-12",
	"null", "\"Andr\u00e9 \u20ac \U0001F600\"", "{\"\u20ac\":\"\\u20ac\\\\\\\"\"}", "", "-",
	"{} x", "{}{}", "null x", "7 7", "{\"a\":", "\"\xff\"", "\"\xe2\x82\"", "\xe2\x82", "[1,]x",
	"nul", "{\"a\":\"\xf0\x9f\x98\"}", "'a'", "[1 /* c */]" };

Test(rest_reader, pieces_of_any_length_are_read_as_the_whole)
{
	for (size_t n = 0; n < COUNT(texts); n++) {
		size_t len = strlen(texts[n]);
		AUTO_FREE char *whole = read_in_pieces(texts[n], len, len + 1, 1);

		for (size_t first = 1; first <= len; first++) {
			for (size_t step = 1; step <= len; step++) {
				AUTO_FREE char *said = read_in_pieces(texts[n], len, first, step);

				cr_expect(whole ? said && !strcmp(whole, said) : !said,
					"%s in pieces of %zu and %zu", texts[n], first, step);
			}
		}
	}
}

/* The most memory since peak_begins(), in KiB. */
static size_t peak_kib(void)
{
	char line[128];
	size_t kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		sscanf(line, "VmHWM: %zu", &kib);
	if (f)
		fclose(f);
	return kib;
}

static size_t peak_begins(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY);

	malloc_trim(0);
	cr_assert(fd >= 0 && write(fd, "5", 1) == 1);
	close(fd);
	return peak_kib();
}

/* {"output":"aaa...": `len` bytes of a command's output. */
static enum err read_output(size_t len, bool *is_json)
{
	static char piece[65536];
	struct rest_reader reader;
	struct json_object *json = NULL;
	enum err kind;

	memset(piece, 'a', sizeof piece);
	rest_reader_begin(&reader, 0);
	kind = rest_reader_add(&reader, "{\"output\":\"", 11, NULL);
	for (size_t at = 0; at < len && !kind; at += sizeof piece)
		kind = rest_reader_add(&reader, piece, sizeof piece, NULL);
	if (!kind)
		kind = rest_reader_add(&reader, "\"}", 2, NULL);
	*is_json = rest_reader_end(&reader, &json);
	rest_put(&json);
	rest_reader_release(&reader);
	return kind;
}

Test(rest_reader, what_a_command_prints_takes_no_more_than_an_answer_may)
{
	size_t before = peak_begins(), peak;
	bool is_json;

	cr_expect(eq(int, read_output(31 * MIB, &is_json), ERR_OK));
	cr_expect(is_json);
	peak = (peak_kib() - before) / 1024;
#ifndef __SANITIZE_ADDRESS__
	cr_expect(le(sz, peak, 66), "%zu MiB", peak);
#endif
	cr_log_info("31 MiB of output take %zu MiB", peak);
}

Test(rest_reader, an_answer_that_goes_on_is_given_up_at_the_bound)
{
	size_t before = peak_begins(), peak;
	bool is_json;

	cr_expect(eq(int, read_output(1024 * MIB, &is_json), ERR_TOO_LARGE));
	cr_expect(not(is_json));
	peak = (peak_kib() - before) / 1024;
#ifndef __SANITIZE_ADDRESS__
	cr_expect(le(sz, peak, 66), "%zu MiB", peak);
#endif
	cr_log_info("1 GiB of output takes %zu MiB", peak);
}
