#include "providers/helper/stream.h"

#include "providers/base/base64.h"
#include "providers/base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Bytes in one line of armour: 1024 characters, which any tool that reads lines can hold. */
#define ARMOUR_LINE 768
/* The largest frame that waits for no window. */
#define PASSING_MAX ((size_t)16 * 1024)
/* Bytes of other frames after which a large one leaves whatever the window holds. */
#define TURN_BYTES ((size_t)64 * 1024)

/* ---- Input ---- */

static void wait_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	poll(&p, 1, -1);
}

/* 0: end of the input. */
static ssize_t read_some(struct inlet *in, unsigned char *dst, size_t len)
{
	ssize_t got;

	if (in->fd < 0) {
		got = (ssize_t)(len < in->len ? len : in->len);
		if (got)
			memcpy(dst, in->bytes, (size_t)got);
		in->bytes += got;
		in->len -= (size_t)got;
		return got;
	}
	while ((got = read(in->fd, dst, len)) < 0 && (errno == EINTR || errno == EAGAIN))
		wait_ready(in->fd, POLLIN);
	return got;
}

/* A client that reads no answers is noticed where one is sent. */
static void note_received(struct inlet *in, size_t bytes)
{
	AUTO_BUF struct buf payload = BUF_INIT(sizeof(uint32_t));

	in->unreported += bytes;
	if (!in->peer || in->unreported < RECEIVED_BYTES)
		return;
	if (wire_put_received(&payload, (uint32_t)in->unreported))
		outlet_send(in->peer, FRAME_RECEIVED, 0, &payload, NULL);
	in->unreported = 0;
}

/* *got < len: the stream ended. */
static enum err read_full(
	struct inlet *in, unsigned char *dst, size_t len, size_t *got, struct error *e)
{
	for (*got = 0; *got < len;) {
		ssize_t n = read_some(in, dst + *got, len - *got);

		if (n < 0)
			return error_errno(e, errno, "reading requests");
		if (n == 0)
			break;
		*got += (size_t)n;
		note_received(in, (size_t)n);
	}
	return ERR_OK;
}

static enum err read_header(struct inlet *in, struct frame *out, bool *at_end, struct error *e)
{
	unsigned char header[FRAME_HEADER_SIZE];
	size_t got;
	enum err kind = read_full(in, header, sizeof header, &got, e);

	if (kind != ERR_OK)
		return kind;
	*at_end = got == 0;
	if (*at_end)
		return ERR_OK;
	if (got < sizeof header)
		return error_set(e, ERR_PROTOCOL, "the requests end inside a frame");
	return frame_decode(header, out, e);
}

static enum err read_payload(
	struct inlet *in, const struct frame *f, struct buf *out, struct error *e)
{
	unsigned char *place = buf_reserve(out, f->len);
	size_t got;
	enum err kind;

	if (!place)
		return buf_check(out, "a request", e);
	kind = read_full(in, place, f->len, &got, e);
	if (kind != ERR_OK)
		return kind;
	if (got < f->len)
		return error_set(e, ERR_PROTOCOL, "the requests end inside a frame");
	buf_filled(out, got);
	return ERR_OK;
}

static enum err check_frame(const struct inlet *in, const struct frame *f, struct error *e)
{
	bool is_report = f->type == FRAME_RECEIVED && in->peer;

	if (f->type == FRAME_ITEMS || f->type == FRAME_END ||
		(f->type == FRAME_RECEIVED && !is_report))
		return error_set(e, ERR_PROTOCOL, "an answer among the requests");
	if ((f->id == 0) != is_report)
		return error_set(e, ERR_PROTOCOL, "a request without an id");
	if (f->type == FRAME_MORE && in->partial_id && f->id != in->partial_id)
		return error_set(e, ERR_PROTOCOL, "request %u inside request %u", (unsigned)f->id,
			(unsigned)in->partial_id);
	return ERR_OK;
}

/* After the last frame of the partial request. */
static void take_partial(struct inlet *in, struct buf *out)
{
	struct buf whole = in->partial;

	in->partial = *out;
	*out = whole;
}

