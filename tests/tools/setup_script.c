#include "providers/base/cleanup.h"
#include "tools/dotenv.h"
#include "tools/masked.h"
#include "tools/option_values.h"
#include "tools/setup_names.h"
#include "tools/setup_script.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(setup_script, .timeout = 300);

/* A directory with a script in it. */
struct place {
	char dir[40], script[60], file[60];
};

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(ne(ptr, file, NULL));
	fputs(text, file);
	fclose(file);
}

/* `variables`: the text of its .env; NULL: there is no .env. */
static struct place place_new(const char *script, const char *variables)
{
	struct place p = { "/tmp/setup-XXXXXX", "", "" };

	cr_assert(ne(ptr, mkdtemp(p.dir), NULL));
	snprintf(p.script, sizeof p.script, "%s/script", p.dir);
	snprintf(p.file, sizeof p.file, "%s/.env", p.dir);
	put(p.script, script);
	if (variables)
		put(p.file, variables);
	return p;
}

static void place_end(const struct place *p)
{
	unlink(p->script);
	unlink(p->file);
	rmdir(p->file);
	rmdir(p->dir);
}

/* The script as it is expanded, to be freed by the caller; NULL: the script is refused. */
static char *expanded(const char *script, const char *variables, const char *names)
{
	struct place p = place_new(script, variables);
	struct setup_request request = { .path = p.script, .names = (char *)names };
	AUTO_SETUP struct setup setup = { 0 };
	struct error e = { 0 };
	char *text = setup_read(&setup, &request, &e) ? NULL : strdup(buf_text(&setup.text));

	place_end(&p);
	return text;
}

struct row {
	const char *text, *want;
};

static void check_rows(
	const struct row *rows, size_t count, const char *variables, const char *names)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *text = expanded(rows[i].text, variables, names);

		cr_assert(ne(ptr, text, NULL), "%s", rows[i].text);
		cr_expect(eq(str, text, (char *)rows[i].want), "%s", rows[i].text);
	}
}

#define CHECK_ROWS(rows, ...) check_rows(rows, sizeof rows / sizeof *rows, __VA_ARGS__)

Test(setup_script, names_become_what_is_set_here)
{
	static const struct row rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "$NAME", "value" },
		{ "${NAME}", "value" },
		{ "a$NAME.b${NAME}c", "avalue.bvaluec" },
		{ "'$NAME' \"$NAME\"", "'value' \"value\"" },
		{ "$NAME2", "two" },
		{ "$EMPTY|", "|" },
		/* Unknown names stay, and so does text that is no name. */
		{ "$UNKNOWN ${UNKNOWN}", "$UNKNOWN ${UNKNOWN}" },
		{ "$1 $(NAME) ${NAME:-y} ${NAME ${} $", "$1 $(NAME) ${NAME:-y} ${NAME ${} $" },
		{ "$NAM\xc3\xa9", "$NAM\xc3\xa9" },
		{ "$$NAME $$$NAME $$$$", "$NAME $value $$" },
	};

	setenv("NAME", "value", 1);
	setenv("NAME2", "two", 1);
	setenv("EMPTY", "", 1);
	CHECK_ROWS(rows, NULL, NULL);
}

Test(setup_script, names_of_the_sandbox_s_own_stay)
{
	static const char *const names[] = { "HOME", "PATH", "PWD", "OLDPWD", "USER", "LOGNAME",
		"SHELL", "HOSTNAME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "UID", "EUID",
		"PPID", "SHLVL", "_" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		AUTO_FREE char *script = NULL;
		AUTO_FREE char *text = NULL;

		cr_assert(ge(int, asprintf(&script, "echo $%s ${%s}", names[i], names[i]), 0));
		setenv(names[i], "of-here", 1);
		text = expanded(script, NULL, NULL);
		cr_expect(eq(str, text, script));
	}
}

