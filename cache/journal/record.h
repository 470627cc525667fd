/*
 * record.h - one record as it lies in a segment of a journal.
 *
 * A header, then two runs of bytes: what the record says (`text`), and data. Each has its own hash, and the header one of
 * itself, so that its lengths can be relied on: where the file ends before the record does, its writer was killed; where
 * a hash is wrong, the file is damaged. Numbers are as this machine has them: a journal does not travel.
 *
 *      type            number                  text
 *      BEGIN           of the next entry       struct record_begin; a segment starts with it, and may repeat it
 *      ENTRY           of the entry            wire_put_change() without the data
 *      SENT            first sequence number,  the entries' numbers, u64 each, in the order of their sequence numbers;
 *                      0: they have none       with JOURNAL_SAME: the one of the entry before
 *      ASIDE           likewise                likewise, where the numbers have SEQUENCE_ASIDE, too
 *      DONE            0                       the entries' numbers
 *      PARKED          of the entry            u32 enum err, with RECORD_PARKED_SAME: a part of a change
 *                                              of which another entry tells; then why, not terminated
 *      BASED           0                       struct journal_base each
 *      CARRIED         0                       likewise, of the file that an entry moves
 *      LEFT            ticket                  the entries' numbers: they have no sequence numbers, but all one ticket, counted
 *                                              among those
 *      END             of the next entry       none: no entries follow, but notes about those before may
 */
#pragma once

#include "providers/verbs.h"

/* Of all this, and of the coding of a change (providers/helper/wire_requests.c): another one is not read. */
#define RECORD_VERSION 2

#define RECORD_PARKED_SAME ((uint32_t)1 << 31)

enum record_type {
	RECORD_BEGIN = 1,
	RECORD_ENTRY,
	RECORD_SENT,
	RECORD_DONE,
	RECORD_PARKED,
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
	uint64_t text_hash, data_hash; /* XXH3-64 */
	uint64_t hash;                 /* of the header before it */
};

struct record_begin {
	unsigned char journal[JOURNAL_ID_SIZE];
	uint64_t next_sequence;
};

/* A change has four strings of at most 256 KiB; and so many numbers a record of notes has at most. */
#define RECORD_TEXT_MAX    ((uint32_t)2 * 1024 * 1024)
#define RECORD_NUMBERS_MAX ((size_t)64 * 1024)
/* Of these all are read for one. */
#define RECORD_BASES_MAX ((size_t)64)

/* What of a record is to be written; its header can be made before its number is known, but for the last step. */
struct record {
	struct record_header header;
	const void *text, *data;
};

struct record record_make(enum record_type type, const void *text, size_t text_len,
	const void *data, size_t data_len);
void record_number(struct record *r, uint64_t number);

/* Bytes of the whole. */
uint64_t record_len(const struct record_header *h);
bool record_is_sound(const struct record_header *h);
bool record_has_text(const struct record_header *h, const void *text);
bool record_has_data(const struct record_header *h, const void *data);
