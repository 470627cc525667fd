/*
 * grpc_frames.h - the messages of gRPC in a stream of bytes: each is a byte 0, its length (four
 * bytes, big-endian) and its content. No I/O; one thread at a time.
 */
#pragma once

#include "providers/base/buf.h"

#define GRPC_PREFIX 5
/* The largest answer that is read: Modal's own clients have this limit. */
#define GRPC_MESSAGE_MAX ((size_t)100 * 1024 * 1024)
/* The largest piece of a stream that may be added at a time. */
#define GRPC_PIECE_MAX ((size_t)1024 * 1024)

struct grpc_frames {
	const char *what; /* for people: the name of the call */
	struct buf in;    /* received bytes, from the message that was given last */
	size_t given;     /* the size of that message with its prefix */
};

#define GRPC_FRAMES_INIT(name)                                                                     \
	{                                                                                          \
		.what = (name), .in = BUF_INIT(GRPC_MESSAGE_MAX + GRPC_PREFIX + GRPC_PIECE_MAX)    \
	}
void grpc_frames_release(struct grpc_frames *f);

/* To be called when grpc_frames_next() has no message left. */
enum err grpc_frames_add(struct grpc_frames *f, const void *bytes, size_t len, struct error *e);

/*
 * The next message, valid until the next call; *bytes NULL: the message is not whole yet.
 * ERR_PROTOCOL, as soon as the prefix is there: the message is compressed, which was not asked for,
 * or has more than GRPC_MESSAGE_MAX bytes.
 */
enum err grpc_frames_next(
	struct grpc_frames *f, const unsigned char **bytes, size_t *len, struct error *e);
/* Whether grpc_frames_next() has a message to give, or an error. */
bool grpc_frames_has(const struct grpc_frames *f);
/* Whether the bytes after the last message are a part of another. */
bool grpc_frames_is_cut(const struct grpc_frames *f);
