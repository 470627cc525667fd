/*
 * segment.h - one file of a journal: entries whose numbers follow one another, and the notes about them.
 *
 * So a segment can go when its entries are done, and nothing is lost that concerns another one. Not locked, but what is
 * said to be read.
 */
#pragma once

#include "cache/journal/journal.h"
#include "cache/journal/record.h"

#include <sys/queue.h>

/* What is known of an entry without reading it. */
struct segment_slot {
	/* Noted last; 0: none; with the bits SEGMENT_LEFT and SEQUENCE_ASIDE; or SEGMENT_DONE. */
	uint64_t sequence;
	uint32_t offset;  /* of its record */
	uint32_t parked;  /* of the record that says why; 0: it is not */
	uint32_t based;   /* of the last record that says on what; 0: the entry itself does */
	uint32_t carried; /* likewise, of what it moves */
};

#define SEGMENT_DONE UINT64_MAX
/* It left without a sequence number, and may have another time with one. */
#define SEGMENT_LEFT ((uint64_t)1 << 63)
/* Bytes: the offsets above reach so far, and the largest record with the notes behind it. */
#define SEGMENT_MAX ((uint64_t)2 * 1024 * 1024 * 1024)

struct segment {
	TAILQ_ENTRY(segment) link;
	uint32_t ordinal; /* among all that the journal ever had */
	char *path;       /* for messages */
	int fd;
	uint64_t size;      /* of the records that are whole */
	uint64_t allocated; /* on the disk: notes have their room beforehand */
	bool torn;          /* beyond `size` lies a part of a record */
	bool ended;         /* takes no more entries */
	unsigned char journal[JOURNAL_ID_SIZE];
	uint64_t next_sequence; /* greater than every one noted in it */
	uint64_t first;         /* number of its first entry */
	size_t count, room;
	struct segment_slot *slots;
	size_t owed, parked; /* entries that are not done, and which of them are parked */
};

/* `fd` and `path`, which is allocated, become its own, also on failure. Empty until segment_begin() or segment_load(). */
enum err segment_new(struct segment **out, uint32_t ordinal, int fd, char *path, struct error *e);
void segment_free(struct segment *s);

/* The number after its last entry's. */
uint64_t segment_end(const struct segment *s);
/* NULL: not in here. */
struct segment_slot *segment_slot(const struct segment *s, uint64_t number);

/*
 * What the record at `size` says, be it read or just written. false: it cannot stand there. Room for an entry was reserved
 * (slots.c); false: out of memory.
 */
bool segment_reserve(struct segment *s);
bool segment_take(struct segment *s, const struct record_header *h, const void *text);

/*
 * Reads the file up to its end or to a record that was torn, which is cut off; without a whole record `size` is 0 then.
 * ERR_PROTOCOL: it is damaged. (load.c)
 */
enum err segment_load(struct segment *s, struct error *e);

/* Appends to it. On failure the file is as if nothing had been, and what went wrong is said of the disk. */
enum err segment_begin(
	struct segment *s, const struct record_begin *begin, uint64_t next_number, struct error *e);
enum err segment_add(struct segment *s, struct record *entry, struct error *e);
enum err segment_note(struct segment *s, enum record_type type, uint64_t number, const void *text,
	size_t len, struct error *e);

/* ERR_IO: it is not there, or damaged. These may be called while others append. */
enum err segment_read(const struct segment *s, uint64_t at, void *out, size_t len, struct error *e);
enum err segment_read_header(
	const struct segment *s, uint64_t offset, struct record_header *out, struct error *e);
/* Of the record at `offset` the header and the text, which is allocated and has a NUL behind it. */
enum err segment_read_text(const struct segment *s, uint64_t offset, struct record_header *header,
	void **text, struct error *e);

/* Where the data of the record at `offset` is. */
struct journal_extent segment_extent(
	const struct segment *s, uint64_t offset, const struct record_header *h);
