#include "tools/setup_names.h"

#include "providers/base/cleanup.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define BLANKS  " \t"
/* A quote separates, too: the text in it may be a command, as in sh -c 'NAME=value'. */
#define SEPARATORS "\n;&|(){}\"'`"

/* The effect of a command's words on a name among them. */
enum words {
	WORDS_PLAIN,   /* nothing */
	WORDS_COMMAND, /* the next word is the command's own name */
	WORDS_PRINTF,  /* a name that gets a value follows -v */
	WORDS_ONE,     /* the next word is a name that gets a value: behind `for` */
	WORDS_ALL,     /* all words are names that get values: behind `read` */
};

struct scan {
	const char *script, *at;
	enum words words;
	bool is_before_command; /* `at` is in the value of IFS=, read NAME */
	struct path_set *out;
};

size_t setup_name_len(const char *text)
{
	return strspn(text, LETTERS) ? strspn(text, LETTERS "0123456789") : 0;
}

bool setup_name_is_of_machine(const char *name)
{
	static const char *const names[] = { "HOME", "PATH", "PWD", "OLDPWD", "USER", "LOGNAME",
		"SHELL", "HOSTNAME", "TMPDIR", "LANG", "TERM", "UID", "EUID", "PPID", "SHLVL",
		"_" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "LC_", 3);
}

/* ---- Words ---- */

static const struct {
	const char *word;
	enum words then;
} commands[] = {
	{ "for", WORDS_ONE },
	{ "select", WORDS_ONE },
	{ "read", WORDS_ALL },
	{ "local", WORDS_ALL },
	{ "declare", WORDS_ALL },
	{ "typeset", WORDS_ALL },
	{ "unset", WORDS_ALL },
	{ "mapfile", WORDS_ALL },
	{ "readarray", WORDS_ALL },
	{ "getopts", WORDS_ALL },
	{ "printf", WORDS_PRINTF },
	{ "do", WORDS_COMMAND },
	{ "then", WORDS_COMMAND },
	{ "else", WORDS_COMMAND },
	{ "elif", WORDS_COMMAND },
	{ "if", WORDS_COMMAND },
	{ "while", WORDS_COMMAND },
	{ "until", WORDS_COMMAND },
	{ "time", WORDS_COMMAND },
	{ "builtin", WORDS_COMMAND },
	{ "command", WORDS_COMMAND },
};

static enum words words_behind(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strlen(commands[i].word) == len && !memcmp(commands[i].word, word, len))
			return commands[i].then;
	return WORDS_PLAIN;
}

static bool ends_word(char c)
{
	return !c || strchr(BLANKS SEPARATORS, c);
}

static bool begins_word(const struct scan *s)
{
	return s->at == s->script || ends_word(s->at[-1]);
}

static bool put(const struct scan *s, const char *name, size_t len)
{
	AUTO_FREE char *copy = strndup(name, len);

	return copy && path_set_put(s->out, copy);
}

/* Whether `value`, the text behind NAME=, is $NAME. */
static bool is_itself(const char *value, const char *name, size_t len)
{
	char quote = *value == '"' || *value == '\'' ? *value++ : 0;
	bool is_braced = value[0] == '$' && value[1] == '{';

	if (*value != '$' || strncmp(value + 1 + is_braced, name, len))
		return false;
	value += 1 + is_braced + len;
	if (is_braced && *value++ != '}')
		return false;
	return quote ? *value == quote && ends_word(value[1]) : ends_word(*value);
}

/* The beginning of the value, if `rest`, the text behind a name, gives it one; NULL: no value. */
static const char *value_behind(const char *rest)
{
	if (*rest == '[' && strchr(rest, ']'))
		rest = strchr(rest, ']') + 1;
	rest += rest[0] == '+' && rest[1] == '=';
	return *rest == '=' ? rest + 1 : NULL;
}

static bool take_word(struct scan *s)
{
	const char *name = s->at;
	size_t len = setup_name_len(name);
	const char *value = value_behind(name + len);
	enum words words = s->words;

	if (value) {
		s->at = value;
		s->is_before_command = words == WORDS_COMMAND;
		return (value == name + len + 1 && is_itself(value, name, len)) ||
			put(s, name, len);
	}
	s->at += len;
	if (!ends_word(*s->at)) {
		s->words = words == WORDS_ALL ? WORDS_ALL : WORDS_PLAIN;
		return true;
	}
	if (words == WORDS_COMMAND)
		s->words = words_behind(name, len);
	else if (words == WORDS_ONE)
		s->words = WORDS_PLAIN;
	return words < WORDS_ONE || put(s, name, len);
}

/* Takes a reference that begins with '$'; ${NAME:=value} also gives the name a value. */
static bool take_dollar(struct scan *s)
{
	const char *name = s->at + 1 + (s->at[1] == '{');
	size_t len = setup_name_len(name);
	const char *rest = name + len;

	if (s->at[1] == '$')
		rest = s->at + 2;
	else if (!len)
		rest = s->at + 1;
	s->at = rest;
	if (s->words != WORDS_ALL && !s->is_before_command)
		s->words = WORDS_PLAIN;
	if (!len || name[-1] != '{' || (rest[0] != '=' && (rest[0] != ':' || rest[1] != '=')))
		return true;
	return put(s, name, len);
}

/* The name of printf's option is a word of its own, or -vNAME. */
static bool take_printf_option(struct scan *s)
{
	bool is_v = s->at[1] == 'v';
	const char *name = s->at + 1 + is_v;
	size_t len = is_v ? setup_name_len(name) : 0;

	s->words = is_v && !len ? WORDS_ONE : WORDS_PLAIN;
	s->at = name + len;
	return !len || put(s, name, len);
}

static void take_sign(struct scan *s)
{
	char c = *s->at;

	if (c == '#' && (s->at == s->script || strchr(BLANKS "\n;", s->at[-1]))) {
		s->at += strcspn(s->at, "\n");
		return;
	}
	if (strchr(BLANKS "\n;&|", c))
		s->is_before_command = false;
	if (c == '\\' && s->at[1])
		s->at++;
	s->at++;
	if (strchr("\"'", c) && s->words != WORDS_PLAIN)
		return;
	if (strchr(SEPARATORS, c))
		s->words = WORDS_COMMAND;
	else if (!strchr(BLANKS "!\\", c) && s->words == WORDS_COMMAND && !s->is_before_command)
		s->words = WORDS_PLAIN;
}

enum err setup_names_given(const char *script, struct path_set *out, struct error *e)
{
	struct scan s = { .script = script, .at = script, .words = WORDS_COMMAND, .out = out };
	bool has_room = true;

	while (has_room && *s.at) {
		if (*s.at == '$')
			has_room = take_dollar(&s);
		else if (setup_name_len(s.at) && begins_word(&s))
			has_room = take_word(&s);
		else if (setup_name_len(s.at))
			s.at += setup_name_len(s.at);
		else if (s.words == WORDS_PRINTF && *s.at == '-')
			has_room = take_printf_option(&s);
		else
			take_sign(&s);
	}
	return has_room ? ERR_OK : error_set(e, ERR_NO_MEMORY, "setup script");
}