Test(setup_script, names_to_which_the_script_gives_a_value_stay)
{
	static const struct row rows[] = {
		{ "NAME=a; echo $NAME", "NAME=a; echo $NAME" },
		{ "export NAME=a\n$NAME", "export NAME=a\n$NAME" },
		{ "export A=1 NAME=2 $NAME", "export A=1 NAME=2 $NAME" },
		{ "NAME=\n$NAME", "NAME=\n$NAME" },
		{ "NAME+=a $NAME", "NAME+=a $NAME" },
		{ "NAME[1]=a $NAME", "NAME[1]=a $NAME" },
		{ "NAME=\"$NAME:more\"", "NAME=\"$NAME:more\"" },
		{ "NAME=${NAME:-a} $NAME", "NAME=${NAME:-a} $NAME" },
		{ ": ${NAME:=a} $NAME", ": ${NAME:=a} $NAME" },
		{ "for NAME in a b; do echo $NAME; done", "for NAME in a b; do echo $NAME; done" },
		{ "x && for NAME\ndo $NAME; done", "x && for NAME\ndo $NAME; done" },
		{ "select NAME in a; do $NAME; done", "select NAME in a; do $NAME; done" },
		{ "read NAME; $NAME", "read NAME; $NAME" },
		{ "while IFS= read -r -p \"a b\" OTHER NAME; do $NAME; done",
			"while IFS= read -r -p \"a b\" OTHER NAME; do $NAME; done" },
		{ "while IFS=: read NAME; do $NAME; done",
			"while IFS=: read NAME; do $NAME; done" },
		{ "IFS=\", \" read -ra NAME <f\n$NAME", "IFS=\", \" read -ra NAME <f\n$NAME" },
		{ "IFS=$'\\t' read A NAME; $NAME", "IFS=$'\\t' read A NAME; $NAME" },
		{ "printf -v NAME %s a; $NAME", "printf -v NAME %s a; $NAME" },
		{ "printf -vNAME %s a; $NAME", "printf -vNAME %s a; $NAME" },
		{ "f() { local NAME; $NAME; }", "f() { local NAME; $NAME; }" },
		{ "local OTHER=1 NAME\n$NAME", "local OTHER=1 NAME\n$NAME" },
		{ "unset NAME; $NAME", "unset NAME; $NAME" },
		{ "sh -c 'NAME=a; $NAME'", "sh -c 'NAME=a; $NAME'" },
		{ "if NAME=$(x); then $NAME; fi", "if NAME=$(x); then $NAME; fi" },
		{ "((NAME=1)) $NAME", "((NAME=1)) $NAME" },
		{ "cat <<E\nNAME=a\n$NAME\nE", "cat <<E\nNAME=a\n$NAME\nE" },
	};

	setenv("NAME", "value", 1);
	CHECK_ROWS(rows, NULL, NULL);
}

Test(setup_script, a_name_that_is_given_its_own_value_or_none_is_replaced)
{
	static const struct row rows[] = {
		{ "export NAME=\"${NAME}\"", "export NAME=\"value\"" },
		{ "NAME=$NAME x", "NAME=value x" },
		{ "NAME='$NAME'", "NAME='value'" },
		{ "export NAME=${NAME}; x", "export NAME=value; x" },
		{ "cat >>~/.bashrc <<'E'\nexport NAME=\"$NAME\"\nE",
			"cat >>~/.bashrc <<'E'\nexport NAME=\"value\"\nE" },
		{ "sh -c \"NAME=$NAME\"", "sh -c \"NAME=value\"" },
		/* Texts that only look like a value, a list or a command. */
		{ "# NAME=a\n$NAME", "# NAME=a\nvalue" },
		{ "x --NAME=a url?NAME=b $NAME", "x --NAME=a url?NAME=b value" },
		{ "OTHER_NAME=a $NAME", "OTHER_NAME=a value" },
		{ "NAMES=a $NAME", "NAMES=a value" },
		{ "echo read NAME; $NAME", "echo read NAME; value" },
		{ "A=: echo read NAME; $NAME", "A=: echo read NAME; value" },
		{ "printf -- '%s' NAME; $NAME", "printf -- '%s' NAME; value" },
		{ "printf -vOTHER_NAME %s a; $NAME", "printf -vOTHER_NAME %s a; value" },
		{ "echo for NAME in $NAME", "echo for NAME in value" },
		{ "export NAME; $NAME", "export NAME; value" },
		{ "[ NAME = $NAME ]", "[ NAME = value ]" },
		{ "${#OTHER} $NAME", "${#OTHER} value" },
	};

	setenv("NAME", "value", 1);
	CHECK_ROWS(rows, NULL, NULL);
}

Test(setup_script, names_that_are_asked_for_are_replaced_whatever_the_script_does)
{
	static const struct row rows[] = {
		{ "HOME=$HOME NAME=a $NAME $OTHER", "HOME=of-here NAME=a value $OTHER" },
	};

	setenv("NAME", "value", 1);
	setenv("OTHER", "other", 1);
	setenv("HOME", "of-here", 1);
	CHECK_ROWS(rows, NULL, "NAME,HOME");
	CHECK_ROWS(rows, NULL, "HOME:NAME");
}

