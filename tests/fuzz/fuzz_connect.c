/*
 * Answers of E2B's daemon: envelopes in pieces, the contents of compressed ones, the messages in
 * them, and refusals.
 *
 * The first byte of the input says how long the pieces are, and with its highest bit whether
 * messages may be compressed; the rest is a stream, then a refusal. Pieces must not matter: a read
 * at once has an equal result.
 */
#include "providers/e2b/envd_process.h"
#include "providers/e2b/envelope.h"
#include "providers/e2b/verdict.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The contents of a stream, to be compared. */
struct hearing {
	struct buf received;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static enum err on_process(void *context, const struct envd_process_event *event, struct error *e)
{
	struct hearing *h = context;

	(void)e;
	must(event->kind <= ENVD_ENDED);
	must(!event->has_exit_code || event->exit_code >= 0);
	buf_printf(&h->received, "%d %u %d;", event->kind, event->pid, event->exit_code);
	buf_add(&h->received, event->bytes, event->len);
	return ERR_OK;
}

static enum err on_envelope(
	void *context, bool is_end, const void *message, size_t len, struct error *e)
{
	struct hearing *h = context;
	bool untouched;

	must(len <= ENVELOPE_MAX);
	buf_add(&h->received, message, len);
	if (is_end) {
		refusal_of_end(message, len, "it", &untouched, e);
		return ERR_OK;
	}
	envd_process_decode(message, len, on_process, h, e);
	return ERR_OK;
}

static enum err receive(
	struct hearing *h, bool is_gzip, const uint8_t *data, size_t size, size_t step)
{
	struct envelopes reader = ENVELOPES_INIT;
	struct error e = { 0 };
	enum err kind = ERR_OK;

	*h = (struct hearing){ .received = BUF_INIT(64 * 1024 * 1024) };
	reader.is_gzip = is_gzip;
	for (size_t at = 0; kind == ERR_OK && at < size; at += step)
		kind = envelopes_feed(&reader, data + at, size - at < step ? size - at : step,
			on_envelope, h, &e);
	envelopes_release(&reader);
	return kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hearing whole, pieces;
	struct error e = { 0 };
	bool untouched;

	if (size < 2)
		return 0;
	refusal_of_status(400 + data[0], data + 1, size - 1, "it", &untouched, &e);
	must(e.kind != ERR_OK);
	must(receive(&whole, data[0] & 0x80, data + 1, size - 1, size - 1) ==
		receive(&pieces, data[0] & 0x80, data + 1, size - 1, 1 + (data[0] & 0x7f)));
	must(whole.received.len == pieces.received.len && !whole.received.failed);
	must(!whole.received.len ||
		!memcmp(whole.received.bytes, pieces.received.bytes, whole.received.len));
	buf_release(&whole.received);
	buf_release(&pieces.received);
	return 0;
}
