/*
 * Runloop's stream of a command: server-sent events in pieces. The input's first byte says how long
 * the pieces are; the result must not depend on it.
 */
#include "providers/base/cleanup.h"
#include "providers/runloop/devbox_events.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct buf *kept = context;

	(void)stream;
	buf_add(kept, bytes, len);
	return buf_check(kept, "output", e);
}

/* An error ends the stream, as it ends the request. */
static enum err receive(
	struct buf *kept, bool *is_idle, const uint8_t *data, size_t size, size_t step)
{
	const struct devbox_output output = { .id = "dbx_1",
		.name = "stdout",
		.stream = STREAM_OUT,
		.sink = keep,
		.sink_context = kept };
	AUTO_DEVBOX_EVENTS struct devbox_events events;
	struct error e = { 0 };
	enum err kind = ERR_OK;

	devbox_events_init(&events, &output);
	for (size_t at = 0; kind == ERR_OK && at < size; at += step)
		kind = devbox_events_take(
			&events, data + at, size - at < step ? size - at : step, &e);
	if (kind == ERR_OK && events.at != kept->len)
		abort();
	*is_idle = events.is_idle;
	return kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf whole = BUF_INIT(size + 1), pieces = BUF_INIT(size + 1);
	bool is_idle, is_idle_again;

	if (size < 2)
		return 0;
	if (receive(&whole, &is_idle, data + 1, size - 1, size - 1) !=
			receive(&pieces, &is_idle_again, data + 1, size - 1, 1 + data[0] % 64) ||
		is_idle != is_idle_again || whole.len != pieces.len ||
		memcmp(buf_text(&whole), buf_text(&pieces), whole.len))
		abort();
	return 0;
}
