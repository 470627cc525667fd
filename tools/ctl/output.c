#include "tools/ctl/output.h"

#include "providers/base/cleanup.h"
#include "providers/base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A million sandboxes. */
#define CELLS_MAX (256 << 20)

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

bool shows_colour(FILE *to)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(to)) && !(no_colour && *no_colour) && term &&
		strcmp(term, "dumb") != 0;
}

/* ---- Tables ---- */

/* How many characters, which is how many columns of a terminal except for wide ones. */
static size_t width(const char *text)
{
	size_t characters = 0, len = strlen(text);
	bool valid;

	for (size_t at = 0; at < len; characters++)
		at += utf8_next((const unsigned char *)text + at, len - at, &valid);
	return characters;
}

static void widen(struct table *t, size_t column, const char *text)
{
	size_t characters = width(text);

	if (characters > t->widths[column])
		t->widths[column] = characters;
}

void table_init(struct table *t, const char *const *heads)
{
	*t = (struct table){ .cells = BUF_INIT(CELLS_MAX) };
	for (; heads[t->columns]; t->columns++) {
		t->heads[t->columns] = heads[t->columns];
		widen(t, t->columns, heads[t->columns]);
	}
}

void table_release(struct table *t)
{
	buf_release(&t->cells);
}

/* Control characters, also those of two bytes (U+0080 to U+009F), become '?'. */
static void add_harmless(struct buf *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t len = strlen(text), step;
	bool valid;

	for (; len; at += step, len -= step) {
		step = utf8_next(at, len, &valid);
		if (!valid || *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
			buf_add_byte(out, '?');
		else
			buf_add(out, at, step);
	}
	buf_add_byte(out, 0);
}

void table_add(struct table *t, const char *const *cells)
{
	for (size_t i = 0; i < t->columns; i++) {
		add_harmless(&t->cells, cells[i]);
		widen(t, i, cells[i]);
	}
}

static void print_cell(const struct table *t, size_t column, const char *text, FILE *to)
{
	bool is_last = column + 1 == t->columns;

	fprintf(to, "%s%*s", text, is_last ? 0 : (int)(t->widths[column] - width(text) + 2), "");
	if (is_last)
		fputc('\n', to);
}

static void print_heads(const struct table *t, FILE *to)
{
	bool is_bold = shows_colour(to);

	fputs(is_bold ? BOLD : "", to);
	for (size_t i = 0; i < t->columns; i++)
		print_cell(t, i, t->heads[i], to);
	fputs(is_bold ? PLAIN : "", to);
}

static enum err check_written(FILE *to, struct error *e)
{
	if (!fflush(to) && !ferror(to))
		return ERR_OK;
	return error_errno(e, errno, "standard output");
}

enum err table_print(const struct table *t, FILE *to, struct error *e)
{
	enum err kind = buf_check(&t->cells, "the table", e);
	const char *cell = buf_text(&t->cells), *end = cell + t->cells.len;

	if (kind)
		return kind;
	if (*t->heads[0])
		print_heads(t, to);
	for (size_t i = 0; cell < end; cell += strlen(cell) + 1, i = (i + 1) % t->columns)
		print_cell(t, i, cell, to);
	return check_written(to, e);
}

static void print_harmless(const struct buf *lines, FILE *to)
{
	AUTO_BUF struct buf line = BUF_INIT(lines->len + 1);
	AUTO_FREE char *copy = strdup(buf_text(lines));
	char *rest = copy;

	for (const char *text; rest && *rest && (text = strsep(&rest, "\n"));) {
		buf_reset(&line);
		add_harmless(&line, text);
		fprintf(to, "%s\n", buf_text(&line));
	}
}

enum err table_print_with(const struct table *t, const struct buf *lines, FILE *to, struct error *e)
{
	enum err kind = table_print(t, to, e);

	if (kind || !lines->len)
		return kind;
	fputc('\n', to);
	print_harmless(lines, to);
	return check_written(to, e);
}

/* ---- The rest ---- */

enum err print_json(const struct buf *json, FILE *to, struct error *e)
{
	enum err kind = buf_check(json, "JSON", e);

	if (kind)
		return kind;
	fprintf(to, "%s\n", buf_text(json));
	return check_written(to, e);
}
