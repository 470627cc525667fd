/*
 * What Daytona's daemon answers to a bulk download: parts of any shape, in pieces of any size. The input's first byte says
 * how large; what comes out must not depend on it.
 */
#include "providers/base/cleanup.h"
#include "providers/daytona/parts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err keep(void *context, const void *bytes, size_t len, struct error *e)
{
	struct buf *contents = context;

	buf_add(contents, bytes, len);
	return buf_check(contents, "contents", e);
}

static enum err read_in_pieces(
	const uint8_t *data, size_t size, size_t piece, struct buf *contents, struct error *e)
{
	AUTO_PARTS struct parts_reader parts;
	enum err kind = ERR_OK;

	parts_init(&parts, keep, contents);
	for (size_t at = 0; at < size && !kind; at += piece)
		kind = parts_take(&parts, data + at, size - at < piece ? size - at : piece, e);
	return kind ? kind : parts_end(&parts, e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf whole = BUF_INIT(size + 1), pieces = BUF_INIT(size + 1);
	struct error whole_e = { 0 }, pieces_e = { 0 };
	enum err kind;

	if (!size)
		return 0;
	kind = read_in_pieces(data + 1, size - 1, size, &whole, &whole_e);
	if (read_in_pieces(data + 1, size - 1, data[0] % 64 + 1, &pieces, &pieces_e) != kind)
		abort();
	/* What is refused may have been handed on to some extent before. */
	if (!kind &&
		(whole.len != pieces.len || memcmp(buf_text(&whole), buf_text(&pieces), whole.len)))
		abort();
	return 0;
}