static enum err take_report(struct inlet *in, const struct frame *f, struct error *e)
{
	AUTO_BUF struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
	uint32_t bytes;
	enum err kind = read_payload(in, f, &payload, e);

	if (kind == ERR_OK)
		kind = wire_get_received(&payload, &bytes, e);
	if (kind == ERR_OK && !outlet_note_received(in->peer, bytes))
		kind = error_set(e, ERR_PROTOCOL, "the client received more than was sent");
	return kind;
}

/* Reads a frame's payload. *is_whole: `out` is a request. */
static enum err take_frame(struct inlet *in, const struct frame *f, struct stream_request *out,
	bool *is_whole, struct error *e)
{
	bool is_part = f->type == FRAME_MORE || f->id == in->partial_id;
	enum err kind = read_payload(in, f, is_part ? &in->partial : &out->payload, e);

	*is_whole = !is_part;
	out->type = f->type;
	out->id = f->id;
	if (kind != ERR_OK || !is_part)
		return kind;
	*is_whole = f->type != FRAME_MORE && f->type != FRAME_CANCEL;
	if (*is_whole)
		take_partial(in, &out->payload);
	if (f->type != FRAME_MORE)
		buf_reset(&in->partial);
	in->partial_id = f->type == FRAME_MORE ? f->id : 0;
	return ERR_OK;
}

enum err inlet_next(struct inlet *in, struct stream_request *out, bool *at_end, struct error *e)
{
	buf_reset(&out->payload);
	for (bool is_whole = false; !is_whole;) {
		struct frame f;
		enum err kind = read_header(in, &f, at_end, e);

		if (kind == ERR_OK && *at_end)
			return in->partial_id
				? error_set(e, ERR_PROTOCOL, "the requests end inside one")
				: ERR_OK;
		if (kind == ERR_OK)
			kind = check_frame(in, &f, e);
		if (kind == ERR_OK)
			kind = f.type == FRAME_RECEIVED ? take_report(in, &f, e)
							: take_frame(in, &f, out, &is_whole, e);
		if (kind != ERR_OK)
			return kind;
	}
	return ERR_OK;
}

void inlet_release(struct inlet *in)
{
	buf_release(&in->partial);
}

/* ---- Output ---- */

void outlet_init(struct outlet *o, int fd, bool is_armoured, bool is_windowed)
{
	*o = (struct outlet){ .fd = fd,
		.is_armoured = is_armoured,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.text = BUF_INIT(2 * (FRAME_HEADER_SIZE + FRAME_PAYLOAD_MAX)),
		.window_lock = PTHREAD_MUTEX_INITIALIZER,
		.has_room = PTHREAD_COND_INITIALIZER,
		.is_windowed = is_windowed };
	window_init(&o->window);
}

void outlet_release(struct outlet *o)
{
	buf_release(&o->text);
	pthread_mutex_destroy(&o->lock);
	pthread_cond_destroy(&o->has_room);
	pthread_mutex_destroy(&o->window_lock);
}

bool outlet_has_reports(struct outlet *o)
{
	bool has_reports;

	pthread_mutex_lock(&o->window_lock);
	has_reports = o->has_reports;
	pthread_mutex_unlock(&o->window_lock);
	return has_reports;
}

bool outlet_note_received(struct outlet *o, uint32_t bytes)
{
	bool is_right;

	pthread_mutex_lock(&o->window_lock);
	is_right = window_note_received(&o->window, bytes, monotonic_ms());
	o->has_reports = true;
	pthread_cond_broadcast(&o->has_room);
	pthread_mutex_unlock(&o->window_lock);
	return is_right;
}

void outlet_set_windowed(struct outlet *o, bool is_windowed)
{
	pthread_mutex_lock(&o->window_lock);
	o->is_windowed = is_windowed;
	pthread_cond_broadcast(&o->has_room);
	pthread_mutex_unlock(&o->window_lock);
}

