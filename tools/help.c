#include "tools/help.h"

#include "providers/base/buf.h"
#include "tools/options.h"

#include <string.h>

#define HELP_COLUMN 28
#define HELP_WIDTH  80

/* Words from `column` on, in lines of HELP_WIDTH that start at HELP_COLUMN. */
static void print_wrapped(FILE *to, const char *text, size_t column)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + len > HELP_WIDTH) {
			fprintf(to, "\n");
			column = 0;
		}
		if (column < HELP_COLUMN)
			fprintf(to, "%*s", (int)(HELP_COLUMN - column), "");
		else if (column > HELP_COLUMN)
			fprintf(to, " ");
		fprintf(to, "%.*s", (int)len, text);
		column = (column < HELP_COLUMN ? HELP_COLUMN : column + (column > HELP_COLUMN)) +
			len;
		text += len + (text[len] == ' ');
	}
	fprintf(to, "\n");
}

static void print_option(FILE *to, const struct opt *o)
{
	const char *argument = o->argument ? o->argument : "";
	int column = fprintf(to, "  %s%s%s", o->name[0] == '-' ? "" : "-o ", o->name, argument);

	if (column + 2 > HELP_COLUMN) {
		fprintf(to, "\n");
		column = 0;
	}
	print_wrapped(to, o->help, (size_t)column);
}

void help_print_options(FILE *to, const struct opt *table, size_t count)
{
	for (const struct opt *o = table; o < table + count; o++)
		if (o->help && *o->help)
			print_option(to, o);
}

void help_print_ignored(FILE *to, const struct opt *table, size_t count)
{
	AUTO_BUF struct buf names = BUF_INIT(4096);

	for (const struct opt *o = table; o < table + count; o++)
		if (!o->help)
			buf_printf(&names, " %s", o->name);
	print_wrapped(to, buf_text(&names) + 1, 0);
}
