/*
 * sequence.h - the record, in staging, of how far a journal's changes have got.
 *
 * It is a file "seq-<journal in hex>" of text, so that a shell keeps it as well. Numbers that have
 * SEQUENCE_ASIDE are in another one, "seq-aside-<journal in hex>". The first line,
 * SEQUENCE_HEAD_SIZE bytes, is written anew before each change, with one pwrite(2): the number,
 * 'b' for begun or 'e' for ended, and the size and the inode number that its name had before. That
 * a change is begun says that all before it are over. The lines behind it tell what became of
 * those of the last batch, in the order of their numbers; older ones mean nothing: refusals,
 * "NUMBER @KIND SENTENCE", and the versions of regular files that were left, "NUMBER =SIZE MTIME
 * CTIME" (version_text.h), where there was room for them. So what a kill leaves behind is right at
 * every moment: only of the one change that is begun it must be found out (apply_again.c) whether
 * it was done.
 *
 * The record is locked with flock(2) while a batch is applied: a batch that is sent again waits for its first run.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"
#include "providers/helper/root.h"

#define SEQUENCE_HEAD_SIZE 65

/* What the name of a change named before it. */
struct before {
	uint64_t size, ino; /* ino 0: nothing */
};

struct sequence {
	int fd;        /* -1: this journal is not recorded */
	bool is_new;   /* nothing of the journal was written to this record before */
	uint64_t over; /* the last number that was done or refused */
	uint64_t
		begun; /* the one that was begun and perhaps done by a run that did not live to tell; 0: none */
	struct before before; /* of that one */
	struct buf lines;     /* the record as it was when it was opened */
	size_t next_line;     /* in it, the first one not yet asked for */
	off_t end;            /* where the next line is written */
};

#define SEQUENCE_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}
#define AUTO_SEQUENCE __attribute__((cleanup(sequence_release)))

/*
 * For the batch whose first number is `first`. A journal of all zeros and a root without staging are not recorded.
 * ERR_TIMEOUT: another run of this journal is at work and does not end (journal_file_lock()).
 */
enum err sequence_open(const struct root *r, const struct call *call,
	const unsigned char journal[JOURNAL_ID_SIZE], uint64_t first, struct sequence *out,
	struct error *e);
void sequence_release(struct sequence *s);

bool sequence_is_over(const struct sequence *s, uint64_t number);

/* What became of a change. */
struct fate {
	enum err err;
	const char *why;     /* where it was refused; the record's */
	struct version left; /* where it was done; all zero: not known */
};

/* Of one that is over; asked for in the order of the numbers. */
struct fate sequence_fate(struct sequence *s, uint64_t number);

/* Each fails only where the record cannot be kept: then nothing may follow. */
enum err sequence_begin(
	struct sequence *s, uint64_t number, const struct before *before, struct error *e);
enum err sequence_refuse(
	struct sequence *s, uint64_t number, enum err err, const char *why, struct error *e);
/* What a change left. Without room for it nothing is kept of it. */
enum err sequence_leave(
	struct sequence *s, uint64_t number, const struct version *left, struct error *e);
/* After the last change of a batch. */
enum err sequence_end(struct sequence *s, uint64_t number, struct error *e);
