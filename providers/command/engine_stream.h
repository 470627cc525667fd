/*
 * engine_stream.h - the stream of a program that the Engine API runs without a terminal. Towards
 * the program it is the plain bytes of its input; back come frames of its two outputs: a byte for
 * the output, three of zero, the length as four bytes, the highest first, and the bytes.
 */
#pragma once

#include "providers/base/buf.h"

struct engine_frames {
	unsigned char head[8];
	size_t head_len;
	uint32_t left; /* bytes of the frame that are still to come */
};

struct engine_piece {
	bool is_error; /* the piece is standard error */
	const unsigned char *bytes;
	size_t len;
};

/*
 * Takes the next piece from *bytes, which moves on with *len. ERR_OK with out->len 0: nothing is
 * left. ERR_PROTOCOL: it is no frame.
 */
enum err engine_frames_next(struct engine_frames *f, const unsigned char **bytes, size_t *len,
	struct engine_piece *out, struct error *e);

/*
 * Passes bytes on between the daemon and a session in a thread of its own, until one of them has
 * ended. Takes the descriptors, also on failure; those of sockets never block. `received` came from
 * the daemon before.
 */
enum err engine_stream_start(
	int daemon, int program, int errors, const struct buf *received, struct error *e);
