#include "providers/remote/text.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

TestSuite(remote_text, .timeout = 300);

static const char *const shells[][3] = {
	{ "/bin/sh", NULL },
	{ "/usr/bin/dash", NULL },
	{ "/usr/bin/bash", NULL },
	{ "/usr/bin/zsh", "-f", NULL },
	{ "/usr/bin/busybox", "sh", NULL },
};

/* Every byte that an argument may hold. */
static const char *any_bytes(void)
{
	static char bytes[256];

	for (int c = 1; c < 256; c++)
		bytes[c - 1] = (char)c;
	return bytes;
}

static void expect_printable(const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		cr_assert(text->bytes[i] >= ' ' && text->bytes[i] <= '~', "byte %zu is %d", i,
			text->bytes[i]);
}

/* Runs the text in the shell, which reads it from its standard input. */
static void run(const char *const *shell, const struct buf *text, struct buf *out)
{
	char path[] = "/tmp/remote_text-XXXXXX", command[128];
	AUTO_CLOSE int fd = mkstemp(path);
	FILE *pipe;
	int c;

	cr_assert(fd >= 0 && write(fd, text->bytes, text->len) == (ssize_t)text->len);
	snprintf(command, sizeof command, "%s %s <%s", shell[0], shell[1] ? shell[1] : "", path);
	pipe = popen(command, "r");
	cr_assert(pipe != NULL);
	while ((c = getc(pipe)) != EOF)
		buf_add_byte(out, (unsigned char)c);
	pclose(pipe);
	unlink(path);
}

static void expect_same_words(const char *const *words)
{
	const char *argv[10] = { "printf", "%s|" };
	AUTO_BUF struct buf text = BUF_INIT(10000);
	AUTO_BUF struct buf want = BUF_INIT(10000);

	for (size_t i = 0; words[i]; i++) {
		argv[i + 2] = words[i];
		buf_printf(&want, "%s|", words[i]);
	}
	cr_assert(remote_text_add(&text, argv));
	expect_printable(&text);
	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
		AUTO_BUF struct buf got = BUF_INIT(10000);

		if (access(shells[i][0], X_OK))
			continue;
		run(shells[i], &text, &got);
		cr_expect(got.len == want.len && !memcmp(got.bytes, want.bytes, got.len),
			"%s: %s gives '%s'", shells[i][0], buf_text(&text), buf_text(&got));
	}
}

Test(remote_text, plain_words_are_quoted_and_nothing_else)
{
	AUTO_BUF struct buf text = BUF_INIT(1000);

	cr_assert(
		remote_text_add(&text, (const char *const[]){ "/bin/sh", "-c", "a b", "", NULL }));
	cr_expect(eq(str, (char *)buf_text(&text), "'/bin/sh' '-c' 'a b' ''"));
}

Test(remote_text, every_shell_sees_the_words_as_they_were)
{
	expect_same_words(
		(const char *const[]){ "a b", "", "it's", "$HOME `id` \\n * ~ !x #", NULL });
	expect_same_words((const char *const[]){ "%s %n %% 100%", "\\045 \\", "'", "''", NULL });
	expect_same_words((const char *const[]){ any_bytes(), NULL });
}

Test(remote_text, line_ends_stay_wherever_they_stand)
{
	expect_same_words((const char *const[]){ "\n", "two\nlines", "at the end\n\n\n", NULL });
	expect_same_words((const char *const[]){ "\t\r\n", "caf\xc3\xa9\n", "\xff\n", NULL });
}

Test(remote_text, a_text_beyond_the_ceiling_is_refused)
{
	AUTO_BUF struct buf small = BUF_INIT(20);
	const char *const words[] = { "twelve bytes", "twelve bytes", NULL };

	cr_expect(not(remote_text_add(&small, words)));
	cr_expect(small.failed);
}
