#include "fs/control/exec_capture.h"

#include "providers/base/utf8.h"

#include <string.h>

/*
 * The bytes are one run of at most one and a half times the limit. When the run is full, its middle
 * is dropped: only its first and its last half of the limit stay. So each byte is moved once at
 * most.
 */
static void drop(struct exec_capture *c, size_t from, size_t to)
{
	struct buf *b = &c->bytes;

	memmove(b->bytes + from, b->bytes + to, b->len - to);
	b->len -= to - from;
	b->bytes[b->len] = 0;
	c->truncated = true;
}

static void drop_middle(struct exec_capture *c)
{
	size_t half = c->limit / 2;

	if (c->bytes.len > c->limit)
		drop(c, half, c->bytes.len - half);
}

void exec_capture_release(struct exec_capture *c)
{
	buf_release(&c->bytes);
}

void exec_capture_add(struct exec_capture *c, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	while (len) {
		size_t step = len < c->limit / 2 ? len : c->limit / 2;

		if (step > c->bytes.max - c->bytes.len)
			drop_middle(c);
		if (!buf_add(&c->bytes, at, step)) {
			c->truncated = true;
			c->bytes.failed = false;
		}
		at += step;
		len -= step;
	}
}

void exec_capture_end(struct exec_capture *c)
{
	size_t half = c->limit / 2;

	drop_middle(c);
	if (c->truncated && c->bytes.len > half) {
		const unsigned char *seam = c->bytes.bytes + half;

		drop(c, half - utf8_cut_at_end(c->bytes.bytes, half),
			half + utf8_cut_at_start(seam, c->bytes.len - half));
	}
}
