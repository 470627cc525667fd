#include "providers/client/outgoing.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* A frame once begun must be sent whole: a quarter of a second at 2 Mbit/s. */
#define PIECE_MAX ((size_t)64 * 1024)

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

void outgoing_init(struct outgoing_queue *q, bool costs_requests)
{
	*q = (struct outgoing_queue){ .costs_requests = costs_requests };
	window_init(&q->window);
}

void outgoing_add(struct outgoing_queue *q, struct outgoing *o)
{
	if (q->last)
		q->last->next = o;
	else
		q->first = o;
	q->last = o;
}

void outgoing_add_cancel(struct outgoing_queue *q, struct outgoing *o)
{
	o->next = q->first;
	q->first = o;
	if (!q->last)
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

static bool is_large(const struct outgoing *o)
{
	return o->payload.len > PIECE_MAX;
}

static bool is_within_frame(const struct outgoing *o)
{
	return o->header_left || o->frame_left;
}

static struct outgoing *first_of(const struct outgoing_queue *q, bool is_of_large)
{
	struct outgoing *o = q->first;

	while (o && is_large(o) != is_of_large)
		o = o->next;
	return o;
}

struct outgoing *outgoing_next(const struct outgoing_queue *q)
{
	bool has_turn = q->passed >= PIECE_MAX;
	bool may_large = has_turn || q->costs_requests || window_has_room(&q->window);
	struct outgoing *large = may_large ? first_of(q, true) : NULL;
	struct outgoing *other = first_of(q, false);

	if (q->present)
		return q->present;
	if (other && other->type == FRAME_CANCEL)
		return other;
	return !other || (large && has_turn) ? large : other;
}

static void begin_frame(const struct outgoing_queue *q, struct outgoing *o)
{
	const size_t max = q->costs_requests ? FRAME_PAYLOAD_MAX : PIECE_MAX;
	size_t left = o->payload.len - o->framed;
	size_t len = left < max ? left : max;
	struct frame f = {
		.type = len < left ? FRAME_MORE : o->type, .id = o->id, .len = (uint32_t)len
	};

	frame_encode(o->header, &f);
	o->header_left = sizeof o->header;
	o->frame_left = len;
	o->framed += len;
	o->is_begun = true;
}

/* After a write of `sent` bytes. */
static void note_sent(struct outgoing_queue *q, struct outgoing *o, size_t sent)
{
	size_t of_header = sent < o->header_left ? sent : o->header_left;

	o->header_left -= of_header;
	o->frame_left -= sent - of_header;
	q->passed = is_large(o) ? 0 : q->passed + sent;
	q->present = is_within_frame(o) ? o : NULL;
	window_note_sent(&q->window, sent, monotonic_ms());
}

ssize_t outgoing_write(struct outgoing_queue *q, struct outgoing *o, int fd)
{
	if (!is_within_frame(o))
		begin_frame(q, o);

	struct iovec parts[2] = {
		{ .iov_base = o->header + sizeof o->header - o->header_left,
			.iov_len = o->header_left },
		{ .iov_base = o->frame_left ? o->payload.bytes + o->framed - o->frame_left : NULL,
			.iov_len = o->frame_left },
	};
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0 && errno == ENOTSOCK)
		sent = writev(fd, parts, 2);

	if (sent > 0)
		note_sent(q, o, (size_t)sent);
	return sent;
}

bool outgoing_is_sent(const struct outgoing *o)
{
	return !is_within_frame(o) && (o->framed == o->payload.len || o->is_dropped);
}
