#include "providers/remote/text.h"

#include "providers/shell_quote.h"

#include <string.h>

static void quote_all(struct buf *out, const char *const *argv)
{
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buf_add_byte(out, ' ');
		shell_quote(out, argv[i]);
	}
}

static bool is_printable(unsigned char c)
{
	return c >= ' ' && c <= '~';
}

static bool is_all_printable(const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if (!is_printable(text->bytes[i]))
			return false;
	return true;
}

/*
 * As the format of a printf(1), in single quotes. Some read octal escapes first, so '%' is doubled
 * and never an escape.
 */
static void add_format(struct buf *out, const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++) {
		unsigned char c = text->bytes[i];

		if (c == '%')
			buf_add_string(out, "%%");
		else if (is_printable(c) && c != '\'' && c != '\\')
			buf_add_byte(out, c);
		else
			buf_printf(out, "\\%03o", c);
	}
}

/* The text ends with a quote, so the substitution has no line ends to drop. */
static void add_eval(struct buf *out, const struct buf *text)
{
	buf_add_string(out, "eval \"$(printf '");
	add_format(out, text);
	buf_add_string(out, "')\"");
}

bool remote_text_add(struct buf *out, const char *const *argv)
{
	AUTO_BUF struct buf text = BUF_INIT(out->max);

	quote_all(&text, argv);
	if (is_all_printable(&text))
		buf_add(out, text.bytes, text.len);
	else
		add_eval(out, &text);
	out->failed |= text.failed;
	return !out->failed;
}
