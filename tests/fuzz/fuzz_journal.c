/*
 * A segment of a journal, damaged in any way: it is read up to the damage, its entries are
 * consistent, and it is used again.
 *
 * Input: the first byte says what the rest is. 0: the bytes of a segment. Else records whose hashes
 * are made here, since no fuzzer guesses them: each the type, the number it carries, the lengths of
 * its text and data, and both.
 */
#include "cache/journal/segment.h"
#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/helper/wire.h"

#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- The file ---- */

struct input {
	const uint8_t *bytes;
	size_t len;
};

/* Takes up to *len bytes of the input. */
static const uint8_t *next(struct input *in, size_t *len)
{
	const uint8_t *bytes = in->bytes;

	if (*len > in->len)
		*len = in->len;
	in->bytes += *len;
	in->len -= *len;
	return bytes;
}

static uint8_t next_byte(struct input *in)
{
	size_t len = 1;
	const uint8_t *byte = next(in, &len);

	return len ? *byte : 0;
}

static void add_record(struct buf *out, struct input *in)
{
	uint8_t type = next_byte(in), number = next_byte(in);
	size_t text_len = next_byte(in) + 2 * (size_t)next_byte(in), data_len = next_byte(in);
	const uint8_t *text = next(in, &text_len), *bytes = next(in, &data_len);
	struct record r = record_make(type, text, text_len, bytes, data_len);

	record_number(&r, number < 255 ? number : UINT64_MAX - 1);
	buf_add(out, &r.header, sizeof r.header);
	buf_add(out, text, text_len);
	buf_add(out, bytes, data_len);
}

static int file_of(struct input in)
{
	AUTO_BUF struct buf bytes = BUF_INIT((size_t)16 * 1024 * 1024);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (next_byte(&in))
		while (in.len)
			add_record(&bytes, &in);
	else
		buf_add(&bytes, in.bytes, in.len);
	if (fd < 0 || (bytes.len && write(fd, bytes.bytes, bytes.len) != (ssize_t)bytes.len))
		abort();
	return fd;
}

/* ---- Results ---- */

static void check_change(const struct segment *s, const struct segment_slot *slot)
{
	AUTO_FREE void *text = NULL;
	struct record_header h;
	struct change change;

	if (segment_read_text(s, slot->offset, &h, &text, NULL) || h.type != RECORD_ENTRY)
		abort();
	if (wire_get_change(&(struct buf){ .bytes = text, .len = h.text_len }, &change, NULL) ||
		!change.path)
		abort();
}

static void check_why(const struct segment *s, const struct segment_slot *slot)
{
	AUTO_FREE void *text = NULL;
	struct record_header h;

	if (segment_read_text(s, slot->failed_at, &h, &text, NULL) || h.type != RECORD_FAILED ||
		h.text_len < sizeof(uint32_t))
		abort();
}

static void check_slots(const struct segment *s)
{
	size_t unsynced = 0, failed = 0;

	for (size_t n = 0; n < s->count; n++) {
		const struct segment_slot *slot = &s->slots[n];
		uint64_t number = slot->sequence & ~(SEGMENT_LEFT | SEQUENCE_ASIDE);
		bool is_unsynced = slot->sequence != SEGMENT_DONE;

		check_change(s, slot);
		if (is_unsynced && slot->failed_at)
			check_why(s, slot);
		unsynced += is_unsynced;
		failed += is_unsynced && slot->failed_at;
		if (is_unsynced && number >= s->next_sequence)
			abort();
	}
	if (unsynced != s->unsynced || failed != s->failed)
		abort();
}

static void use_again(struct segment *s)
{
	AUTO_BUF struct buf text = BUF_INIT(1000);
	uint64_t number = segment_end(s);
	size_t unsynced = s->unsynced;

	wire_put_change(&text, &(struct change){ .op = CHANGE_MKDIR, .path = "d" });
	struct record r = record_make(RECORD_ENTRY, text.bytes, text.len, NULL, 0);

	if (s->ended || !s->size)
		return;
	if (segment_add(s, &r, NULL) || s->unsynced != unsynced + 1)
		abort();
	if (segment_note(s, RECORD_DONE, 0, &number, sizeof number, NULL) ||
		s->unsynced != unsynced)
		abort();
	check_slots(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment *s;

	if (segment_new(&s, 1, file_of((struct input){ data, size }), strdup("fuzz"), NULL))
		abort();
	if (!segment_load(s, NULL)) {
		check_slots(s);
		use_again(s);
	}
	segment_free(s);
	return 0;
}
