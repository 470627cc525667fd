#include "providers/shell_quote.h"

void shell_quote(struct buf *out, const char *argument)
{
	buf_add_byte(out, '\'');
	for (const char *at = argument; *at; at++)
		if (*at == '\'')
			buf_add_string(out, "'\\''");
		else
			buf_add_byte(out, (unsigned char)*at);
	buf_add_byte(out, '\'');
}

void shell_argument(struct buf *out, const char *argument)
{
	buf_add_byte(out, ' ');
	shell_quote(out, argument);
}