Test(setup_script, nothing_is_replaced_where_none_is_asked_for)
{
	static const struct row rows[] = { { "$NAME $$ ${NAME}", "$NAME $$ ${NAME}" } };

	setenv("NAME", "value", 1);
	CHECK_ROWS(rows, "NAME=file", "none");
}

Test(setup_script, a_name_that_is_asked_for_must_be_set)
{
	cr_expect(eq(ptr, expanded("x", NULL, "NOWHERE"), NULL));
	cr_expect(eq(ptr, expanded("x", NULL, "no-name"), NULL));
	setenv("NAME", "value", 1);
	cr_expect(eq(ptr, expanded("x", NULL, "NAME,NOWHERE"), NULL));
}

Test(setup_script, a_file_next_to_it_gives_values_that_are_not_set_here)
{
	static const struct row rows[] = {
		{ "$NAME $PLAIN|$QUOTED|$SINGLE|$LINES|$EMPTY|$LAST|$ODD|$BARE",
			"value a b|q # \"\n\t\\d|s 'x' \\n|one\ntwo||second|a#b|$BARE" },
	};
	static const char variables[] = "# a comment\n"
					"NAME=other\n"
					"  export PLAIN = a b # comment\r\n"
					"QUOTED=\"q # \\\"\\n\\t\\\\d\" # comment\n"
					"SINGLE='s \\'x\\' \\n'\n"
					"LINES=\"one\ntwo\"\n"
					"EMPTY=\n"
					"BARE\n"
					"\n"
					"ODD=a#b\n"
					"LAST=first\n"
					"LAST=second";

	setenv("NAME", "value", 1);
	CHECK_ROWS(rows, variables, NULL);
}

Test(setup_script, a_quote_that_is_not_closed_is_reported_with_its_line)
{
	struct error e = { 0 };
	char **list = NULL;

	cr_expect(eq(int, dotenv_parse("d/.env", "A=1\nB=\"x\ny\n", &list, &e), ERR_INVALID));
	cr_expect(eq(str, e.text, "d/.env:2: the \" is not closed"));
	option_list_free(list);
}

Test(setup_script, a_directory_of_the_file_s_name_is_no_file_of_variables)
{
	struct place p = place_new("$NAME", NULL);
	struct setup_request request = { .path = p.script };
	AUTO_SETUP struct setup setup = { 0 };
	struct error e = { 0 };

	setenv("NAME", "value", 1);
	cr_assert(eq(int, mkdir(p.file, 0700), 0));
	cr_expect(eq(int, setup_read(&setup, &request, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&setup.text), "value"));
	place_end(&p);
}

Test(setup_script, what_was_replaced_is_known_by_name_once_each)
{
	struct place p = place_new("$NAME $HOME $OTHER $NAME $UNKNOWN", "OTHER=x\nUNUSED=y\n");
	struct setup_request request = { .path = p.script };
	AUTO_SETUP struct setup setup = { 0 };
	struct error e = { 0 };

	setenv("NAME", "value", 1);
	cr_assert(eq(int, setup_read(&setup, &request, &e), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&setup.names), "NAME, OTHER"));
	place_end(&p);
}

/* ---- The output as it is shown ---- */

/* `text` in pieces of `piece` bytes. */
static char *shown(const char *const *values, const char *text, size_t piece)
{
	struct masked m = MASKED_INIT(values, 1000);
	AUTO_BUF struct buf out = BUF_INIT(1000);
	size_t len = strlen(text);

	for (size_t at = 0; at < len; at += piece)
		cr_assert(masked_add(&m, text + at, len - at < piece ? len - at : piece, &out));
	masked_end(&m, &out);
	return strdup(buf_text(&out));
}

Test(setup_script, values_do_not_show_in_output_however_it_comes)
{
	static const char *const values[] = { "secret", "secret-more", "aaaab", "x", NULL };
	static const struct row rows[] = {
		{ "", "" },
		{ "nothing", "nothing" },
		{ "a secret.", "a ***." },
		{ "secret-more secret-mor", "*** ***-mor" },
		{ "secretsecret", "******" },
		{ "secre", "secre" },
		{ "aaaaaab", "aa***" },
		{ "x", "x" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t piece = 1; piece < 12; piece++) {
			AUTO_FREE char *text = shown(values, rows[i].text, piece);

			cr_expect(eq(str, text, (char *)rows[i].want), "%s, %zu", rows[i].text,
				piece);
		}
}
