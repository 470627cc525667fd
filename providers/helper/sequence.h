/*
 * sequence.h - the record, in staging, of the last change of a journal that was done.
 *
 * A file "seq-<journal in hex>" of 8 bytes, little-endian, written anew after each change, so that a batch whose answer
 * was lost is resumed and not repeated. It is locked while a batch is applied: a batch sent again waits for the first
 * one to end, should that still be running.
 */
#pragma once

#include "providers/helper/root.h"

struct sequence {
	int fd; /* -1: this journal is not recorded */
	uint64_t done;
};

#define SEQUENCE_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}
#define AUTO_SEQUENCE __attribute__((cleanup(sequence_release)))

/* A journal of all zeros and a root without staging are not recorded. */
enum err sequence_open(const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE],
	struct sequence *out, struct error *e);
void sequence_release(struct sequence *s);

bool sequence_is_done(const struct sequence *s, uint64_t number);
enum err sequence_record(struct sequence *s, uint64_t number, struct error *e);
