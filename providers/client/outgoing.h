/*
 * outgoing.h - the requests that are on their way to a helper, in their order; for link.c.
 *
 * Not locked: the link's lock guards a queue and all that is in it.
 */
#pragma once

#include "providers/helper/wire.h"

#include <sys/types.h>

/* A request that is being sent. Belongs to its queue, since a frame once begun must be sent whole. */
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
};

/* Takes the payload; NULL: it has none. NULL without memory. */
struct outgoing *outgoing_new(enum frame_type type, struct buf *payload);
void outgoing_free(struct outgoing *o);

/* After `place`; NULL: at the end. */
void outgoing_add(struct outgoing_queue *q, struct outgoing *place, struct outgoing *o);
/* Frees the request, too. */
void outgoing_remove(struct outgoing_queue *q, struct outgoing *o);
struct outgoing *outgoing_find(const struct outgoing_queue *q, uint32_t id);

/* One write(2) of the present frame, or of the next one; its result. */
ssize_t outgoing_write(struct outgoing *o, int fd);
/* Whether nothing of the request is left to be sent. */
bool outgoing_is_sent(const struct outgoing *o);
