#include "providers/client/frames.h"

#include "providers/base/base64.h"

#include <ctype.h>
#include <string.h>

/* A helper that is started anew has one request. */
#define REQUEST_ID 1
/* The helper's own lines have 1024 characters. */
#define ARMOUR_LINE_MAX 1024

/* ---- The request ---- */

/* From the end: the headers before each piece need room. */
bool frames_of_request(struct buf *request, size_t start, enum frame_type type)
{
	size_t len = request->len - start, count = len ? (len - 1) / FRAME_PAYLOAD_MAX + 1 : 1;

	if (!buf_reserve(request, count * FRAME_HEADER_SIZE))
		return false;
	for (size_t n = count; n-- > 0;) {
		unsigned char *from = request->bytes + start + n * FRAME_PAYLOAD_MAX;
		unsigned char *to = from + n * FRAME_HEADER_SIZE;
		bool is_last = n + 1 == count;
		size_t size = is_last ? len - n * FRAME_PAYLOAD_MAX : FRAME_PAYLOAD_MAX;

		memmove(to + FRAME_HEADER_SIZE, from, size);
		frame_encode(to,
			&(struct frame){ is_last ? type : FRAME_MORE, REQUEST_ID, (uint32_t)size });
	}
	buf_filled(request, count * FRAME_HEADER_SIZE);
	return true;
}

/* ---- The answer ---- */

void frames_reader_init(struct frames_reader *r, const struct listener *listener, bool is_armoured)
{
	*r = (struct frames_reader){ .listener = listener,
		.is_armoured = is_armoured,
		.line = BUF_INIT(ARMOUR_LINE_MAX),
		.bytes = BUF_INIT(FRAME_HEADER_SIZE + FRAME_PAYLOAD_MAX) };
}

void frames_reader_release(struct frames_reader *r)
{
	buf_release(&r->line);
	buf_release(&r->bytes);
}

static void remember_words(struct frames_reader *r, const char *bytes, size_t len)
{
	for (; len && r->said_len < FRAMES_SAID_MAX && !r->has_frame; bytes++, len--)
		r->said[r->said_len++] = *bytes ? *bytes : ' ';
}

static enum err no_answer(struct frames_reader *r)
{
	const char *words = r->said;

	while (isspace((unsigned char)*words))
		words++;
	r->said[r->said_len] = 0;
	return error_set(
		&r->why, ERR_PROTOCOL, "instead of an answer of the helper came '%s'", words);
}

static enum err check_frame(const struct frame *f, struct error *e)
{
	bool is_sign_of_life = f->type == FRAME_ITEMS && !f->len;

	if (f->type != FRAME_ITEMS && f->type != FRAME_END)
		return error_set(e, ERR_PROTOCOL, "the helper sent a request");
	if (f->id != REQUEST_ID && (f->id || (f->type == FRAME_ITEMS && !is_sign_of_life)))
		return error_set(e, ERR_PROTOCOL, "the helper answers request %u, which is none",
			(unsigned)f->id);
	return ERR_OK;
}

static enum err take_header(struct frames_reader *r)
{
	enum err kind = frame_decode(r->bytes.bytes, &r->frame, &r->why);

	if (kind != ERR_OK && !r->has_frame)
		return no_answer(r);
	return kind == ERR_OK ? check_frame(&r->frame, &r->why) : kind;
}

/* The helper's reason for reading no request. */
static enum err take_last_words(const struct buf *in, struct error *e)
{
	enum err kind = wire_get_end(in, e);

	return kind == ERR_OK ? error_set(e, ERR_UNREACHABLE, "the helper ended") : kind;
}

static enum err end_answer(struct frames_reader *r)
{
	r->is_over = !r->next || r->why.kind != ERR_OK;
	if (r->is_over)
		return ERR_OK;
	r->listener = r->next;
	r->next = NULL;
	return r->turn ? r->turn(r->turn_context, &r->why) : ERR_OK;
}

/* Takes the complete frame. */
static enum err take_frame(struct frames_reader *r)
{
	struct buf in = { .bytes = r->bytes.bytes + FRAME_HEADER_SIZE,
		.len = r->frame.len,
		.max = r->frame.len };
	enum err kind = ERR_OK;

	r->has_frame = true;
	if (r->frame.type == FRAME_ITEMS)
		kind = listener_take_items(r->listener, &in, &r->why);
	else if (!r->frame.id)
		kind = take_last_words(&in, &r->why);
	else
		listener_take_end(r->listener, &in, &r->why);
	if (r->frame.type == FRAME_END && r->frame.id)
		kind = end_answer(r);
	r->frame.len = 0;
	buf_reset(&r->bytes);
	return kind;
}

