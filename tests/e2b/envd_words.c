#include "tests/e2b/envd_words.h"

#include "providers/base/cleanup.h"

#include <string.h>

#define WORDS_MAX ((size_t)4 * 1024 * 1024)

/* ---- Protobuf ---- */

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_add_byte(out, (unsigned char)(value | 0x80));
	buf_add_byte(out, (unsigned char)value);
}

void put_number(struct buf *out, unsigned field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t len)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, len);
	buf_add(out, bytes, len);
}

void put_text(struct buf *out, unsigned field, const char *text)
{
	put_bytes(out, field, text, strlen(text));
}

/* ---- Streams ---- */

void say(struct buf *out, unsigned flags, const void *message, size_t len)
{
	buf_add_byte(out, (unsigned char)flags);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_add_byte(out, (unsigned char)(len >> shift));
	buf_add(out, message, len);
}

void say_end_of_stream(struct buf *out, const char *json)
{
	say(out, 2, json, strlen(json));
}

/* StartResponse.event = { `field`: `event` } */
static void say_event(struct buf *out, unsigned field, const struct buf *event)
{
	AUTO_BUF struct buf inner = BUF_INIT(WORDS_MAX);
	AUTO_BUF struct buf outer = BUF_INIT(WORDS_MAX);

	put_bytes(&inner, field, event->bytes, event->len);
	put_bytes(&outer, 1, inner.bytes, inner.len);
	say(out, 0, outer.bytes, outer.len);
}

void say_started(struct buf *out, uint32_t pid)
{
	AUTO_BUF struct buf event = BUF_INIT(WORDS_MAX);

	put_number(&event, 1, pid);
	say_event(out, 1, &event);
}

void say_output(struct buf *out, unsigned field, const void *bytes, size_t len)
{
	AUTO_BUF struct buf event = BUF_INIT(WORDS_MAX);

	put_bytes(&event, field, bytes, len);
	say_event(out, 2, &event);
}

void say_ended(struct buf *out, int exit_code, const char *status, const char *error)
{
	AUTO_BUF struct buf event = BUF_INIT(WORDS_MAX);

	/* A sint32, in zigzag; zero is left out. */
	if (exit_code)
		put_number(&event, 1,
			exit_code < 0 ? (uint64_t)-exit_code * 2 - 1 : (uint64_t)exit_code * 2);
	if (exit_code >= 0)
		put_number(&event, 2, 1);
	if (status)
		put_text(&event, 3, status);
	if (error)
		put_text(&event, 4, error);
	say_event(out, 3, &event);
}

void say_keepalive(struct buf *out)
{
	static const struct buf nothing;

	say_event(out, 4, &nothing);
}
