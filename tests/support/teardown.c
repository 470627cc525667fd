#include "tests/support/teardown.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void teardown_expect(bool holds, const char *format, ...)
{
	va_list values;

	if (holds)
		return;
	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	fputc('\n', stderr);
	abort();
}
