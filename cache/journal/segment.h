/*
 * segment.h - one file of a journal: entries whose numbers follow one another, and the notes about
 * them.
 *
 * So a segment can go when its entries are done, and no note about another segment's entries is
 * lost. There is no lock, except where a function says so.
 */
#pragma once

#include "cache/journal/journal.h"
#include "cache/journal/record.h"

#include <sys/queue.h>

/* The facts about an entry that are known without reading its record. */
struct segment_slot {
	/*
	 * The sequence number noted last; 0: none; with the bits SEGMENT_LEFT and SEQUENCE_ASIDE;
	 * or SEGMENT_DONE.
	 */
	uint64_t sequence;
	uint32_t offset; /* where the entry's record begins */
	/* Where the record with the reason of its failure begins; 0: it did not fail. */
	uint32_t failed_at;
	/*
	 * Where the last record with its base version begins; 0: the entry itself has the version.
	 */
	uint32_t based;
	/* Where the last record with the version of the renamed file begins; 0: none. */
	uint32_t carried;
};

#define SEGMENT_DONE UINT64_MAX
/* The entry left without a sequence number, and may leave another time with one. */
#define SEGMENT_LEFT ((uint64_t)1 << 63)
/*
 * Bytes: the 32-bit offsets above reach this far, with the largest record and its notes behind it.
 */
#define SEGMENT_MAX ((uint64_t)2 * 1024 * 1024 * 1024)

struct segment {
	TAILQ_ENTRY(segment) link;
	uint32_t ordinal; /* the segment's place among all that the journal ever had */
	char *path;       /* for messages */
	int fd;
	uint64_t size;      /* the bytes of the whole records */
	uint64_t allocated; /* on the disk: space for notes is allocated beforehand */
	bool torn;          /* a part of a record follows `size` */
	bool ended;         /* the segment takes no more entries */
	unsigned char journal[JOURNAL_ID_SIZE];
	/* Greater than every sequence number or ticket noted in the segment. */
	uint64_t next_sequence;
	uint64_t first; /* number of the first entry */
	size_t count, room;
	struct segment_slot *slots;
	size_t unsynced, failed; /* entries that are not done, and how many of them failed */
};

/*
 * Takes `fd` and `path`, which is allocated, also on failure. The segment is empty until
 * segment_begin() or segment_load().
 */
enum err segment_new(struct segment **out, uint32_t ordinal, int fd, char *path, struct error *e);
void segment_free(struct segment *s);

/* The number after that of the last entry. */
uint64_t segment_end(const struct segment *s);
/* NULL: the segment does not have the entry. */
struct segment_slot *segment_slot(const struct segment *s, uint64_t number);

/*
 * segment_take() takes in a record at `size`, whether it was read or just written. false: the
 * record cannot stand there. segment_reserve() must have made room for an entry (slots.c); false:
 * out of memory.
 */
bool segment_reserve(struct segment *s);
bool segment_take(struct segment *s, const struct record_header *h, const void *text);

/*
 * Reads the file up to its end or to a torn record, which the next write cuts off. Without a whole
 * record `size` is 0. ERR_PROTOCOL: the file is damaged. (load.c)
 */
enum err segment_load(struct segment *s, struct error *e);

/* Appends a record. On failure the file is as before, and the error is about the disk. */
enum err segment_begin(
	struct segment *s, const struct record_begin *begin, uint64_t next_number, struct error *e);
enum err segment_add(struct segment *s, struct record *entry, struct error *e);
enum err segment_note(struct segment *s, enum record_type type, uint64_t number, const void *text,
	size_t len, struct error *e);

/*
 * ERR_IO: the bytes are not there, or damaged. These functions may be called while others append.
 */
enum err segment_read(const struct segment *s, uint64_t at, void *out, size_t len, struct error *e);
enum err segment_read_header(
	const struct segment *s, uint64_t offset, struct record_header *out, struct error *e);
/*
 * Reads the header and the text of the record at `offset`. The text is allocated and has a NUL
 * behind it.
 */
enum err segment_read_text(const struct segment *s, uint64_t offset, struct record_header *header,
	void **text, struct error *e);

/* The place of the data of the record at `offset`. */
struct journal_extent segment_extent(
	const struct segment *s, uint64_t offset, const struct record_header *h);
