#include "providers/user_shell.h"

#include "providers/provider.h"
#include "providers/shell_quote.h"

#include <string.h>
#include <xxhash.h>

/* Linux takes 128 KiB of one argument (MAX_ARG_STRLEN); start-up text and name go into it, too. */
#define ARGUMENT_MAX ((size_t)120 * 1024)

enum kind { KIND_SH, KIND_BASH, KIND_LOGIN, KIND_PATH, KIND_AUTO };

static const char *const names[] = {
	[KIND_SH] = "sh",
	[KIND_BASH] = "bash",
	[KIND_LOGIN] = "login",
	[KIND_AUTO] = "auto",
};

static enum kind kind_of(const char *name)
{
	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (names[i] && !strcmp(names[i], name))
			return (enum kind)i;
	return name ? KIND_PATH : KIND_AUTO;
}

static enum kind chosen(const char *name, unsigned caps)
{
	enum kind kind = kind_of(name);

	if (kind != KIND_AUTO)
		return kind;
	return caps & PROVIDER_LOGIN_SHELL ? KIND_LOGIN : KIND_BASH;
}

bool user_shell_is_known(const char *name)
{
	return kind_of(name) != KIND_PATH || *name == '/';
}

const char *user_shell_auto(unsigned caps)
{
	return chosen(NULL, caps) == KIND_LOGIN ? "bash -l -c" : "bash -c";
}

/* ---- The text ---- */

/*
 * The text before the command: it reads the files that bash does not read by itself. $1 is the
 * directory to go back to; "": none. The text stands in single quotes, so it must not have any.
 */
#define IN_BASH "[ -z \"$BASH_VERSION\" ] || "
#define GO_BACK "[ -z \"$1\" ] || command cd -- \"$1\"\nshift\n"

static const char *const startup[] = {
	[KIND_BASH] = IN_BASH "[ ! -r ~/.bashrc ] || . ~/.bashrc </dev/null\n" GO_BACK,
	[KIND_LOGIN] =
		IN_BASH "[ -r ~/.bash_profile ] || [ -r ~/.bash_login ] || [ -r ~/.profile ] ||\n"
			"	[ ! -r ~/.bashrc ] || . ~/.bashrc </dev/null\n" GO_BACK,
};

/* $1 is the shell, $2 the text it runs, $3 the directory. */
static void add_choice(struct buf *out, bool keeps_dir)
{
	buf_printf(out, " %s\n", keeps_dir ? "\"$PWD\"" : "''");
	buf_add_string(out,
		"if command -v bash >/dev/null 2>&1; then set -- bash \"$@\"; else "
		"set -- /bin/sh \"$@\"; fi\n");
}

static void add_short(struct buf *out, enum kind kind, bool keeps_dir, const char *command)
{
	buf_add_string(out, "set --");
	shell_argument(out, command);
	add_choice(out, keeps_dir);
	buf_printf(out, "exec \"$1\" %s-c '%s'\"$2\" \"$1\" \"$3\"\n",
		kind == KIND_LOGIN ? "-l " : "", startup[kind]);
}

/*
 * Text too long for an argument is a here-document, which the shell reads as a file. The shell
 * closes that file's descriptor first. The line that ends the document does not occur in the
 * command.
 */
static void add_long(struct buf *out, enum kind kind, bool keeps_dir, const char *command)
{
	unsigned long long end = XXH3_64bits(command, strlen(command));

	buf_printf(out, "exec 9<<'end-%llx'\nexec 9<&-\n%s", end, startup[kind]);
	buf_add_string(out, command);
	buf_printf(out, "\nend-%llx\nset -- /dev/fd/9", end);
	add_choice(out, keeps_dir);
	buf_printf(out, "exec \"$1\" %s\"$2\" \"$3\"\n", kind == KIND_LOGIN ? "-l " : "");
}

static void add_program(struct buf *out, const char *path, const char *command)
{
	buf_add_string(out, "exec");
	shell_argument(out, path);
	buf_add_string(out, " -c");
	shell_argument(out, command);
	buf_add_byte(out, '\n');
}

void user_shell_add(
	struct buf *out, const char *name, unsigned caps, bool keeps_dir, const char *command)
{
	enum kind kind = chosen(name, caps);

	if (kind == KIND_SH)
		buf_add_string(out, command);
	else if (kind == KIND_PATH)
		add_program(out, name, command);
	else if (strlen(command) < ARGUMENT_MAX)
		add_short(out, kind, keeps_dir, command);
	else
		add_long(out, kind, keeps_dir, command);
}
