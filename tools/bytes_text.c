#include "tools/bytes_text.h"

#include <stddef.h>
#include <stdio.h>

const char *bytes_text(uint64_t bytes, char out[BYTES_TEXT_SIZE])
{
	static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB", "PB", "EB" };
	double size = (double)bytes;
	size_t unit = 0;

	for (; size >= 1000; unit++)
		size /= 1000;
	snprintf(out, BYTES_TEXT_SIZE, "%.*f %s", unit ? 1 : 0, size, units[unit]);
	return out;
}
