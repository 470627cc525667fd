#include "providers/modal/uuid.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

enum err uuid_new(char out[UUID_SIZE], struct error *e)
{
	unsigned char b[16];

	if (getrandom(b, sizeof b, 0) != sizeof b)
		return error_errno(e, errno, "getrandom");
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof b; i++)
		out += sprintf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
	return ERR_OK;
}
