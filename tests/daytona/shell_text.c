/*
 * Programs through real shells, fed as the daemon feeds them: text on their standard input, both
 * outputs in one.
 */
#include "providers/daytona/shell_text.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define MARK "sandboxfs-0123456789abcdef"

static const char *const shells[][3] = { { "sh" }, { "bash" }, { "dash" }, { "zsh" },
	{ "busybox", "sh" } };
#define SHELLS (sizeof shells / sizeof *shells)

TestSuite(shell_text, .timeout = 300);

/* ---- A shell as the daemon runs it ---- */

static bool is_there(const char *program)
{
	char command[64];

	snprintf(command, sizeof command, "command -v %s >/dev/null", program);
	return system(command) == 0;
}

static void become_shell(const char *const *shell, int input, int output)
{
	dup2(input, 0);
	dup2(output, 1);
	dup2(output, 2);
	execvp(shell[0], (char **)shell);
	_exit(99);
}

/* A pipe would block where both the text and the output are long. */
static int file_with(const char *text)
{
	char path[] = "/tmp/shell-text-XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	cr_assert(eq(sz, (size_t)write(fd, text, strlen(text)), strlen(text)));
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int feed(const char *const *shell, const char *text, struct buf *output)
{
	AUTO_CLOSE int in = file_with(text), out = file_with("");
	pid_t child = fork();
	char piece[4096];
	ssize_t len;
	int status;

	if (!child)
		become_shell(shell, in, out);
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	lseek(out, 0, SEEK_SET);
	while ((len = read(out, piece, sizeof piece)) > 0)
		buf_add(output, piece, (size_t)len);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- Results ---- */

static void expect_of(const char *const *shell, const char *before, const char *const *argv,
	int code, const char *out, const char *err)
{
	AUTO_BUF struct buf text = BUF_INIT(1000000), output = BUF_INIT(1000000);
	struct shell_text_piece all, got_out, got_err;

	buf_add_string(&text, before);
	cr_assert(shell_text_make(&text, argv, MARK));
	cr_expect(eq(int, feed(shell, buf_text(&text), &output), code), "%s", shell[0]);
	all = (struct shell_text_piece){ buf_text(&output), output.len };
	cr_assert(shell_text_split(&all, MARK, &got_out, &got_err), "%s: %s", shell[0],
		buf_text(&output));
	cr_expect(eq(sz, got_out.len, strlen(out)), "%s: %s", shell[0], buf_text(&output));
	cr_expect(
		not(memcmp(got_out.text, out, strlen(out))), "%s: %s", shell[0], buf_text(&output));
	cr_expect(eq(sz, got_err.len, strlen(err)), "%s: %s", shell[0], buf_text(&output));
	cr_expect(
		not(memcmp(got_err.text, err, strlen(err))), "%s: %s", shell[0], buf_text(&output));
}

static void expect(const char *const *argv, int code, const char *out, const char *err)
{
	for (size_t i = 0; i < SHELLS; i++)
		if (is_there(shells[i][0]))
			expect_of(shells[i], "", argv, code, out, err);
}

Test(shell_text, both_outputs_are_distinguished)
{
	static const char *const argv[] = { "/bin/sh", "-c",
		"echo one; echo two >&2; echo three; echo four >&2; exit 3", NULL };

	expect(argv, 3, "one\nthree\n", "two\nfour");
}

Test(shell_text, a_program_without_output_is_one)
{
	static const char *const argv[] = { "true", NULL };

	expect(argv, 0, "", "");
}

Test(shell_text, output_need_not_end_with_its_line)
{
	static const char *const argv[] = { "printf", "%s", "no end", NULL };

	expect(argv, 0, "no end", "");
}

Test(shell_text, a_program_does_not_eat_the_script)
{
	static const char *const argv[] = { "cat", NULL };

	expect(argv, 0, "", "");
}

Test(shell_text, arguments_are_any_bytes)
{
	static const char *const argv[] = { "printf", "%s|", "a'b", "\n\t ", "\377\1", "$x`y`\\",
		"%s !", "", NULL };

	expect(argv, 0, "a'b|\n\t |\377\1|$x`y`\\|%s !||", "");
}

Test(shell_text, signals_are_reported_as_shells_do)
{
	static const char *const argv[] = { "/bin/sh", "-c", "kill -9 $$", NULL };
	AUTO_BUF struct buf text = BUF_INIT(10000), output = BUF_INIT(10000);

	cr_assert(shell_text_make(&text, argv, MARK));
	cr_expect(eq(int, feed(shells[0], buf_text(&text), &output), 128 + 9));
}

Test(shell_text, what_is_not_there_is_127)
{
	static const char *const argv[] = { "/nowhere/to/be/found", NULL };

	for (size_t i = 0; i < SHELLS; i++) {
		AUTO_BUF struct buf text = BUF_INIT(10000), output = BUF_INIT(10000);

		cr_assert(shell_text_make(&text, argv, MARK));
		if (is_there(shells[i][0]))
			cr_expect(eq(int, feed(shells[i], buf_text(&text), &output), 127), "%s",
				shells[i][0]);
	}
}

/* The shell prints this from a file that every zsh or bash reads first. */
Test(shell_text, what_a_shell_prints_while_it_starts_is_no_output)
{
	static const char *const argv[] = { "echo", "mine", NULL };

	expect_of(shells[0], "echo welcome; echo oh >&2\n", argv, 0, "mine\n", "");
}

Test(shell_text, a_shell_that_did_not_run_to_its_end_is_noticed)
{
	static const char *const cut[] = { "", MARK "\nhalf an answer",
		"fork/exec /usr/bin/bash: no such file or directory" };
	struct shell_text_piece out, err;

	for (size_t i = 0; i < 3; i++) {
		struct shell_text_piece all = { cut[i], strlen(cut[i]) };

		cr_expect(not(shell_text_split(&all, MARK, &out, &err)));
	}
}

Test(shell_text, marks_are_never_the_same)
{
	char one[SHELL_TEXT_MARK_SIZE], other[SHELL_TEXT_MARK_SIZE];

	cr_assert(eq(int, shell_text_new_mark(one, NULL), ERR_OK));
	cr_assert(eq(int, shell_text_new_mark(other, NULL), ERR_OK));
	cr_expect(ne(str, one, other));
	cr_expect(eq(sz, strlen(one), strlen(MARK)));
}
