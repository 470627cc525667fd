#include "tools/bytes_text.h"
#include "tools/progress.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(progress, .timeout = 300);

Test(progress, sizes_have_the_unit_that_fits)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 bytes" },
		{ 999, "999 bytes" },
		{ 1000, "1.0 kB" },
		{ 4100000, "4.1 MB" },
		{ UINT64_MAX, "18.4 EB" },
	};
	char text[BYTES_TEXT_SIZE];

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
		cr_expect(eq(str, (char *)bytes_text(rows[n].bytes, text), (char *)rows[n].text));
}

Test(progress, a_line_tells_the_part_the_rate_and_the_time_left)
{
	char line[PROGRESS_LINE_SIZE];

	progress_line("push", 4000000, 10000000, 2000, line);
	cr_expect(eq(str, line,
		"push [########            ]  40 %  4.0 MB of 10.0 MB  2.0 MB/s  3 s left"));
}

Test(progress, what_has_just_begun_has_no_rate_yet)
{
	char line[PROGRESS_LINE_SIZE];

	progress_line("pull", 0, 1000, 10, line);
	cr_expect(eq(str, line, "pull [                    ]   0 %  0 bytes of 1.0 kB"));
}

Test(progress, more_than_was_expected_is_all)
{
	char line[PROGRESS_LINE_SIZE];

	progress_line("pull", 20, 10, 10, line);
	cr_expect(eq(str, line, "pull [####################] 100 %  20 bytes of 10 bytes"));
}
