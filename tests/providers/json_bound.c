/* A vendor's answer takes no more memory than is set for it, whatever its contents. */
#include "providers/json_bound.h"

#include "providers/rest/rest.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(json_bound, .timeout = 300);

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MIB          ((size_t)1024 * 1024)
#define TEXT_MAX     (12 * MIB)

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

/* A sanitizer takes more memory for itself, without a limit. */
static bool is_within(size_t peak_mib, size_t max_mib)
{
#ifdef __SANITIZE_ADDRESS__
	max_mib = SIZE_MAX;
#endif
	return peak_mib <= max_mib;
}

static size_t peak_begins(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY);

	malloc_trim(0);
	cr_assert(fd >= 0 && write(fd, "5", 1) == 1);
	close(fd);
	return peak_kib();
}

/* A text of `first`, `times` times `one`, and `last`. */
static struct buf repeated(const char *first, const char *one, const char *last, size_t times)
{
	struct buf text = BUF_INIT(2 * TEXT_MAX);

	buf_add_string(&text, first);
	for (size_t n = 0; n < times; n++)
		buf_add_string(&text, one);
	buf_add_string(&text, last);
	cr_assert(not(text.failed));
	return text;
}

static bool is_read(const struct buf *text, size_t *peak_mib)
{
	size_t before = peak_begins();
	struct json_object *json;
	bool is = rest_parse(text, &json);

	*peak_mib = (peak_kib() - before) / 1024;
	rest_put(&json);
	return is;
}

static const struct row {
	const char *name, *first, *one, *last;
} rows[] = {
	{ "empty objects", "[", "{},", "{}]" },
	{ "empty lists", "[", "[],", "[]]" },
	{ "objects of one key", "[", "{\"a\":1},", "{}]" },
	{ "numbers", "[", "1,", "1]" },
	{ "long numbers", "[", "1234567890.1234567890,", "1]" },
	{ "nothing", "[", "null,", "1]" },
	{ "texts of nothing", "[", "\"\",", "1]" },
	{ "lists in lists", "[", "[[[[[[[[]]]]]]]],", "1]" },
	{ "objects in objects", "[", "{\"a\":{\"a\":{\"a\":{}}}},", "1]" },
	{ "texts in other quotes", "['\"',", "{},", "'\"']" },
	{ "a comment", "/* \" */ [", "{},", "{}] /* \" */" },
	{ "a comment to the end of the line", "// \"\n[", "{},", "{}] // \"" },
	{ "texts with marks in them", "[\"\\\\\",", "{},", "\"\\\\\"]" },
};

Test(json_bound, values_of_which_a_text_has_millions_are_not_read)
{
	for (size_t n = 0; n < COUNT(rows); n++) {
		size_t times = TEXT_MAX / strlen(rows[n].one), peak;
		AUTO_BUF struct buf text =
			repeated(rows[n].first, rows[n].one, rows[n].last, times);

		is_read(&text, &peak);
		cr_expect(is_within(peak, 64), "%s: %zu MiB", rows[n].name, peak);
	}
}

/* The costs are none too low: the largest text that is read stays within the bound. */
Test(json_bound, the_most_values_that_are_read_take_no_more_than_their_bound)
{
	for (size_t n = 0; n < COUNT(rows) - 4; n++) {
		size_t room = TEXT_MAX / strlen(rows[n].one), few = 0, peak;

		while (room - few > 1) {
			size_t half = few + (room - few) / 2;
			AUTO_BUF struct buf text =
				repeated(rows[n].first, rows[n].one, rows[n].last, half);
			bool fits = json_is_bounded(buf_text(&text), text.len);

			few = fits ? half : few;
			room = fits ? room : half;
		}
		AUTO_BUF struct buf text = repeated(rows[n].first, rows[n].one, rows[n].last, few);

		cr_expect(is_read(&text, &peak), "%s: %zu", rows[n].name, few);
		cr_expect(is_within(peak, 64), "%s: %zu MiB", rows[n].name, peak);
		cr_log_info("%s: %zu of them take %zu MiB", rows[n].name, few, peak);
	}
}

Test(json_bound, a_million_keys_are_not_read)
{
	AUTO_BUF struct buf text = BUF_INIT(64 * MIB);
	struct json_object *json;
	size_t peak, before = peak_begins();

	buf_add_string(&text, "{");
	for (size_t n = 0; n < 1000000; n++)
		buf_printf(&text, "\"k%zu\":1,", n);
	buf_add_string(&text, "\"a\":1}");
	before = peak_begins();
	cr_expect(not(rest_parse(&text, &json)));
	peak = (peak_kib() - before) / 1024;
	cr_expect(is_within(peak, 8), "%zu MiB", peak);
}

Test(json_bound, what_lies_a_million_deep_is_not_read)
{
	static const char *const opens[] = { "[", "{\"a\":" };

	for (size_t n = 0; n < COUNT(opens); n++) {
		AUTO_BUF struct buf text = repeated("", opens[n], "", 1000000);
		size_t peak;

		cr_expect(not(is_read(&text, &peak)), "%s", opens[n]);
		cr_expect(is_within(peak, 8), "%zu MiB", peak);
	}
}

/* The number's text may be kept twice while it is read. */
Test(json_bound, a_number_of_millions_of_digits_takes_a_few_times_its_text)
{
	AUTO_BUF struct buf text = repeated("1", "7", ".5", TEXT_MAX);
	size_t peak;

	is_read(&text, &peak);
	cr_expect(is_within(peak, 64), "%zu MiB", peak);
}

/* A command's output may have any bytes in it. */
Test(json_bound, marks_in_a_text_count_for_nothing)
{
	AUTO_BUF struct buf text = repeated("{\"out\":\"", "[{},':/*\\\"", "\"}", TEXT_MAX / 10);
	size_t peak;

	cr_expect(is_read(&text, &peak));
}
