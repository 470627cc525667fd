#include "tools/ctl/output.h"

#include "providers/base/cleanup.h"
#include "providers/base/harmless.h"
#include "providers/base/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Room for a million sandboxes. */
#define CELLS_MAX (256 << 20)
/* Room for the refused changes of a journal. */
#define NOTES_MAX (64 << 20)

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

bool shows_colour(FILE *to)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(to)) && !(no_colour && *no_colour) && term &&
		strcmp(term, "dumb") != 0;
}

/* ---- Tables ---- */

/* The number of characters, which is the number of terminal columns except for wide characters. */
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
	*t = (struct table){ .cells = BUF_INIT(CELLS_MAX), .notes = BUF_INIT(NOTES_MAX) };
	for (; heads[t->columns]; t->columns++) {
		t->heads[t->columns] = heads[t->columns];
		widen(t, t->columns, heads[t->columns]);
	}
}

void table_release(struct table *t)
{
	buf_release(&t->cells);
	buf_release(&t->notes);
}

static void add_harmless(struct buf *out, const char *text)
{
	size_t before = out->len;

	buf_add_string(out, text);
	if (!out->failed)
		out->len = before + harmless_make((char *)out->bytes + before, out->len - before);
}

void table_add(struct table *t, const char *const *cells)
{
	for (size_t i = 0; i < t->columns; i++) {
		add_harmless(&t->cells, cells[i]);
		buf_add_byte(&t->cells, 0);
		widen(t, i, cells[i]);
	}
}

void table_note(struct table *t, const char *format, ...)
{
	AUTO_FREE char *line = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0) {
		line = NULL;
		t->notes.failed = true;
	}
	va_end(args);
	if (!line)
		return;
	add_harmless(&t->notes, line);
	buf_add_byte(&t->notes, '\n');
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

	if (!kind)
		kind = buf_check(&t->notes, "what stands below the table", e);
	if (kind)
		return kind;
	if (*t->heads[0])
		print_heads(t, to);
	for (size_t i = 0; cell < end; cell += strlen(cell) + 1, i = (i + 1) % t->columns)
		print_cell(t, i, cell, to);
	if (t->notes.len)
		fprintf(to, "\n%s", buf_text(&t->notes));
	return check_written(to, e);
}

/* ---- JSON and colours ---- */

enum err print_json(const struct buf *json, FILE *to, struct error *e)
{
	enum err kind = buf_check(json, "JSON", e);

	if (kind)
		return kind;
	fprintf(to, "%s\n", buf_text(json));
	return check_written(to, e);
}
