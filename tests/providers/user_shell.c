#include "providers/user_shell.h"

#include "providers/base/cleanup.h"
#include "providers/provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(user_shell, .timeout = 300);

/* A home with start-up files of its user's. */
struct home {
	char dir[40];
	char path[80];
};

static void write_file(struct home *h, const char *name, const char *text)
{
	FILE *file;

	snprintf(h->path, sizeof h->path, "%s/%s", h->dir, name);
	file = fopen(h->path, "w");
	cr_assert(ne(ptr, file, NULL));
	fputs(text, file);
	fclose(file);
}

static struct home home_new(const char *bashrc, const char *profile)
{
	struct home h = { "/tmp/home-XXXXXX", "" };

	cr_assert(ne(ptr, mkdtemp(h.dir), NULL));
	cr_assert(eq(int, chdir(h.dir), 0));
	cr_assert(eq(int, mkdir("work", 0700), 0));
	if (bashrc)
		write_file(&h, ".bashrc", bashrc);
	if (profile)
		write_file(&h, ".profile", profile);
	setenv("HOME", h.dir, 1);
	return h;
}

static void home_end(struct home *h)
{
	AUTO_FREE char *command = NULL;

	cr_assert(ge(int, asprintf(&command, "/bin/rm -rf %s", h->dir), 0));
	cr_assert(eq(int, system(command), 0));
}

/* The output of /bin/sh for the text; the caller frees it. */
static char *said(const char *shell, unsigned caps, bool keeps_dir, const char *command)
{
	AUTO_BUF struct buf text = BUF_INIT(USER_SHELL_MAX(1024 * 1024));
	AUTO_BUF struct buf out = BUF_INIT(100000);
	char piece[4096];
	FILE *script = fopen("script", "w"), *pipe;
	size_t n;

	user_shell_add(&text, shell, caps, keeps_dir, command);
	cr_assert(ne(ptr, script, NULL));
	fputs(buf_text(&text), script);
	fclose(script);
	pipe = popen("/bin/sh ./script 2>&1", "r");
	cr_assert(ne(ptr, pipe, NULL));
	while ((n = fread(piece, 1, sizeof piece, pipe)))
		buf_add(&out, piece, n);
	buf_printf(&out, "exit %d", WEXITSTATUS(pclose(pipe)));
	return strdup(buf_text(&out));
}

static void check(
	const char *shell, unsigned caps, bool keeps_dir, const char *command, const char *want)
{
	AUTO_FREE char *text = said(shell, caps, keeps_dir, command);

	cr_expect(eq(str, text, (char *)want), "%s: %.60s", shell ? shell : "auto", command);
}

/* Longer than one argument may be. */
static char *lengthened(const char *command)
{
	size_t len = 200 * 1000;
	char *text = malloc(len + strlen(command) + 2);

	memset(text, '#', len);
	sprintf(text + len, "\n%s", command);
	return text;
}

static void check_both(
	const char *shell, unsigned caps, bool keeps_dir, const char *command, const char *want)
{
	AUTO_FREE char *text = lengthened(command);

	check(shell, caps, keeps_dir, command, want);
	check(shell, caps, keeps_dir, text, want);
}

Test(user_shell, bash_reads_its_file_of_the_home)
{
	struct home h = home_new("X=bashrc\nf() { echo f; }\n", "X=profile\n");

	check_both(NULL, 0, false, "[[ $X == b* ]] && f", "f\nexit 0");
	check_both("bash", PROVIDER_LOGIN_SHELL, false, "echo $X", "bashrc\nexit 0");
	home_end(&h);
}

Test(user_shell, a_login_shell_reads_the_profile_of_the_home)
{
	struct home h = home_new("X=bashrc\n", "X=profile\n");

	check_both("login", 0, false, "echo $X", "profile\nexit 0");
	check_both(NULL, PROVIDER_LOGIN_SHELL, false, "echo $X", "profile\nexit 0");
	home_end(&h);
}

Test(user_shell, a_login_shell_reads_the_other_file_where_there_is_no_profile)
{
	struct home h = home_new("X=bashrc\n", NULL);

	check_both("login", 0, false, "echo $X", "bashrc\nexit 0");
	home_end(&h);
}

Test(user_shell, a_home_without_files_is_no_failure)
{
	struct home h = home_new(NULL, NULL);

	check_both(NULL, 0, false, "echo \"$#:$X\"; exit 7", "0:\nexit 7");
	check_both("login", 0, true, "echo \"$#:$X\"; exit 7", "0:\nexit 7");
	home_end(&h);
}

Test(user_shell, sh_reads_none)
{
	struct home h = home_new("X=bashrc\n", "X=profile\n");

	check_both("sh", 0, false, "echo \"$X\"; echo ${BASH_VERSION:-sh}", "\nsh\nexit 0");
	home_end(&h);
}

Test(user_shell, the_directory_is_that_of_the_files_or_the_command_s_own)
{
	struct home h = home_new("cd ~/work\n", "cd ~/work\n");

	for (size_t i = 0; i < 2; i++) {
		const char *shell = i ? "login" : "bash";

		check_both(shell, 0, false, "echo ${PWD##*/}", "work\nexit 0");
		check_both(
			shell, 0, true, "[ \"$PWD\" -ef \"$HOME\" ] && echo kept", "kept\nexit 0");
	}
	home_end(&h);
}

Test(user_shell, without_bash_it_is_sh)
{
	struct home h = home_new("X=bashrc\n", "X=profile\n");

	setenv("PATH", h.dir, 1);
	check_both("bash", 0, true, "echo \"${BASH_VERSION:-sh} $X\"", "sh \nexit 0");
	home_end(&h);
}

Test(user_shell, a_program_gets_the_text_as_it_is)
{
	struct home h = home_new("X=bashrc\n", NULL);

	check("/bin/echo", 0, false, "it's $HOME \\ \"x\"", "-c it's $HOME \\ \"x\"\nexit 0");
	check("/bin/bash", 0, false, "echo \"${BASH_VERSION:+bash}$X\"", "bash\nexit 0");
	home_end(&h);
}

Test(user_shell, the_text_is_taken_as_it_stands)
{
	struct home h = home_new(NULL, NULL);

	check_both(NULL, 0, false, "cat <<'E'\nit's $X \\ `x`\nE\necho \"a  b\" 'c'\n",
		"it's $X \\ `x`\na  b c\nexit 0");
	check_both(NULL, 0, false, "ls /proc/self/fd | grep -c '^9$'", "0\nexit 1");
	home_end(&h);
}

Test(user_shell, names_of_shells)
{
	static const char *const known[] = { "auto", "sh", "bash", "login", "/bin/zsh" };
	static const char *const unknown[] = { "", "zsh", "Bash", "./sh" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		cr_expect(user_shell_is_known(known[i]), "%s", known[i]);
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		cr_expect(not(user_shell_is_known(unknown[i])), "%s", unknown[i]);
	cr_expect(eq(str, (char *)user_shell_auto(0), "bash -c"));
	cr_expect(eq(str, (char *)user_shell_auto(PROVIDER_LOGIN_SHELL), "bash -l -c"));
}
