#include "providers/more_headers.h"

#include "providers/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OURS "SANDBOXFS_HEADERS"
/* RFC 9110, 5.6.2: of a token. */
#define NAME_BYTES "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A value may have spaces inside. */
static bool is_value(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return !*text;
}

static bool take_line(struct more_headers *m, char *line)
{
	size_t name_len = strspn(line, NAME_BYTES);
	char *value = line + name_len + 1;

	if (!name_len || line[name_len] != ':' || m->count == MORE_HEADERS_MAX)
		return false;
	line[name_len] = '\0';
	value += strspn(value, " \t");
	m->headers[m->count++] =
		(struct http_header){ .name = line, .value = value, .is_secret = true };
	return is_value(value);
}

static enum err take_lines(
	struct more_headers *m, const char *variable, char *text, struct error *e)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest))
		if (!take_line(m, line))
			return error_set(e, ERR_INVALID, "%s wants at most %d lines of NAME: VALUE",
				strcmp(variable, OURS) ? variable : "header=", MORE_HEADERS_MAX);
	return ERR_OK;
}

enum err more_headers_read(struct more_headers *out, const char *variable_name, struct error *e)
{
	const char *theirs = variable_name ? variable(variable_name) : NULL, *ours = variable(OURS);
	struct more_headers m = { 0 };
	size_t theirs_len = theirs ? strlen(theirs) : 0;
	enum err kind = ERR_OK;

	/* Two texts, each with its end. */
	if (asprintf(&m.text, "%s%c%s", theirs ? theirs : "", '\0', ours ? ours : "") < 0)
		return error_set(e, ERR_NO_MEMORY, "headers");
	if (theirs)
		kind = take_lines(&m, variable_name, m.text, e);
	if (!kind)
		kind = take_lines(&m, OURS, m.text + theirs_len + 1, e);
	if (kind)
		more_headers_release(&m);
	else
		*out = m;
	return kind;
}

void more_headers_release(struct more_headers *m)
{
	for (size_t i = 0; i < m->count; i++)
		explicit_bzero((char *)m->headers[i].value, strlen(m->headers[i].value));
	free(m->text);
	*m = (struct more_headers){ 0 };
}
