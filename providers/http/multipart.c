#include "providers/http/multipart.h"

#include "providers/base/cleanup.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* Heads and values of text: fields of a form are short, and a head is hardly longer than its file's name. */
#define TEXTS_MAX ((size_t)16 * 1024 * 1024)

/* A run of the body: `bytes`, or else what stands in `texts` from `text` on. */
struct multipart_piece {
	uint64_t start, len; /* in the body */
	const void *bytes;
	size_t text;
};

enum err multipart_init(struct multipart *m, struct error *e)
{
	uint64_t random[2];

	*m = (struct multipart){ .texts = BUF_INIT(TEXTS_MAX) };
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return error_errno(e, errno, "the boundary of a form");
	snprintf(m->boundary, sizeof m->boundary, "sandboxfs-%016" PRIx64 "%016" PRIx64, random[0],
		random[1]);
	return ERR_OK;
}

void multipart_release(struct multipart *m)
{
	buf_release(&m->texts);
	free(m->pieces);
	*m = (struct multipart){ 0 };
}

void multipart_content_type(const struct multipart *m, char out[96])
{
	snprintf(out, 96, "multipart/form-data; boundary=%s", m->boundary);
}

/* ---- Making one ---- */

/* NULL: no memory. */
static struct multipart_piece *new_piece(struct multipart *m)
{
	if (m->pieces_count == m->pieces_room) {
		size_t room = m->pieces_room ? 2 * m->pieces_room : 8;
		void *grown = reallocarray(m->pieces, room, sizeof *m->pieces);

		if (!grown)
			return NULL;
		m->pieces = grown;
		m->pieces_room = room;
	}
	return &m->pieces[m->pieces_count++];
}

static void add_piece(struct multipart *m, struct multipart_piece piece)
{
	struct multipart_piece *place = piece.len ? new_piece(m) : NULL;

	if (!place) {
		m->failed |= piece.len > 0;
		return;
	}
	piece.start = m->len;
	*place = piece;
	m->len += piece.len;
}

/* What was added to the texts since they had `from` bytes is the next piece. */
static void end_text(struct multipart *m, size_t from)
{
	add_piece(m, (struct multipart_piece){ .text = from, .len = m->texts.len - from });
}

static void add_quoted(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\r' || *text == '\n')
			buf_printf(out, "%%%02X", (unsigned char)*text);
		else
			buf_add_byte(out, (unsigned char)*text);
	}
}

/* The line's end before it belongs to the boundary, not to the part that it ends. */
static void add_boundary(struct multipart *m)
{
	buf_printf(&m->texts, "%s--%s", m->len ? "\r\n" : "", m->boundary);
}

static void add_disposition(struct multipart *m, const char *name, const char *file_name)
{
	add_boundary(m);
	buf_add_string(&m->texts, "\r\nContent-Disposition: form-data; name=\"");
	add_quoted(&m->texts, name);
	if (file_name) {
		buf_add_string(&m->texts, "\"; filename=\"");
		add_quoted(&m->texts, file_name);
	}
	buf_add_string(&m->texts, "\"\r\n");
}

void multipart_add_text(struct multipart *m, const char *name, const char *value)
{
	size_t from = m->texts.len;

	add_disposition(m, name, NULL);
	buf_add_string(&m->texts, "\r\n");
	buf_add_string(&m->texts, value);
	end_text(m, from);
}

void multipart_add_file(
	struct multipart *m, const char *name, const char *file_name, const void *bytes, size_t len)
{
	size_t from = m->texts.len;

	add_disposition(m, name, file_name);
	buf_add_string(&m->texts, "Content-Type: application/octet-stream\r\n\r\n");
	end_text(m, from);
	add_piece(m, (struct multipart_piece){ .bytes = bytes, .len = len });
}

enum err multipart_finish(struct multipart *m, struct error *e)
{
	size_t from = m->texts.len;

	add_boundary(m);
	buf_add_string(&m->texts, "--\r\n");
	end_text(m, from);
	if (m->failed || m->texts.failed)
		return error_set(
			e, ERR_NO_MEMORY, "no memory for a form of %zu parts", m->pieces_count / 2);
	return ERR_OK;
}

/* ---- Reading it ---- */

static const struct multipart_piece *piece_at(const struct multipart *m, uint64_t offset)
{
	size_t low = 0, high = m->pieces_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (m->pieces[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return &m->pieces[low];
}

enum err multipart_read(void *context, uint64_t offset, void *dst, size_t len, struct error *e)
{
	const struct multipart *m = context;
	unsigned char *place = dst;

	(void)e;
	assert(offset <= m->len && len <= m->len - offset);
	while (len) {
		const struct multipart_piece *piece = piece_at(m, offset);
		uint64_t skipped = offset - piece->start, left = piece->len - skipped;
		size_t step = left < len ? (size_t)left : len;
		const unsigned char *bytes =
			piece->bytes ? piece->bytes : m->texts.bytes + piece->text;

		memcpy(place, bytes + skipped, step);
		place += step;
		offset += step;
		len -= step;
	}
	return ERR_OK;
}
