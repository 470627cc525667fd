/* Translates a program's error text into a kind and a sentence with advice. */
#include "providers/command/command.h"

#include <string.h>

#define BLANKS " \t\r\n"

struct line {
	const char *text;
	int len;
};

/* The line around `at`, without its full stop. */
static struct line line_around(const char *text, const char *at)
{
	struct line l = { .text = at };

	while (l.text > text && !strchr("\r\n", l.text[-1]))
		l.text--;
	l.text += strspn(l.text, BLANKS);
	l.len = (int)strcspn(l.text, "\r\n");
	while (l.len && strchr(". ", l.text[l.len - 1]))
		l.len--;
	return l;
}

static struct line last_line(const char *text)
{
	size_t len = strlen(text);

	while (len && strchr(BLANKS, text[len - 1]))
		len--;
	return len ? line_around(text, text + len - 1) : (struct line){ .text = "" };
}

static const struct complaint *find(const struct transport *t, const char *text)
{
	for (const struct complaint *c = t->complaints; c->words; c++)
		if (strstr(text, c->words))
			return c;
	return NULL;
}

enum err command_lacks(const struct command *c, const char *program, struct error *e)
{
	if (c->denied)
		return error_set(e, ERR_DENIED,
			"%s%s%s: permission denied while trying to connect to %s; is this user in "
			"the daemon's group?",
			c->at.base.ops->name, *c->given ? ":" : "", c->given, c->denied);
	return error_set(e, ERR_UNSUPPORTED,
		"%s%s%s: there is no program '%s' here; install it, or put its directory into "
		"$PATH",
		c->at.base.ops->name, *c->given ? ":" : "", c->given, program);
}

enum err command_verdict(
	struct command *c, struct session *s, const struct error *why, struct error *e)
{
	return command_verdict_of(c, session_words(s), why, e);
}

enum err command_verdict_of(
	struct command *c, const char *text, const struct error *why, struct error *e)
{
	const struct complaint *found = find(c->transport, text);
	struct line said = found ? line_around(text, strstr(text, found->words)) : last_line(text);
	const char *advice = found && found->advice ? found->advice : "";
	enum err kind = found ? found->kind : why->kind;

	if (why->kind == ERR_INTERRUPTED || why->kind == ERR_TIMEOUT)
		kind = why->kind;
	error_set(e, kind, "%s%s%s: %.*s%s%s", c->at.base.ops->name, *c->given ? ":" : "", c->given,
		said.len ? said.len : (int)strlen(why->text), said.len ? said.text : why->text,
		*advice ? "; " : "", advice);
	return attachment_note(&c->at, kind, e);
}