static enum err digest(struct frames_reader *r)
{
	enum err kind = ERR_OK;

	if (r->bytes.failed)
		return buf_check(&r->bytes, "an answer of the helper", &r->why);
	if (r->bytes.len == FRAME_HEADER_SIZE)
		kind = take_header(r);
	if (kind != ERR_OK || r->bytes.len < FRAME_HEADER_SIZE + r->frame.len)
		return kind;
	return take_frame(r);
}

static enum err take_bytes(struct frames_reader *r, const unsigned char *bytes, size_t len)
{
	enum err kind = ERR_OK;

	while (len && !r->is_over && kind == ERR_OK) {
		bool in_header = r->bytes.len < FRAME_HEADER_SIZE;
		size_t missing = FRAME_HEADER_SIZE + (in_header ? 0 : r->frame.len) - r->bytes.len;
		size_t part = len < missing ? len : missing;

		buf_add(&r->bytes, bytes, part);
		bytes += part;
		len -= part;
		kind = digest(r);
	}
	return kind;
}

static enum err take_line(struct frames_reader *r)
{
	struct buf bytes = BUF_INIT(ARMOUR_LINE_MAX);
	enum err kind = base64_decode(
		&bytes, buf_text(&r->line), r->line.len, r->has_frame ? &r->why : NULL);

	buf_reset(&r->line);
	if (kind == ERR_OK)
		kind = take_bytes(r, bytes.bytes, bytes.len);
	else if (!r->has_frame)
		no_answer(r);
	buf_release(&bytes);
	return kind;
}

static enum err take_text(struct frames_reader *r, const char *text, size_t len)
{
	enum err kind = ERR_OK;

	while (len && !r->is_over && kind == ERR_OK) {
		const char *newline = memchr(text, '\n', len);
		size_t part = newline ? (size_t)(newline - text) : len;

		if (!buf_add(&r->line, text, part))
			return r->has_frame ? buf_check(&r->line, "a line of the helper's", &r->why)
					    : no_answer(r);
		if (newline)
			kind = take_line(r);
		part += newline != NULL;
		text += part;
		len -= part;
	}
	return kind;
}

static enum err pass_on(const struct error *from, struct error *e)
{
	if (e)
		*e = *from;
	return from->kind;
}

enum err frames_reader_take(struct frames_reader *r, const void *bytes, size_t len, struct error *e)
{
	enum err kind;

	if (r->is_over)
		return ERR_OK;
	if (r->why.kind != ERR_OK)
		return pass_on(&r->why, e);
	remember_words(r, bytes, len);
	kind = r->is_armoured ? take_text(r, bytes, len) : take_bytes(r, bytes, len);
	return kind == ERR_OK ? ERR_OK : pass_on(&r->why, e);
}

/* Whether the bytes so far could be the first frame. */
static bool begins_as_frame(const struct frames_reader *r)
{
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, &(struct frame){ .type = FRAME_ITEMS });
	return !r->bytes.len ||
		memcmp(r->bytes.bytes, header, r->bytes.len < 4 ? r->bytes.len : 4) == 0;
}

/*
 * A transport of text may drop the last line end. Of a line that is cut off, the readable part
 * counts.
 */
static void take_last_line(struct frames_reader *r)
{
	r->line.len -= r->line.len % 4;
	take_line(r);
}

enum err frames_reader_take_file(
	struct frames_reader *r, const void *bytes, size_t len, struct error *e)
{
	if (r->is_armoured && !r->is_over && r->why.kind == ERR_OK && r->line.len)
		take_last_line(r);
	r->is_armoured = false;
	return frames_reader_take(r, bytes, len, e);
}

enum err frames_reader_end(struct frames_reader *r, const struct error *run, struct error *e)
{
	if (!r->is_over && r->why.kind == ERR_OK && r->line.len)
		take_last_line(r);
	if (r->is_over || r->why.kind != ERR_OK)
		return r->why.kind == ERR_OK ? ERR_OK : pass_on(&r->why, e);
	if (run->kind != ERR_OK)
		return pass_on(run, e);
	if (r->said_len && !r->has_frame && !begins_as_frame(r))
		return error_set(e, no_answer(r), "%s", r->why.text);
	return error_set(e, ERR_UNREACHABLE, "the helper's answer was cut off");
}
