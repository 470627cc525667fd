#include "tools/say.h"

#include "providers/base/cleanup.h"
#include "providers/base/harmless.h"

#include <stdarg.h>

/* Goes to the first column of a terminal's line and clears the line. */
#define CLEARED "\r\033[K"

static bool print(FILE *to, const char *before, const char *format, va_list args, const char *after)
{
	AUTO_FREE char *line = NULL;

	if (vasprintf(&line, format, args) < 0) {
		line = NULL;
		return false;
	}
	harmless_make_string(line);
	return fprintf(to, "%s%s%s", before, line, after) >= 0;
}

bool say(FILE *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	bool is_said = print(to, "", format, args, "\n");

	va_end(args);
	return is_said;
}

bool say_part(FILE *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	bool is_said = print(to, "", format, args, "");

	va_end(args);
	return is_said;
}

void say_over(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(stderr, CLEARED, format, args, "");
	va_end(args);
}
