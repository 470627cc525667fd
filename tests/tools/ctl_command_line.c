#include "tools/ctl/command_line.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(ctl_command_line, .timeout = 300);

static void expect_text(const struct command_line *line, const char *wanted)
{
	AUTO_BUF struct buf text = BUF_INIT(COMMAND_LINE_MAX);

	command_line_text(line, NULL, &text, NULL);
	cr_expect(eq(str, (char *)buf_text(&text), (char *)wanted));
}

Test(ctl_command_line, one_word_is_shell_text)
{
	char *words[] = { "make && ./test '$x'" };

	expect_text(&(struct command_line){ .words = words, .count = 1 }, words[0]);
}

Test(ctl_command_line, of_several_a_shell_takes_none_apart)
{
	char *words[] = { "echo", "a b", "it's", "", "$x" };

	expect_text(&(struct command_line){ .words = words, .count = 5 },
		" 'echo' 'a b' 'it'\\''s' '' '$x'");
}

Test(ctl_command_line, a_directory_is_entered_first)
{
	char *words[] = { "ls" };

	expect_text(
		&(struct command_line){ .words = words, .count = 1, .dir = "/a b", .merges = true },
		"exec 2>&1\ncd -- '/a b' 2>/dev/null || { printf '%s\\n' "
		"'sandboxctl: /a b: no such directory in the sandbox' >&2; exit 125; }\nls");
}
