#include "providers/client/outgoing.h"

#include <stdlib.h>
#include <sys/uio.h>

/* The most bytes of one write(2), so that the link's lock is soon free again. */
#define WRITE_MAX ((size_t)256 * 1024)

struct outgoing *outgoing_new(enum frame_type type, struct buf *payload)
{
	struct outgoing *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->type = type;
	if (payload) {
		o->payload = *payload;
		*payload = (struct buf)BUF_INIT(payload->max);
	}
	return o;
}

void outgoing_free(struct outgoing *o)
{
	if (o)
		buf_release(&o->payload);
	free(o);
}

/* ---- The queue ---- */

void outgoing_add(struct outgoing_queue *q, struct outgoing *place, struct outgoing *o)
{
	if (!place)
		place = q->last;
	if (place) {
		o->next = place->next;
		place->next = o;
	} else {
		q->first = o;
	}
	if (q->last == place)
		q->last = o;
}

void outgoing_remove(struct outgoing_queue *q, struct outgoing *o)
{
	struct outgoing **at = &q->first, *before = NULL;

	while (*at != o) {
		before = *at;
		at = &before->next;
	}
	*at = o->next;
	if (q->last == o)
		q->last = before;
	outgoing_free(o);
}

struct outgoing *outgoing_find(const struct outgoing_queue *q, uint32_t id)
{
	for (struct outgoing *o = q->first; o; o = o->next)
		if (o->id == id)
			return o;
	return NULL;
}

/* ---- Frames ---- */

static bool is_within_frame(const struct outgoing *o)
{
	return o->header_left || o->frame_left;
}

static void begin_frame(struct outgoing *o)
{
	size_t left = o->payload.len - o->framed;
	size_t len = left < FRAME_PAYLOAD_MAX ? left : FRAME_PAYLOAD_MAX;
	struct frame f = {
		.type = len < left ? FRAME_MORE : o->type, .id = o->id, .len = (uint32_t)len
	};

	frame_encode(o->header, &f);
	o->header_left = sizeof o->header;
	o->frame_left = len;
	o->framed += len;
	o->is_begun = true;
}

ssize_t outgoing_write(struct outgoing *o, int fd)
{
	if (!is_within_frame(o))
		begin_frame(o);

	size_t len = o->frame_left < WRITE_MAX ? o->frame_left : WRITE_MAX;
	struct iovec parts[2] = {
		{ .iov_base = o->header + sizeof o->header - o->header_left,
			.iov_len = o->header_left },
		{ .iov_base = len ? o->payload.bytes + o->framed - o->frame_left : NULL,
			.iov_len = len },
	};
	ssize_t sent = writev(fd, parts, 2);

	if (sent > 0) {
		size_t of_header = (size_t)sent < o->header_left ? (size_t)sent : o->header_left;

		o->header_left -= of_header;
		o->frame_left -= (size_t)sent - of_header;
	}
	return sent;
}

bool outgoing_is_sent(const struct outgoing *o)
{
	return !is_within_frame(o) && (o->framed == o->payload.len || o->is_dropped);
}
