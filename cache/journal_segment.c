#include "cache/journal_segment.h"

#include "cache/disk.h"
#include "cache/fault.h"
#include "providers/base/cleanup.h"
#include "providers/helper/wire.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* Of an entry's notes, when each is told alone: sent, done, and a word about why it is parked. */
#define NOTES_ROOM ((uint64_t)256)
/* The disk is asked for so much at a time. */
#define ALLOCATE_STEP ((uint64_t)256 * 1024)

enum err segment_new(struct segment **out, uint32_t ordinal, int fd, char *path, struct error *e)
{
	struct segment *s = calloc(1, sizeof *s);

	if (!s || !path) {
		close(fd);
		free(path);
		free(s);
		return error_set(e, ERR_NO_MEMORY, "journal");
	}
	s->ordinal = ordinal;
	s->fd = fd;
	s->path = path;
	s->next_sequence = 1;
	*out = s;
	return ERR_OK;
}

void segment_free(struct segment *s)
{
	if (!s)
		return;
	close(s->fd);
	free(s->path);
	free(s->slots);
	free(s);
}

uint64_t segment_end(const struct segment *s)
{
	return s->first + s->count;
}

struct segment_slot *segment_slot(const struct segment *s, uint64_t number)
{
	return number >= s->first && number - s->first < s->count ? &s->slots[number - s->first]
								  : NULL;
}

/* ---- What a record says, whether it was read or is just written ---- */

static bool reserve_slot(struct segment *s)
{
	if (s->count < s->room)
		return true;
	size_t room = s->room ? 2 * s->room : 64;
	struct segment_slot *slots = reallocarray(s->slots, room, sizeof *slots);

	if (!slots)
		return false;
	s->slots = slots;
	s->room = room;
	return true;
}

static void raise_sequence(struct segment *s, uint64_t next)
{
	if (next > s->next_sequence)
		s->next_sequence = next;
}

static bool take_begin(struct segment *s, const struct record_header *h, const void *text)
{
	struct record_begin begin;

	if (h->text_len != sizeof begin)
		return false;
	memcpy(&begin, text, sizeof begin);
	if (!s->size) {
		memcpy(s->journal, begin.journal, sizeof s->journal);
		s->first = h->number;
	}
	raise_sequence(s, begin.next_sequence);
	return !memcmp(s->journal, begin.journal, sizeof s->journal) && h->number >= segment_end(s);
}

static bool take_entry(struct segment *s, const struct record_header *h)
{
	if (s->ended || h->number != segment_end(s))
		return false;
	s->slots[s->count++] = (struct segment_slot){ .offset = (uint32_t)s->size };
	s->owed++;
	return true;
}

static void mark_done(struct segment *s, struct segment_slot *slot)
{
	if (slot->sequence == SEGMENT_DONE)
		return;
	s->owed--;
	s->parked -= slot->parked != 0;
	slot->sequence = SEGMENT_DONE;
}

static void mark_sent(struct segment *s, struct segment_slot *slot, uint64_t sequence)
{
	if (slot->sequence != SEGMENT_DONE)
		slot->sequence = sequence;
	raise_sequence(s, sequence + 1);
}

static bool take_numbers(struct segment *s, const struct record_header *h, const void *text)
{
	for (size_t n = 0; n < h->text_len / sizeof(uint64_t); n++) {
		uint64_t number;

		memcpy(&number, (const char *)text + n * sizeof number, sizeof number);
		struct segment_slot *slot = segment_slot(s, number);

		if (!slot)
			return false;
		if (h->type == RECORD_DONE)
			mark_done(s, slot);
		else
			mark_sent(s, slot, h->number + n);
	}
	return h->text_len % sizeof(uint64_t) == 0;
}

static bool take_parked(struct segment *s, const struct record_header *h)
{
	struct segment_slot *slot = segment_slot(s, h->number);

	if (!slot || h->text_len < sizeof(uint32_t))
		return false;
	if (slot->sequence == SEGMENT_DONE)
		return true;
	s->parked += slot->parked == 0;
	slot->parked = (uint32_t)s->size;
	return true;
}

