#include "providers/gzip.h"

#include <zlib.h>

/* zlib's way to say: a gzip header and trailer around it. */
#define GZIP_WINDOW (15 + 16)
/* Room that is made for inflated bytes at a time. */
#define STEP ((size_t)32 * 1024)

static enum err inflate_step(z_stream *z, struct buf *out, bool *is_over, struct error *e)
{
	size_t room = out->max - out->len < STEP ? out->max - out->len : STEP;
	unsigned char *dst = room ? buf_reserve(out, room) : NULL;
	int status;

	if (!room)
		return error_set(e, ERR_PROTOCOL, "a compressed message holds more than %zu bytes",
			out->max);
	if (!dst)
		return error_set(e, ERR_NO_MEMORY, "a compressed message");
	z->next_out = dst;
	z->avail_out = (unsigned)room;
	status = inflate(z, Z_NO_FLUSH);
	buf_filled(out, room - z->avail_out);
	*is_over = status == Z_STREAM_END;
	/* Z_BUF_ERROR: it wants more bytes, and there are none. */
	if (status != Z_OK && !*is_over)
		return error_set(e, ERR_PROTOCOL, "a compressed message is damaged");
	return ERR_OK;
}

enum err gzip_inflate(struct buf *out, const void *bytes, size_t len, struct error *e)
{
	z_stream z = { .next_in = (unsigned char *)bytes, .avail_in = (unsigned)len };
	enum err kind = ERR_OK;
	bool is_over = false;

	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return error_set(e, ERR_NO_MEMORY, "a compressed message");
	while (kind == ERR_OK && !is_over)
		kind = inflate_step(&z, out, &is_over, e);
	if (kind == ERR_OK && z.avail_in)
		kind = error_set(e, ERR_PROTOCOL, "bytes follow a compressed message");
	inflateEnd(&z);
	return kind;
}

bool gzip_deflate(struct buf *out, const void *bytes, size_t len)
{
	z_stream z = { .next_in = (unsigned char *)bytes, .avail_in = (unsigned)len };
	size_t room;
	unsigned char *dst;
	int status;

	if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	room = deflateBound(&z, len);
	dst = buf_reserve(out, room);
	z.next_out = dst;
	z.avail_out = dst ? (unsigned)room : 0;
	status = dst ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	if (status == Z_STREAM_END)
		buf_filled(out, z.total_out);
	deflateEnd(&z);
	return status == Z_STREAM_END;
}