/*
 * A frame that is not large passes those that wait: a client waits for little more than this. It
 * counts in the window, so one that others keep full still has room for a share of large frames.
 */
static void enter_window(struct outlet *o, size_t len)
{
	bool is_large = len > PASSING_MAX;

	pthread_mutex_lock(&o->window_lock);
	while (o->is_windowed && o->has_reports && is_large && o->passed < TURN_BYTES &&
		!window_has_room(&o->window))
		pthread_cond_wait(&o->has_room, &o->window_lock);
	o->passed = is_large ? 0 : o->passed + len;
	if (o->passed >= TURN_BYTES)
		pthread_cond_signal(&o->has_room);
	window_note_sent(&o->window, len, monotonic_ms());
	pthread_mutex_unlock(&o->window_lock);
}

bool stream_write(int fd, struct iovec parts[2])
{
	while (parts[0].iov_len + parts[1].iov_len) {
		ssize_t sent = writev(fd, parts, 2);

		if (sent < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		if (sent < 0)
			wait_ready(fd, POLLOUT);
		for (int i = 0; i < 2 && sent > 0; i++) {
			size_t part =
				(size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;

			parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			sent -= (ssize_t)part;
		}
	}
	return true;
}

static bool add_armour(struct buf *text, const unsigned char *bytes, size_t len)
{
	for (size_t at = 0; at < len; at += ARMOUR_LINE) {
		size_t left = len - at;

		base64_encode(text, bytes + at, left < ARMOUR_LINE ? left : ARMOUR_LINE);
		buf_add_byte(text, '\n');
	}
	return !text->failed;
}

static bool write_armoured(struct outlet *o, const struct iovec parts[2])
{
	buf_reset(&o->text);
	return add_armour(&o->text, parts[0].iov_base, parts[0].iov_len) &&
		add_armour(&o->text, parts[1].iov_base, parts[1].iov_len) &&
		stream_write(o->fd,
			(struct iovec[2]){ { .iov_base = o->text.bytes, .iov_len = o->text.len } });
}

static bool write_out(struct outlet *o, struct iovec parts[2])
{
	return o->is_armoured ? write_armoured(o, parts) : stream_write(o->fd, parts);
}

/* The error why nothing more is sent. */
static enum err outlet_error(const struct outlet *o, struct error *e)
{
	if (o->file && o->file->why.kind != ERR_OK)
		return error_set(e, o->file->why.kind, "%s", o->file->why.text);
	return error_set(e, ERR_UNREACHABLE, "nobody reads the answers");
}

enum err outlet_send(struct outlet *o, enum frame_type type, uint32_t id, const struct buf *payload,
	struct error *e)
{
	size_t len = payload ? payload->len : 0;
	unsigned char header[FRAME_HEADER_SIZE];
	struct iovec parts[2] = { { .iov_base = header, .iov_len = sizeof header },
		{ .iov_base = len ? payload->bytes : NULL, .iov_len = len } };
	bool is_sign_of_life = type == FRAME_ITEMS && !len;
	enum err kind;

	frame_encode(header, &(struct frame){ .type = type, .id = id, .len = (uint32_t)len });
	enter_window(o, sizeof header + len);
	pthread_mutex_lock(&o->lock);
	if (!o->is_broken)
		o->is_broken = !(o->file && !is_sign_of_life ? answer_file_add(o->file, parts)
							     : write_out(o, parts));
	kind = o->is_broken ? outlet_error(o, e) : ERR_OK;
	pthread_mutex_unlock(&o->lock);
	return kind;
}

enum err outlet_end(struct outlet *o, struct error *e)
{
	enum err kind;

	pthread_mutex_lock(&o->lock);
	if (!o->is_broken && o->file && o->file->held.len)
		o->is_broken = !write_out(
			o, (struct iovec[2]){ { o->file->held.bytes, o->file->held.len }, { 0 } });
	kind = o->is_broken ? outlet_error(o, e) : ERR_OK;
	pthread_mutex_unlock(&o->lock);
	return kind;
}
