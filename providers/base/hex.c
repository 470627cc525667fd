#include "providers/base/hex.h"

void hex_encode(char *out, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;

	for (size_t n = 0; n < len; n++) {
		*out++ = digits[from[n] >> 4];
		*out++ = digits[from[n] & 15];
	}
	*out = 0;
}
