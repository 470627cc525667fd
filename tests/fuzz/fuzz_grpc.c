/*
 * Streams of Modal's servers: messages in pieces, and how a call ended. The input's first byte says
 * how long the pieces are, which must not matter. The rest is a stream, the text of either trailer,
 * and the contents of grpc-status-details-bin.
 */
#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/modal/grpc.h"
#include "providers/modal/grpc_frames.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Takes all whole messages, each behind its length. */
static enum err take_all(struct grpc_frames *f, struct buf *received, struct error *e)
{
	const unsigned char *bytes;
	size_t len;

	for (;;) {
		bool is_ready = grpc_frames_has(f);
		enum err kind = grpc_frames_next(f, &bytes, &len, e);

		must(is_ready == (kind || bytes));
		if (kind || !bytes)
			return kind;
		must(len <= GRPC_MESSAGE_MAX);
		buf_printf(received, "%zu:", len);
		buf_add(received, bytes, len);
	}
}

static enum err receive(
	struct buf *received, bool *is_cut, const uint8_t *data, size_t size, size_t step)
{
	struct grpc_frames f = GRPC_FRAMES_INIT("it");
	struct error e = { 0 };
	enum err kind = ERR_OK;

	for (size_t at = 0; kind == ERR_OK && at < size; at += step) {
		kind = grpc_frames_add(&f, data + at, size - at < step ? size - at : step, &e);
		if (kind == ERR_OK)
			kind = take_all(&f, received, &e);
	}
	*is_cut = grpc_frames_is_cut(&f);
	grpc_frames_release(&f);
	return kind;
}

static void receive_both(const uint8_t *data, size_t size, size_t step)
{
	AUTO_BUF struct buf whole = BUF_INIT(8 * size + 8), pieces = BUF_INIT(8 * size + 8);
	bool is_cut, is_cut_again;
	enum err kind = receive(&whole, &is_cut, data, size, size);

	must(receive(&pieces, &is_cut_again, data, size, step) == kind);
	must(kind != ERR_OK || is_cut == is_cut_again);
	must(!whole.failed && whole.len == pieces.len);
	must(!memcmp(buf_text(&whole), buf_text(&pieces), whole.len));
}

#define WORDS_MAX 64

static void decode(const char *text)
{
	char words[WORDS_MAX + 1];
	size_t len = grpc_decode(words, WORDS_MAX, text, strlen(text));

	must(len <= WORDS_MAX && len <= strlen(text) && !words[len]);
}

static void ask_when(const char *details)
{
	int64_t ms = grpc_retry_after_ms(details);

	must(ms == -1 || (ms >= 100 && ms <= 86400000));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf text = BUF_INIT(size + 1), packed = BUF_INIT(2 * size + 4);

	if (size < 2)
		return 0;
	receive_both(data + 1, size - 1, 1 + data[0] % 64);
	buf_add(&text, data + 1, size - 1);
	decode(buf_text(&text));
	ask_when(buf_text(&text));
	base64_encode(&packed, data + 1, size - 1);
	ask_when(buf_text(&packed));
	return 0;
}
