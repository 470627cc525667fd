#include "tools/ctl/code.h"
#include "providers/user_session.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static enum err command_of(
	struct buf *out, const char *language, const void *code, size_t len, struct error *e)
{
	char *const arguments[] = { "a b", "c'd" };
	AUTO_BUF struct buf text = BUF_INIT(2 * CODE_MAX);

	buf_add(&text, code, len);
	return code_command(out, language, &text, arguments, 2, e);
}

Test(ctl_code, code_is_one_word_of_its_interpreter)
{
	AUTO_BUF struct buf out = BUF_INIT(1000);
	struct error e = { 0 };

	cr_assert(eq(int, command_of(&out, "python", "print('x')", 10, &e), ERR_OK), "%s", e.text);
	cr_expect(strstr(buf_text(&out),
			  "exec \"$program\" -c 'print('\\''x'\\'')' 'a b' 'c'\\''d'\n") != NULL,
		"%s", buf_text(&out));
}

Test(ctl_code, a_shell_runs_the_text_itself)
{
	AUTO_BUF struct buf out = BUF_INIT(1000);
	struct error e = { 0 };

	cr_assert(eq(int, command_of(&out, "shell", "echo $1", 7, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&out), "set -- 'a b' 'c'\\''d'\necho $1"));
}

Test(ctl_code, what_no_interpreter_can_be_given_is_refused)
{
	static char long_code[CODE_MAX + 1];
	AUTO_BUF struct buf out = BUF_INIT(4 * CODE_MAX);
	struct error e = { 0 };

	memset(long_code, '#', sizeof long_code);
	cr_expect(eq(int, command_of(&out, "cobol", "x", 1, &e), ERR_INVALID));
	cr_expect(eq(int, command_of(&out, "python", "a\0b", 3, &e), ERR_INVALID));
	cr_expect(
		eq(int, command_of(&out, "node", long_code, sizeof long_code, &e), ERR_TOO_LARGE));
	cr_expect(eq(int, command_of(&out, "node", long_code, sizeof long_code - 1, &e), ERR_OK),
		"%s", e.text);
}

Test(ctl_session, a_name_is_a_word_of_shell_and_path)
{
	static const char *const good[] = { "a", "build-1", "chat_123", "a.b", "X" };
	static const char *const bad[] = { "", ".", "..", ".a", "-a", "a/b", "a b", "a'b", "$a",
		"a\nb", "\xc3\xa9" };
	char name[USER_SESSION_NAME_MAX + 2];

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(user_session_name_is_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect(not(user_session_name_is_valid(bad[i])), "%s", bad[i]);
	memset(name, 'a', sizeof name);
	name[USER_SESSION_NAME_MAX + 1] = '\0';
	cr_expect(not(user_session_name_is_valid(name)));
	name[USER_SESSION_NAME_MAX] = '\0';
	cr_expect(user_session_name_is_valid(name));
}
