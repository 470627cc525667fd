#include "providers/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_release(struct buf *b)
{
	free(b->bytes);
	*b = (struct buf){ .max = b->max };
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

unsigned char *buf_reserve(struct buf *b, size_t len)
{
	size_t room = b->room ? b->room : 256;

	if (b->failed || len > b->max - b->len) {
		b->failed = true;
		return NULL;
	}
	while (room < b->len + len + 1)
		room *= 2;
	if (room > b->room) {
		unsigned char *grown = realloc(b->bytes, room);

		if (!grown) {
			b->failed = true;
			return NULL;
		}
		b->bytes = grown;
		b->room = room;
	}
	return b->bytes + b->len;
}

void buf_filled(struct buf *b, size_t len)
{
	b->len += len;
	b->bytes[b->len] = 0;
}

bool buf_add(struct buf *b, const void *bytes, size_t len)
{
	unsigned char *place = buf_reserve(b, len);

	if (!place)
		return false;
	if (len)
		memcpy(place, bytes, len);
	buf_filled(b, len);
	return true;
}

bool buf_add_string(struct buf *b, const char *string)
{
	return buf_add(b, string, strlen(string));
}

bool buf_add_byte(struct buf *b, unsigned char byte)
{
	return buf_add(b, &byte, 1);
}

bool buf_printf(struct buf *b, const char *format, ...)
{
	char *text;
	va_list args;
	int len;
	bool added;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		b->failed = true;
		return false;
	}
	added = buf_add(b, text, (size_t)len);
	free(text);
	return added;
}

void buf_consume(struct buf *b, size_t len)
{
	memmove(b->bytes, b->bytes + len, b->len - len);
	b->len -= len;
	b->bytes[b->len] = 0;
}

const char *buf_text(const struct buf *b)
{
	return b->len ? (const char *)b->bytes : "";
}

enum err buf_check(const struct buf *b, const char *what, struct error *e)
{
	if (!b->failed)
		return ERR_OK;
	return error_set(e, ERR_TOO_LARGE, "%s: more than %zu bytes", what, b->max);
}
