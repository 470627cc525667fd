/*
 * record.h - one record as it lies in a segment of a journal.
 *
 * A record is a header, then two runs of bytes: its `text`, and data. Each run has its own hash,
 * and the header one of itself, so that its lengths are reliable. Where the file ends before the
 * record does, its writer was killed. Where a hash is wrong, the file is damaged. Numbers are in
 * this machine's byte order: a journal does not travel.
 *
 *      type     number             text
 *      BEGIN    of the next entry  struct record_begin; it starts a segment, and may be repeated
 *      ENTRY    of the entry       wire_put_change() without the data
 *      SENT     first sequence     the entries' numbers, u64 each, in the order of their sequence
 *               number; 0: they    numbers; with JOURNAL_SAME: the sequence number of the entry
 *               have none          before
 *      ASIDE    as SENT            as SENT, where the sequence numbers have SEQUENCE_ASIDE, too
 *      DONE     0                  the entries' numbers
 *      FAILED   of the entry       u32 enum err, with RECORD_FAILED_PART: a part of a change for
 *                                  which another entry stands; then the reason, not terminated
 *      BASED    0                  struct journal_base each
 *      CARRIED  0                  as BASED, for the file that an entry renames
 *      LEFT     ticket             the entries' numbers: they have no sequence numbers, but one
 *                                  ticket for all, counted among those
 *      END      of the next entry  none: no entries follow, but notes about those before may
 */
#pragma once

#include "providers/verbs.h"

/*
 * The version of this format, and of the coding of a change (providers/helper/wire_requests.c).
 * Other versions are not read.
 */
#define RECORD_VERSION 2

#define RECORD_FAILED_PART ((uint32_t)1 << 31)

enum record_type {
	RECORD_BEGIN = 1,
	RECORD_ENTRY,
	RECORD_SENT,
	RECORD_DONE,
	RECORD_FAILED,
	RECORD_END,
	RECORD_BASED,
	RECORD_CARRIED,
	RECORD_LEFT,
	RECORD_ASIDE,
	RECORD_TYPE_END, /* one past the last */
};

struct record_header {
	unsigned char magic[3]; /* "SbJ" */
	uint8_t version;
	uint32_t type; /* enum record_type */
	uint32_t text_len, data_len;
	uint64_t number;
	uint64_t text_hash, data_hash; /* XXH3-64 of the text and of the data */
	uint64_t hash;                 /* XXH3-64 of the header before this field */
};

struct record_begin {
	unsigned char journal[JOURNAL_ID_SIZE];
	uint64_t next_sequence;
};

/*
 * The text of a change has four strings of at most 256 KiB. A record of notes has at most
 * RECORD_NUMBERS_MAX numbers.
 */
#define RECORD_TEXT_MAX    ((uint32_t)2 * 1024 * 1024)
#define RECORD_NUMBERS_MAX ((size_t)64 * 1024)
/* All bases of a record are read to find one. */
#define RECORD_BASES_MAX ((size_t)64)

/*
 * The parts of a record to be written. Its header can be made before its number is known, except
 * for the last step.
 */
struct record {
	struct record_header header;
	const void *text, *data;
};

struct record record_make(enum record_type type, const void *text, size_t text_len,
	const void *data, size_t data_len);
void record_number(struct record *r, uint64_t number);

/* The length of the whole record in bytes. */
uint64_t record_len(const struct record_header *h);
bool record_is_sound(const struct record_header *h);
bool record_has_text(const struct record_header *h, const void *text);
bool record_has_data(const struct record_header *h, const void *data);
