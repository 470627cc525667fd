/*
 * sequence.h - the record, in staging, of how far a journal's changes have got.
 *
 * The record is a file "seq-<journal in hex>" of text, so that a shell can keep it as well. Numbers
 * with SEQUENCE_ASIDE are in a second file, "seq-aside-<journal in hex>". The first line,
 * SEQUENCE_HEAD_SIZE bytes, is written before each change, with one pwrite(2). The line has the
 * number, 'b' for begun or 'e' for ended, and the size and the inode number that the change's name
 * had before. A change that is begun implies that all before it are over.
 *
 * The lines behind the first have the results of the last batch, in the order of their numbers;
 * older lines mean nothing. A refusal is "NUMBER @KIND SENTENCE". The version of a regular file
 * after a change is "NUMBER =SIZE MTIME CTIME" (version_text.h), where there was room for it. The
 * version of the file that a rename took a name from follows it, behind a space. So the record is
 * right at every moment that a kill leaves behind: only the one change that is begun has to be
 * examined (apply_again.c), whether it was made.
 *
 * The record is locked with flock(2) while a batch is applied: a batch that is sent again waits for
 * its first run.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"
#include "providers/helper/root.h"

#define SEQUENCE_HEAD_SIZE 65

/* The inode that a change's name named before the change. */
struct before {
	uint64_t size, ino; /* ino 0: nothing */
};

struct sequence {
	int fd;        /* -1: this journal is not recorded */
	bool is_new;   /* no number of the journal was in this record before */
	uint64_t over; /* the last number that is done or refused */
	/* the number that a killed run began and perhaps finished; 0: none */
	uint64_t begun;
	struct before before; /* state before the change `begun` */
	struct buf lines;     /* the record as it was when opened */
	size_t next_line;     /* the first line of `lines` not yet asked for */
	off_t end;            /* where the next line is written */
};

#define SEQUENCE_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}
#define AUTO_SEQUENCE __attribute__((cleanup(sequence_release)))

/*
 * Opens the record for the batch whose first number is `first`. A journal of all zeros and a root
 * without staging are not recorded. ERR_TIMEOUT: another run of this journal is at work and does
 * not end (journal_file_lock()).
 */
enum err sequence_open(const struct root *r, const struct call *call,
	const unsigned char journal[JOURNAL_ID_SIZE], uint64_t first, struct sequence *out,
	struct error *e);
void sequence_release(struct sequence *s);

bool sequence_is_over(const struct sequence *s, uint64_t number);

/* The result of a change that is over. */
struct fate {
	enum err err;
	const char *why;     /* sentence of a refusal; points into the record */
	struct version left; /* version that a change left; all zero: not known */
	struct version over; /* RENAME: change_result.over of then; all zero: not known */
};

/* The result of a change that is over; to be called in the order of the numbers. */
struct fate sequence_fate(struct sequence *s, uint64_t number);

/* Each fails only where the record cannot be kept: no change may follow then. */
enum err sequence_begin(
	struct sequence *s, uint64_t number, const struct before *before, struct error *e);
enum err sequence_refuse(
	struct sequence *s, uint64_t number, enum err err, const char *why, struct error *e);
/* Records the versions that a change left. Without room for them nothing is recorded. */
enum err sequence_leave(
	struct sequence *s, uint64_t number, const struct fate *fate, struct error *e);
/* Called after the last change of a batch. */
enum err sequence_end(struct sequence *s, uint64_t number, struct error *e);
