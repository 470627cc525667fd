/*
 * What a command's script tells where there is no helper: words behind a marker and base64 between them, in pieces. The
 * input's first byte says how long these are; what comes out must not depend on it.
 */
#include "providers/base/cleanup.h"
#include "providers/remote_command_told.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Short, so that words are found by chance. */
#define MARKER "m"

struct hearing {
	struct buf kept[STREAM_ERR + 1];
	struct execute_result result;
	enum err told, judged;
};

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct hearing *h = context;

	buf_add(&h->kept[stream], bytes, len);
	return buf_check(&h->kept[stream], "output", e);
}

static void hear(struct hearing *h, const uint8_t *data, size_t size, size_t step)
{
	struct remote_run run = {
		.cwd = "", .marker = MARKER, .sink = keep, .sink_context = h, .result = &h->result
	};
	AUTO_REMOTE_TOLD struct remote_told told;
	struct error e = { 0 };

	*h = (struct hearing){
		.kept = { [STREAM_OUT] = BUF_INIT(size + 1), [STREAM_ERR] = BUF_INIT(size + 1) }
	};
	remote_told_init(&told, &run);
	for (size_t at = 0; h->told == ERR_OK && at < size; at += step)
		h->told = remote_told_take(
			&told, STREAM_OUT, data + at, size - at < step ? size - at : step, &e);
	h->judged = remote_told_judge(&told, &e);
	remote_told_end(&told, &e);
	for (enum stream stream = STREAM_OUT; stream <= STREAM_ERR; stream++)
		if (told.passed[stream] != h->kept[stream].len)
			abort();
}

static bool is_equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->bytes, b->bytes, a->len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hearing whole, pieces;

	if (size < 2)
		return 0;
	hear(&whole, data + 1, size - 1, size - 1);
	hear(&pieces, data + 1, size - 1, 1 + data[0] % 64);
	if (whole.told != pieces.told || whole.judged != pieces.judged ||
		whole.result.exit_code != pieces.result.exit_code ||
		whole.result.is_cut != pieces.result.is_cut)
		abort();
	for (enum stream stream = STREAM_OUT; stream <= STREAM_ERR; stream++) {
		if (!is_equal(&whole.kept[stream], &pieces.kept[stream]))
			abort();
		buf_release(&whole.kept[stream]);
		buf_release(&pieces.kept[stream]);
	}
	return 0;
}
