#include "fs/control/job_script.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(job_script, .timeout = 300);

Test(job_script, a_line_says_how_a_job_is)
{
	static const struct {
		const char *line;
		struct job_look want;
	} rows[] = {
		{ "- 0 12\n", { .size = 12 } },
		{ "0 1700000000 0\n",
			{ .has_ended = true, .has_exit_code = true, .ended_s = 1700000000 } },
		{ "143 7 5000000000\n",
			{ .has_ended = true,
				.has_exit_code = true,
				.exit_code = 143,
				.ended_s = 7,
				.size = 5000000000 } },
		{ "? 7 3\nand output", { .has_ended = true, .ended_s = 7, .size = 3 } },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct job_look *want = &rows[i].want;
		struct job_look got;

		cr_assert(job_script_read(&got, rows[i].line), "row %zu", i);
		cr_expect(eq(int, got.has_ended, want->has_ended), "row %zu", i);
		cr_expect(eq(int, got.has_exit_code, want->has_exit_code), "row %zu", i);
		cr_expect(eq(int, got.has_exit_code ? got.exit_code : 0, want->exit_code),
			"row %zu", i);
		cr_expect(eq(i64, got.ended_s, want->ended_s), "row %zu", i);
		cr_expect(eq(u64, got.size, want->size), "row %zu", i);
	}
}

Test(job_script, anything_else_says_nothing)
{
	static const char *const rows[] = { "", "\n", "- 0\n", "what is this\n", "?? 1 2\n",
		"x 1 2\n" };
	struct job_look got;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(not(job_script_read(&got, rows[i])), "%s", rows[i]);
}

Test(job_script, a_signal_has_several_names)
{
	static const struct {
		const char *text, *want;
	} rows[] = { { "TERM", "TERM" }, { "SIGTERM\n", "TERM" }, { " 15 \n", "TERM" },
		{ "sigusr1", "USR1" }, { "9", "KILL" }, { "hup", "HUP" } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *got = job_signal_name(rows[i].text, strlen(rows[i].text));

		cr_assert(got != NULL, "%s", rows[i].text);
		cr_expect(eq(str, (char *)got, (char *)rows[i].want));
	}
}

Test(job_script, what_is_no_signal_has_no_name)
{
	static const char *const rows[] = { "", "\n", "0", "15x", "-9", "SIG", "NONSENSE",
		"TERM; rm -rf /", "a word that is longer than any name" };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(job_signal_name(rows[i], strlen(rows[i])) == NULL, "%s", rows[i]);
}
