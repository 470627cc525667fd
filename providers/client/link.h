/*
 * link.h - requests to a helper program and their answers, on one stream; for client.c.
 *
 * One thread does all reading, and all writing that callers of a socket do not do themselves, and
 * nobody blocks in either: two full pipes cannot block each other. The thread blocks every signal,
 * so that a broken stream raises no SIGPIPE elsewhere.
 * Answers are passed on as whole frames, which the caller decodes in its own thread. The frames
 * that wait for one caller are limited: where a caller does not take its answers, no more is read
 * until it does or gives up. So a sink must not make another call on the same link.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/wire.h"

struct helper_link;
struct outgoing;

/*
 * Takes both descriptors, which may be the same one (a socket), also on failure.
 * `costs_requests`: as in struct helper_keeper.
 */
enum err helper_link_new(
	struct helper_link **out, int to_fd, int from_fd, bool costs_requests, struct error *e);
/* Closes the stream. No exchange may be left. */
void helper_link_free(struct helper_link *l);

/* The helper hung up, or made no sense: every request fails. */
bool helper_link_is_broken(struct helper_link *l);
/* When the helper last sent a byte, on the monotonic clock; 0: never. */
int64_t helper_link_received_ms(const struct helper_link *l);

/* The payload of one frame of an answer. */
struct arrival {
	struct arrival *next;
	enum frame_type type; /* FRAME_ITEMS or FRAME_END */
	size_t len;
	unsigned char bytes[];
};

/* One request and its answers. Lives on the caller's stack; the caller uses only the functions. */
struct exchange {
	struct helper_link *link;
	struct exchange *next; /* under the link's lock, as all fields below */
	uint32_t id;
	int wake_fd; /* an eventfd: there was progress, or the link broke */
	struct arrival *first, *last;
	size_t unread_bytes;
	uint64_t sent; /* bytes of the request, which the caller was not told of yet */
	bool is_sent;
	bool is_over;            /* the answer's end has come */
	struct outgoing *cancel; /* allocated in advance, so that giving up cannot fail */
};

/* Takes the payload. After ERR_OK exchange_end() must follow. */
enum err exchange_begin(struct exchange *x, struct helper_link *l, enum frame_type type,
	struct buf *payload, struct error *e);
/*
 * The next frame of the answer, which the caller frees. ERR_TIMEOUT, ERR_INTERRUPTED as in
 * base/call.h. Bytes of this request, frames of its answer and signs of life count as progress.
 */
enum err exchange_next(
	struct exchange *x, const struct call *call, struct arrival **out, struct error *e);
/* Gives the request up if its answer has not ended; later frames are dropped. */
void exchange_end(struct exchange *x);