static bool take_end(struct segment *s, const struct record_header *h)
{
	s->ended = true;
	return h->number == segment_end(s);
}

/* The record at `size`. false: it cannot stand there. */
static bool take_record(struct segment *s, const struct record_header *h, const void *text)
{
	if (!s->size && h->type != RECORD_BEGIN)
		return false;
	switch ((enum record_type)h->type) {
	case RECORD_BEGIN: return take_begin(s, h, text);
	case RECORD_ENTRY: return take_entry(s, h);
	case RECORD_SENT:
	case RECORD_DONE: return take_numbers(s, h, text);
	case RECORD_PARKED: return take_parked(s, h);
	case RECORD_END: return take_end(s, h);
	case RECORD_TYPE_END: break;
	}
	return false;
}

/* ---- Reading ---- */

static enum err damaged(const struct segment *s, enum err kind, struct error *e)
{
	return error_set(e, kind, "%s is damaged", s->path);
}

enum err segment_read(const struct segment *s, uint64_t at, void *out, size_t len, struct error *e)
{
	ssize_t got = pread(s->fd, out, len, (off_t)at);

	if (got < 0)
		return disk_error(s->path, e);
	return (size_t)got == len ? ERR_OK : damaged(s, ERR_IO, e);
}

enum err segment_read_header(
	const struct segment *s, uint64_t offset, struct record_header *out, struct error *e)
{
	enum err kind = segment_read(s, offset, out, sizeof *out, e);

	return kind || record_is_sound(out) ? kind : damaged(s, ERR_IO, e);
}

enum err segment_read_text(const struct segment *s, uint64_t offset, struct record_header *header,
	void **text, struct error *e)
{
	enum err kind = segment_read_header(s, offset, header, e);

	if (kind)
		return kind;
	AUTO_FREE char *bytes = malloc(header->text_len + (size_t)1);

	if (!bytes)
		return error_set(e, ERR_NO_MEMORY, "journal");
	kind = segment_read(s, offset + sizeof *header, bytes, header->text_len, e);
	if (!kind && !record_has_text(header, bytes))
		kind = damaged(s, ERR_IO, e);
	if (kind)
		return kind;
	bytes[header->text_len] = '\0';
	*text = take(bytes);
	return ERR_OK;
}

struct journal_extent segment_extent(
	const struct segment *s, uint64_t offset, const struct record_header *h)
{
	return (struct journal_extent){
		.at = (uint64_t)s->ordinal << 32 | (offset + sizeof *h + h->text_len),
		.len = h->data_len,
	};
}

static bool is_change(const struct record_header *h, void *text)
{
	const struct buf in = { .bytes = text, .len = h->text_len };
	struct change change;

	return !wire_get_change(&in, &change, NULL);
}

/* *whole false: the file of `file_size` bytes ends within it. */
static enum err load_record(struct segment *s, uint64_t file_size, bool *whole, struct error *e)
{
	uint64_t rest = file_size - s->size;
	struct record_header h;
	AUTO_FREE void *text = NULL;

	*whole = false;
	if (rest < sizeof h)
		return ERR_OK;
	enum err kind = segment_read(s, s->size, &h, sizeof h, e);

	if (kind)
		return kind;
	if (!record_is_sound(&h))
		return damaged(s, ERR_PROTOCOL, e);
	if (rest < record_len(&h))
		return ERR_OK;
	kind = segment_read_text(s, s->size, &h, &text, NULL);
	if (kind == ERR_NO_MEMORY || !reserve_slot(s))
		return error_set(e, ERR_NO_MEMORY, "journal");
	if (kind || !take_record(s, &h, text) || (h.type == RECORD_ENTRY && !is_change(&h, text)))
		return damaged(s, ERR_PROTOCOL, e);
	s->size += record_len(&h);
	*whole = true;
	return ERR_OK;
}

