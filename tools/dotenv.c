#include "tools/dotenv.h"

#include "providers/base/buf.h"
#include "tools/option_values.h"

#include <string.h>

#define BLANKS " \t\r"

struct reading {
	const char *path, *at;
	unsigned line;  /* from 1 on: the line of `at` */
	struct buf one; /* "NAME=value", as far as it was read */
};

static void skip_blanks(struct reading *r)
{
	r->at += strspn(r->at, BLANKS);
}

static void skip_line(struct reading *r)
{
	r->at += strcspn(r->at, "\n");
	if (*r->at) {
		r->at++;
		r->line++;
	}
}

static void skip_export(struct reading *r)
{
	if (!strncmp(r->at, "export", 6) && strchr(BLANKS, r->at[6]) && r->at[6]) {
		r->at += 6;
		skip_blanks(r);
	}
}

/*
 * The character for `c` behind a backslash in `quote`; 0: the backslash is a character like others.
 */
static char escaped(char quote, char c)
{
	static const char names[] = "nrt", values[] = "\n\r\t";
	const char *name = quote == '"' && c ? strchr(names, c) : NULL;

	if (name)
		return values[name - names];
	return c == '\\' || c == quote ? c : 0;
}

static enum err read_quoted(struct reading *r, struct error *e)
{
	char quote = *r->at++;
	unsigned first = r->line;

	for (; *r->at && *r->at != quote; r->at++) {
		char c = *r->at == '\\' ? escaped(quote, r->at[1]) : 0;

		if (*r->at == '\n')
			r->line++;
		buf_add_byte(&r->one, (unsigned char)(c ? c : *r->at));
		r->at += c != 0;
	}
	if (!*r->at)
		return error_set(
			e, ERR_INVALID, "%s:%u: the %c is not closed", r->path, first, quote);
	r->at++;
	return ERR_OK;
}

/* The length of a value's part without quotes, which a comment or the end of the line ends. */
static size_t plain_len(const char *text)
{
	size_t len = strcspn(text, "\n");

	for (size_t i = 0; i < len; i++)
		if (text[i] == '#' && (!i || strchr(BLANKS, text[i - 1])))
			len = i;
	while (len && strchr(BLANKS, text[len - 1]))
		len--;
	return len;
}

static enum err read_value(struct reading *r, struct error *e)
{
	enum err kind = ERR_OK;

	skip_blanks(r);
	if (*r->at == '"' || *r->at == '\'')
		kind = read_quoted(r, e);
	else
		buf_add(&r->one, r->at, plain_len(r->at));
	skip_line(r);
	return kind ? kind : buf_check(&r->one, r->path, e);
}

static enum err read_line(struct reading *r, char ***list, struct error *e)
{
	size_t len;
	enum err kind;

	skip_blanks(r);
	skip_export(r);
	len = strcspn(r->at, "=#\n" BLANKS);
	buf_reset(&r->one);
	buf_add(&r->one, r->at, len);
	r->at += len;
	skip_blanks(r);
	if (!len || *r->at != '=') {
		skip_line(r);
		return ERR_OK;
	}
	r->at++;
	buf_add_byte(&r->one, '=');
	kind = read_value(r, e);
	return kind ? kind : option_set_word(NULL, buf_text(&r->one), list, e);
}

enum err dotenv_parse(const char *path, const char *text, char ***list, struct error *e)
{
	struct reading r = { .path = path, .at = text, .line = 1, .one = BUF_INIT(DOTENV_MAX) };
	enum err kind = ERR_OK;

	while (!kind && *r.at)
		kind = read_line(&r, list, e);
	if (r.one.bytes)
		explicit_bzero(r.one.bytes, r.one.len);
	buf_release(&r.one);
	return kind;
}
