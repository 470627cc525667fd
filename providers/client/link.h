/*
 * link.h - requests to a helper program and their answers, on one stream; for client.c.
 *
 * One thread does all reading and writing, without ever blocking in either, so that two full pipes cannot hold each
 * other up; it blocks every signal, so that a stream that broke raises no SIGPIPE elsewhere. It hands answers on as whole
 * frames, which the caller decodes in its own thread. What waits for one caller is bounded: where a caller does not take
 * its answers, nothing more is read until it does or gives up. So a sink must not make another call on the same link.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/wire.h"

struct helper_link;
struct outgoing;

/* Takes both descriptors, which may be the same one (a socket), also on failure. */
enum err helper_link_new(struct helper_link **out, int to_fd, int from_fd, struct error *e);
/* Closes the stream. No exchange may be left. */
void helper_link_free(struct helper_link *l);

/* The other end hung up, or made no sense: whatever is asked fails. */
bool helper_link_is_broken(struct helper_link *l);
/* When the helper last said something, on the monotonic clock; 0: never. */
int64_t helper_link_heard_ms(const struct helper_link *l);

/* The payload of one frame of an answer. */
struct arrival {
	struct arrival *next;
	enum frame_type type; /* FRAME_ITEMS or FRAME_END */
	size_t len;
	unsigned char bytes[];
};

/* One request and its answers. Lives on its caller's stack, who sees only the functions. */
struct exchange {
	struct helper_link *link;
	struct exchange *next; /* the link's lock, as all that follow */
	uint32_t id;
	int wake_fd; /* an eventfd: something moved, or the link broke */
	struct arrival *first, *last;
	size_t queued_bytes;
	bool is_sent;
	bool is_over;            /* its end has come */
	struct outgoing *cancel; /* ready, so that giving up cannot fail */
};

/* Takes the payload. After ERR_OK exchange_end() must follow. */
enum err exchange_begin(struct exchange *x, struct helper_link *l, enum frame_type type,
	struct buf *payload, struct error *e);
/*
 * The next frame of the answer, which the caller frees. ERR_TIMEOUT, ERR_INTERRUPTED as base/call.h says; what moves the
 * deadline are bytes of this request, frames of its answer and signs of life.
 */
enum err exchange_next(
	struct exchange *x, const struct call *call, struct arrival **out, struct error *e);
/* Gives the request up where its end has not come; what still comes is dropped. */
void exchange_end(struct exchange *x);
