/*
 * The stream of a program that a daemon of containers runs: whatever the frames are and wherever
 * they are cut, the outputs are the same, and no byte comes from outside the input. The input's
 * first byte says where it is cut.
 */
#include "providers/base/buf.h"
#include "providers/command/engine_stream.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outputs {
	struct engine_frames frames;
	struct buf texts[2];
	bool is_bad;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void take(struct outputs *o, const uint8_t *bytes, size_t len)
{
	struct engine_piece piece = { 0 };

	while (!o->is_bad && len) {
		const uint8_t *from = bytes;
		size_t before = len;

		o->is_bad = engine_frames_next(&o->frames, &bytes, &len, &piece, NULL) != ERR_OK;
		must(len < before && bytes == from + (before - len));
		must(o->is_bad || (piece.bytes >= from && piece.bytes + piece.len == bytes));
		if (!o->is_bad)
			must(buf_add(&o->texts[piece.is_error], piece.bytes, piece.len));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outputs whole = { .texts = { BUF_INIT(size), BUF_INIT(size) } }, cut = whole;
	size_t at;

	if (!size)
		return 0;
	at = *data++ % size--;
	take(&whole, data, size);
	take(&cut, data, at);
	take(&cut, data + at, size - at);
	must(whole.is_bad == cut.is_bad);
	for (int i = 0; i < 2; i++) {
		must(whole.texts[i].len == cut.texts[i].len);
		must(!memcmp(buf_text(&whole.texts[i]), buf_text(&cut.texts[i]), cut.texts[i].len));
		buf_release(&whole.texts[i]);
		buf_release(&cut.texts[i]);
	}
	return 0;
}
