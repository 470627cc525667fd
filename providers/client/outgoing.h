/*
 * outgoing.h - the requests that are on their way to a helper, in their order; for link.c.
 *
 * A large request leaves in small frames, as far as the window lets it, and others may go between
 * them: a read does not wait for an upload. Large requests keep their order.
 *
 * Not locked: the link's lock guards a queue and all that is in it.
 */
#pragma once

#include "providers/helper/window.h"
#include "providers/helper/wire.h"

#include <sys/types.h>

/*
 * A request that is being sent. It belongs to its queue: a frame once begun must be sent whole.
 */
struct outgoing {
	struct outgoing *next;
	uint32_t id;
	enum frame_type type;
	struct buf payload;
	size_t framed; /* bytes of the payload in frames up to the present one */
	unsigned char header[FRAME_HEADER_SIZE];
	size_t header_left, frame_left; /* left of the present frame */
	bool is_begun;
	bool is_dropped; /* ends with the present frame */
};

struct outgoing_queue {
	struct outgoing *first, *last;
	struct outgoing *present; /* a frame of it is being written; NULL: none is */
	/* bytes of other requests since the last frame of a large one, which has its turn, too */
	size_t passed;
	struct window window;
	bool costs_requests;
};

/* `costs_requests`: frames are as large as they may be, and wait for no report. */
void outgoing_init(struct outgoing_queue *q, bool costs_requests);

/* Takes the payload; NULL: it has none. NULL without memory. */
struct outgoing *outgoing_new(enum frame_type type, struct buf *payload);
void outgoing_free(struct outgoing *o);

/* At the end. */
void outgoing_add(struct outgoing_queue *q, struct outgoing *o);
/* Before all others: the helper may hold a part of the request. */
void outgoing_add_cancel(struct outgoing_queue *q, struct outgoing *o);
/* Frees the request, too. */
void outgoing_remove(struct outgoing_queue *q, struct outgoing *o);
struct outgoing *outgoing_find(const struct outgoing_queue *q, uint32_t id);

/* The request whose frame is to be written now; NULL: there is none, or the window is full. */
struct outgoing *outgoing_next(const struct outgoing_queue *q);
/* One write(2) of the present frame, or of the next one, of outgoing_next(); its result. */
ssize_t outgoing_write(struct outgoing_queue *q, struct outgoing *o, int fd);
/* Whether nothing of the request is left to be sent. */
bool outgoing_is_sent(const struct outgoing *o);