enum err segment_load(struct segment *s, struct error *e)
{
	struct stat st;
	bool whole = true;
	enum err kind = fstat(s->fd, &st) ? disk_error(s->path, e) : ERR_OK;

	if (!kind && (uint64_t)st.st_size > SEGMENT_MAX)
		kind = damaged(s, ERR_PROTOCOL, e);
	while (!kind && whole)
		kind = load_record(s, (uint64_t)st.st_size, &whole, e);
	s->torn = true;
	return kind;
}

/* ---- Writing ---- */

static enum err write_error(const struct segment *s, struct error *e)
{
	if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
		return disk_error(s->path, e);
	return error_set(e, ERR_NO_SPACE,
		"%s: this machine's disk has no room for what the sandbox does not have yet: make "
		"some, or mount with -o journal=DIR elsewhere",
		s->path);
}

static enum err write_all(
	const struct segment *s, struct iovec *parts, size_t count, struct error *e)
{
	uint64_t at = s->size;

	for (size_t n = 0; n < count;) {
		ssize_t written = pwritev(s->fd, parts + n, (int)(count - n), (off_t)at);

		if (written < 0)
			return write_error(s, e);
		at += (uint64_t)written;
		for (; n < count && (size_t)written >= parts[n].iov_len; n++)
			written -= (ssize_t)parts[n].iov_len;
		if (n < count) {
			parts[n].iov_base = (char *)parts[n].iov_base + written;
			parts[n].iov_len -= (size_t)written;
		}
	}
	return ERR_OK;
}

static enum err write_record(struct segment *s, struct record *r, struct error *e)
{
	struct iovec parts[] = {
		{ &r->header, sizeof r->header },
		{ (void *)r->text, r->header.text_len },
		{ (void *)r->data, r->header.data_len },
	};

	if (s->torn && ftruncate(s->fd, (off_t)s->size))
		return write_error(s, e);
	s->torn = true;
	if (r->header.type == RECORD_ENTRY && fault_is_due("journal.add.torn")) {
		write_all(s, parts, 2, e);
		fault_kill();
	}
	enum err kind = write_all(s, parts, 3, e);

	s->torn = kind != ERR_OK;
	return kind;
}

/* Takes what it says as if it had been read. */
static enum err append(struct segment *s, struct record *r, uint64_t number, struct error *e)
{
	if (!reserve_slot(s))
		return error_set(e, ERR_NO_MEMORY, "journal");
	record_number(r, number);
	enum err kind = write_record(s, r, e);

	if (kind)
		return kind;
	if (!take_record(s, &r->header, r->text))
		abort();
	s->size += record_len(&r->header);
	return ERR_OK;
}

/* Room for `len` bytes and for the notes about all entries, so that a full disk stops no note. */
static enum err allocate(struct segment *s, uint64_t len, struct error *e)
{
	uint64_t needed = s->size + len + (s->owed + 1) * NOTES_ROOM;

	if (needed <= s->allocated)
		return ERR_OK;
	needed += ALLOCATE_STEP;
	if (fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->size, (off_t)(needed - s->size)) &&
		errno != EOPNOTSUPP && errno != ENOSYS)
		return write_error(s, e);
	s->allocated = needed;
	return ERR_OK;
}

enum err segment_begin(
	struct segment *s, const struct record_begin *begin, uint64_t next_number, struct error *e)
{
	struct record r = record_make(RECORD_BEGIN, begin, sizeof *begin, NULL, 0);

	return append(s, &r, next_number, e);
}

enum err segment_add(struct segment *s, struct record *entry, struct error *e)
{
	enum err kind = allocate(s, record_len(&entry->header), e);

	return kind ? kind : append(s, entry, segment_end(s), e);
}

enum err segment_note(struct segment *s, enum record_type type, uint64_t number, const void *text,
	size_t len, struct error *e)
{
	struct record r = record_make(type, text, len, NULL, 0);

	return append(s, &r, number, e);
}
