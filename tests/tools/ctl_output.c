#include "tools/ctl/output.h"
#include "tools/duration_text.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(ctl_output, .timeout = 300);

static char *printed(const struct table *t)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	struct error e = { 0 };

	cr_assert(eq(int, table_print(t, to, &e), ERR_OK), "%s", e.text);
	fclose(to);
	return text;
}

Test(ctl_output, a_table_is_as_wide_as_its_widest_cells)
{
	AUTO_TABLE struct table t;
	AUTO_FREE char *text = NULL;

	table_init(&t, (const char *const[]){ "A", "LONGER", NULL });
	table_add(&t, (const char *const[]){ "four", "x" });
	table_add(&t, (const char *const[]){ "é", "y" });
	text = printed(&t);
	cr_expect(eq(str, text, "A     LONGER\nfour  x\né     y\n"));
}

Test(ctl_output, no_cell_sends_control_characters)
{
	AUTO_TABLE struct table t;
	AUTO_FREE char *text = NULL;

	table_init(&t, (const char *const[]){ "A", NULL });
	table_add(&t, (const char *const[]){ "\033[2J\n\x7f\xc2\x9b\xff" });
	text = printed(&t);
	cr_expect(eq(str, text, "A\n?[2J????\n"));
}

Test(ctl_output, an_end_of_a_line_in_a_note_makes_no_second_line)
{
	AUTO_TABLE struct table t;
	AUTO_FREE char *text = NULL;

	table_init(&t, (const char *const[]){ "A", NULL });
	table_note(&t, "refused: %s", "f\nlocal:other");
	table_note(&t, "%s", "second");
	text = printed(&t);
	cr_expect(eq(str, text, "A\n\nrefused: f?local:other\nsecond\n"));
}

Test(ctl_output, durations_are_two_units)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {
		{ -1, "-" },
		{ 0, "0 s" },
		{ 59, "59 s" },
		{ 61, "1 min 1 s" },
		{ 3660, "1 h 1 min" },
		{ 90000, "1 d 1 h" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[DURATION_TEXT_SIZE];

		duration_text(rows[i].seconds, text);
		cr_expect(eq(str, text, (char *)rows[i].text));
	}
}
