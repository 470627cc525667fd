/*
 * envelope.h - messages of a Connect stream (connectrpc.com, "Streaming RPCs") out of bytes that
 * come in pieces.
 *
 * Each message stands in an envelope: a byte of flags, the length in four bytes (big endian), then
 * the message. The last envelope is flagged as the end of the stream and holds JSON. Pieces of HTTP
 * may begin and end anywhere in an envelope. Not locked.
 */
#pragma once

#include "providers/base/buf.h"

#define ENVELOPE_PREFIX 5

enum envelope_flags { ENVELOPE_GZIP = 1, ENVELOPE_END = 2 };

/*
 * The longest message, packed or not. envd's messages are at most some 32 KiB long, but the end of
 * a stream may repeat a whole command line (2 MiB) as JSON.
 */
#define ENVELOPE_MAX ((size_t)8 * 1024 * 1024)

struct envelopes {
	bool is_gzip; /* the answer's header allows compressed messages */
	bool is_over; /* the end of the stream was read */
	unsigned char prefix[ENVELOPE_PREFIX];
	size_t prefix_len;
	struct buf packed, plain;
};

#define ENVELOPES_INIT                                                                             \
	{                                                                                          \
		.packed = BUF_INIT(ENVELOPE_MAX), .plain = BUF_INIT(ENVELOPE_MAX)                  \
	}
void envelopes_release(struct envelopes *v);

/*
 * `is_end`: the message is the JSON of the stream's end. The bytes are valid during the call. A
 * result that is not ERR_OK ends the reading with it.
 */
typedef enum err (*envelope_sink)(
	void *context, bool is_end, const void *message, size_t len, struct error *e);

/* Takes a piece and hands on the complete messages. ERR_PROTOCOL: the bytes are no envelopes. */
enum err envelopes_feed(struct envelopes *v, const void *bytes, size_t len, envelope_sink sink,
	void *context, struct error *e);

/* Appends an envelope. */
bool envelope_add(struct buf *out, unsigned flags, const void *message, size_t len);
