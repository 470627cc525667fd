#include "providers/e2b/envelope.h"

#include "providers/gzip.h"

#include <endian.h>
#include <string.h>

void envelopes_release(struct envelopes *v)
{
	buf_release(&v->packed);
	buf_release(&v->plain);
}

static uint32_t length_of(const struct envelopes *v)
{
	uint32_t big;

	memcpy(&big, v->prefix + 1, sizeof big);
	return be32toh(big);
}

static enum err check_prefix(const struct envelopes *v, struct error *e)
{
	unsigned flags = v->prefix[0];

	if (flags & ~(unsigned)(ENVELOPE_GZIP | ENVELOPE_END))
		return error_set(e, ERR_PROTOCOL, "E2B sent an envelope with flags %#x", flags);
	if (flags & ENVELOPE_GZIP && !v->is_gzip)
		return error_set(e, ERR_PROTOCOL,
			"E2B sent a compressed message without saying how it is compressed");
	if (length_of(v) > ENVELOPE_MAX)
		return error_set(e, ERR_PROTOCOL, "E2B sent a message of %u bytes", length_of(v));
	return ERR_OK;
}

/* Hands on a complete message. The next byte begins another envelope. */
static enum err deliver(struct envelopes *v, const void *message, size_t len, envelope_sink sink,
	void *context, struct error *e)
{
	bool is_end = v->prefix[0] & ENVELOPE_END;
	enum err kind = ERR_OK;

	/* An empty message is never compressed, even if the flag is set. */
	if (v->prefix[0] & ENVELOPE_GZIP && len) {
		buf_reset(&v->plain);
		kind = gzip_inflate(&v->plain, message, len, e);
		message = v->plain.bytes;
		len = v->plain.len;
	}
	v->prefix_len = 0;
	v->is_over = is_end;
	return kind == ERR_OK ? sink(context, is_end, message, len, e) : kind;
}

static size_t take_prefix(struct envelopes *v, const unsigned char *bytes, size_t len)
{
	size_t wanted = ENVELOPE_PREFIX - v->prefix_len;
	size_t taken = len < wanted ? len : wanted;

	memcpy(v->prefix + v->prefix_len, bytes, taken);
	v->prefix_len += taken;
	return taken;
}

/* A message that lies in the piece as a whole is not copied. */
static enum err take_message(struct envelopes *v, const unsigned char *bytes, size_t len,
	size_t *taken, envelope_sink sink, void *context, struct error *e)
{
	size_t wanted = length_of(v) - v->packed.len;
	enum err kind;

	*taken = len < wanted ? len : wanted;
	if (!v->packed.len && *taken == wanted)
		return deliver(v, bytes, wanted, sink, context, e);
	if (!buf_add(&v->packed, bytes, *taken))
		return buf_check(&v->packed, "a message of E2B's", e);
	if (*taken < wanted)
		return ERR_OK;
	kind = deliver(v, v->packed.bytes, v->packed.len, sink, context, e);
	buf_reset(&v->packed);
	return kind;
}

enum err envelopes_feed(struct envelopes *v, const void *bytes, size_t len, envelope_sink sink,
	void *context, struct error *e)
{
	const unsigned char *at = bytes, *end = at + len;
	enum err kind = ERR_OK;

	while (kind == ERR_OK && at < end) {
		size_t taken = 0;

		if (v->is_over)
			return error_set(e, ERR_PROTOCOL, "E2B went on after a stream's end");
		at += take_prefix(v, at, (size_t)(end - at));
		if (v->prefix_len < ENVELOPE_PREFIX)
			return ERR_OK;
		kind = check_prefix(v, e);
		if (kind == ERR_OK)
			kind = take_message(v, at, (size_t)(end - at), &taken, sink, context, e);
		at += taken;
	}
	return kind;
}

bool envelope_add(struct buf *out, unsigned flags, const void *message, size_t len)
{
	uint32_t big = htobe32((uint32_t)len);

	buf_add_byte(out, (unsigned char)flags);
	buf_add(out, &big, sizeof big);
	buf_add(out, message, len);
	return !out->failed;
}
