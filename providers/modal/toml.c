#include "providers/modal/toml.h"

#include <stdbool.h>
#include <string.h>

#define BARE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define WORD BARE "+.:"
/* A name or a value; a credential of OAuth is the longest there is. */
#define TEXT_MAX 4096

/* The rest of one line. */
struct cursor {
	const char *at, *end;
};

static void skip_space(struct cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r'))
		c->at++;
}

static bool take_byte(struct cursor *c, char byte)
{
	skip_space(c);
	if (c->at == c->end || *c->at != byte)
		return false;
	c->at++;
	return true;
}

/* Nothing but a comment follows. */
static bool is_at_end(struct cursor *c)
{
	skip_space(c);
	return c->at == c->end || *c->at == '#';
}

/* The escapes that stand for one byte. */
static bool unescape(char escape, char *out)
{
	static const char from[] = "\"\\bfnrt", to[] = "\"\\\b\f\n\r\t";
	const char *found = escape ? strchr(from, escape) : NULL;

	if (found)
		*out = to[found - from];
	return found != NULL;
}

/* Behind the opening quote. */
static bool take_quoted(struct cursor *c, char quote, char out[TEXT_MAX])
{
	for (size_t len = 0; c->at < c->end && len < TEXT_MAX - 1;) {
		char byte = *c->at++;

		if (byte == quote) {
			out[len] = 0;
			return true;
		}
		if (byte == '\\' && quote == '"' && (c->at == c->end || !unescape(*c->at++, &byte)))
			return false;
		if (!byte)
			return false;
		out[len++] = byte;
	}
	return false;
}

static bool take_bare(struct cursor *c, const char *alphabet, char out[TEXT_MAX])
{
	size_t len = 0;

	while (c->at < c->end && *c->at && strchr(alphabet, *c->at) && len < TEXT_MAX - 1)
		out[len++] = *c->at++;
	out[len] = 0;
	return len > 0;
}

static bool take_text(struct cursor *c, const char *alphabet, char out[TEXT_MAX])
{
	if (take_byte(c, '"'))
		return take_quoted(c, '"', out);
	if (take_byte(c, '\''))
		return take_quoted(c, '\'', out);
	return take_bare(c, alphabet, out);
}

struct reading {
	char table[TEXT_MAX];
	toml_sink sink;
	void *context;
};

static bool read_line(struct reading *r, struct cursor *c)
{
	char key[TEXT_MAX], value[TEXT_MAX];

	if (is_at_end(c))
		return true;
	if (take_byte(c, '['))
		return take_text(c, BARE, r->table) && take_byte(c, ']') && is_at_end(c);
	if (!take_text(c, BARE, key) || !take_byte(c, '=') || !take_text(c, WORD, value) ||
		!is_at_end(c))
		return false;
	r->sink(r->context, r->table, key, value);
	explicit_bzero(value, sizeof value);
	return true;
}

enum err toml_read(const char *text, size_t len, toml_sink sink, void *context, struct error *e)
{
	struct reading r = { .sink = sink, .context = context };
	const char *end = text + len;
	unsigned number = 1;

	for (const char *at = text; at < end; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct cursor line = { at, newline ? newline : end };

		if (!read_line(&r, &line))
			return error_set(e, ERR_INVALID,
				"line %u is neither a table nor a name with a string, a number or "
				"a truth value",
				number);
		at = newline ? newline + 1 : end;
	}
	return ERR_OK;
}
