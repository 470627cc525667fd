#include "cache/journal/segment.h"

#include "cache/session/disk.h"
#include "cache/session/fault.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

/*
 * Bytes for an entry's notes, each in a record of its own: sent, twice; its base and its carried
 * version; done, or the reason of its failure.
 */
#define NOTES_ROOM ((uint64_t)512)
/* The disk is asked for this much at a time. */
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

/* ---- Reading ---- */

static enum err damaged(const struct segment *s, struct error *e)
{
	return error_set(e, ERR_IO, "%s is damaged", s->path);
}

enum err segment_read(const struct segment *s, uint64_t at, void *out, size_t len, struct error *e)
{
	ssize_t got = pread(s->fd, out, len, (off_t)at);

	if (got < 0)
		return disk_error(s->path, e);
	return (size_t)got == len ? ERR_OK : damaged(s, e);
}

enum err segment_read_header(
	const struct segment *s, uint64_t offset, struct record_header *out, struct error *e)
{
	enum err kind = segment_read(s, offset, out, sizeof *out, e);

	return kind || record_is_sound(out) ? kind : damaged(s, e);
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
		kind = damaged(s, e);
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
	if (r->header.type == RECORD_ENTRY ? fault_is_due("journal.add.torn")
					   : fault_is_due("journal.note.torn")) {
		write_all(s, parts, r->header.type == RECORD_ENTRY ? 2 : 1, e);
		fault_kill();
	}
	enum err kind = write_all(s, parts, 3, e);

	s->torn = kind != ERR_OK;
	return kind;
}

/* Takes in the record as if it had been read. */
static enum err append(struct segment *s, struct record *r, uint64_t number, struct error *e)
{
	if (!segment_reserve(s))
		return error_set(e, ERR_NO_MEMORY, "journal");
	record_number(r, number);
	enum err kind = write_record(s, r, e);

	if (kind)
		return kind;
	if (!segment_take(s, &r->header, r->text))
		abort();
	s->size += record_len(&r->header);
	return ERR_OK;
}

/*
 * Allocates room for `len` bytes and for the notes about all entries, so that a full disk stops no
 * note.
 */
static enum err allocate(struct segment *s, uint64_t len, struct error *e)
{
	uint64_t needed = s->size + len + (s->unsynced + 1) * NOTES_ROOM;

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
