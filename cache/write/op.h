/*
 * op.h - the changes that were decided here and that the sandbox has not answered for, in the order of their making.
 *
 * Each stands in the journal, which has its contents; here is what is needed to send it and to
 * take its answer in. What touches a common inode keeps its order; anything else may overtake. A
 * small save that somebody waits for overtakes all that it is not bound to (op_is_bound_to()).
 * Not locked: cache/write/writeback_inside.h.
 */
#pragma once

#include "cache/journal/journal.h"
#include "cache/write/remote.h"
#include "cache/write/state.h"

#include <sys/queue.h>

/* A part of what is written: bytes that the journal has, and where in the file they begin. */
struct piece {
	struct journal_extent where;
	uint64_t number; /* of the journal's entry */
	uint64_t offset;
};

struct op {
	TAILQ_ENTRY(op) link;
	enum op_state state; /* op_becomes() alone sets it */
	struct change
		change; /* its texts are its own; its data, where there are pieces, in the journal */
	struct change_about about;
	struct inode *made;     /* by it, and not known to the sandbox before; else NULL */
	struct inode *moved[2]; /* whose own name changes: with `made` those whose path it makes */
	struct expect over;     /* CHANGE_RENAME: the file at the new name when it was decided */
	bool is_barrier; /* moves a directory: nothing overtakes it, and it overtakes nothing */
	uint64_t order;
	uint64_t sequence;   /* it left by this already, in an earlier mount; 0: it did not */
	uint64_t number;     /* of the journal's entry, the first where there are pieces */
	struct version base; /* what the journal was told later that it is held against */
	int64_t since_ms;    /* monotonic */
	uint64_t failures;   /* attempts that had failed for lack of an answer when it was made */
	/* CHANGE_WRITE, CHANGE_APPEND: later ones lie over earlier ones. Without bytes: what else was set. */
	struct piece *pieces;
	size_t pieces_count, pieces_room;
	/* Of an earlier mount: under its names and numbers (replay_names.c); else none. */
	struct named *named;
	size_t named_count;
	bool is_urgent;     /* somebody waits for it */
	bool is_counted;    /* it left with a number of its record */
	bool is_small_save; /* and it is a part of a small save: what is large does not hold it up */
	bool may_wait;      /* not worth a call of its own: leaves with others */
	bool is_recovered;  /* of an earlier mount: it touches no inode that is known */
	bool is_inherited;  /* or what came of one: it is for a change of an earlier mount */
	bool outcome_unknown; /* contents that left without a number, and whose answer never came */
	bool is_verified;     /* which are there: what it was based on does not matter any more */
	bool is_lost;         /* what it needs was refused */
	bool has_failed;      /* and that was told */
	bool is_again;        /* refused, and queued again for another name */
	bool is_unasked;      /* keeps a time that was shown, or tidies: nobody asked for it */
	bool tidies;          /* takes a staged file away whose contents were refused */
	bool is_needless;     /* such a time or a removal, refused: the file is not there */
	bool is_overtaken; /* its version was handed on, or was handed to it: no answer gives it another */
	uint64_t awaits;  /* the gathering that has what it has to wait for; 0: none */
	uint64_t left_by; /* the gathering of the batch that it is in, or was in last */
	bool is_beside;   /* about what is to be copied over its target */
	bool is_used;     /* held back, and something was done to what it puts in its place */
	/* What others put at the new name counts as ours to replace, unless there was long nobody to tell of it. */
	bool may_replace;
	/* What others made of the file meanwhile is not ours to replace, however short that is. */
	bool loses_conflict;
	unsigned conflicts; /* names that others have taken */
};

TAILQ_HEAD(op_list, op);

/* What is written beyond its place among others: the bytes one change may carry. */
#define OP_CONTENTS_MAX VERB_DATA_MAX

/* A change with its own copies of the texts; NULL without memory. `change->data` is copied where it is a text. */
struct op *op_new(const struct change *change);
void op_free(struct op *q);

/* Whether it is about `i`, too. */
bool op_touches(const struct op *q, const struct inode *i);
bool op_has_contents(const struct op *q);
/* The same of a change: its data is contents, which stay in the journal until it leaves. */
bool op_in_pieces(const struct change *c);
/* Whether there is nothing before it in what it is about: it makes that, with all its contents. */
bool op_makes_file(const struct op *q);
/*
 * Whether `q` has to come after `before`, which is older: they touch a common inode, and that is
 * more to one of them than a directory in which they make, move or remove different names.
 * fsync(2) of one file says nothing of others (POSIX), and no change of a name reads the names
 * beside it. Behind a time of a directory that nobody set another one follows, so that names need
 * not wait for that either.
 */
bool op_is_bound_to(const struct op *q, const struct op *before);
/* Whether it sets a time that is shown, and that nobody set. */
bool op_keeps_time(const struct op *q);
/* Whether the change moves the contents of a file, or puts them in their place. */
bool op_changes_contents(const struct op *q);
/* Whether it sets attributes alone: that moves the version of the file. */
bool op_sets_attributes(const struct op *q);
/* Likewise, and it is known which version there was: who goes on with the contents behind it is held against that. */
bool op_carries_version(const struct op *q);
/* Whether it gives a file another name: its contents and their time stay, so its answer shows whether others were at it. */
bool op_moves_file(const struct op *q);
/* Whether what moves to a name does not go on with what was there: that must be free, or gets the other one. */
bool op_goes_by_name(const struct change *c);
/* Whether it makes what it is about another inode of the sandbox: what was made empty is replaced by what it was made for. */
bool op_replaces_made(const struct op *q);
/* Whether it goes on with the contents of what is at the path, or takes it away. */
bool op_goes_on_at(const struct op *q, const char *path);
/* What it makes, just behind it. An exchange has its first name, too. */
const char *op_makes(const struct op *q);
/*
 * The file of the sandbox that it is about, by whatever name, as it was when it was decided. All
 * zero: the sandbox does not have it yet.
 */
const struct expect *op_file(const struct op *q);
/*
 * A number is given to a new file when its file is gone: a time of birth tells, where both have
 * one.
 */
bool op_is_same_file(const struct expect *a, const struct expect *b);
bool op_is_of(const struct op *q, const struct expect *file);
/* Whether that is what it replaces by another file, or exchanges with one. */
bool op_is_over(const struct op *q, const struct expect *file);
/* Whether it goes on with the contents of that file, or takes it away. */
bool op_goes_on_with(const struct op *q, const struct expect *file);
/*
 * Whether `q` makes no sense without `before`, where what that makes is `made` by the time of `q`:
 * it makes the path of `q`, or a directory on the way there, or its contents before, or carries the
 * version that `q` is held against.
 */
bool op_leads_to_from(const struct op *before, const struct op *q, const char *made);
/*
 * Of what makes no sense without `before`: where that is, or below which directories; how many.
 * Where `before` carries a version, nothing below it is meant.
 */
size_t op_leads_from(const struct op *before, const char *paths[2]);
/* Whether it takes a name away. */
bool op_removes(const struct op *q);
/* Where what it is about is afterwards; NULL: it has lost this name. */
const char *op_leaves(const struct op *q);
/* Where what is at `path` is afterwards. Takes `path`, gives what is to be freed: NULL: that name is gone, or no memory. */
char *op_carry(const struct op *q, char *path);
/* Where what is at `path` afterwards was before; NULL: nowhere, or no memory. */
char *op_carry_back(const struct op *q, char *path);
/*
 * What is neither there nor below has the same name before and behind it, unless it makes that name
 * (op_tells_file_at()); how many.
 */
size_t op_moves_tops(const struct op *q, const char *paths[2]);
/* Whether a directory above `path` got there, or away from there, by it. */
bool op_moves_above(const struct op *q, const char *path);
/* Whether the file at `path` afterwards has its place, its contents or its version by it. */
bool op_tells_file_at(const struct op *q, const char *path);
bool op_exchanges(const struct op *q);
/* What its target changes places with; NULL: nothing. */
struct inode *op_exchanged(const struct op *q);
/* Whether bytes at `offset` may go on in it, so that in the end the file is the same. */
bool op_may_extend(const struct op *q, enum change_op op, uint64_t offset, size_t len);
/* Adds a piece; false: no memory. */
bool op_add_piece(
	struct op *q, const struct journal_extent *where, uint64_t number, uint64_t offset);
/* What goes on in it has this time, if it says one. */
void op_take_time(struct op *q, const struct change *piece);
/* Whether it says the same with what `change`, which is about the same file, sets. */
bool op_may_set_more(const struct op *q, const struct change *change);
/* The same of what is written, where nobody sees the file yet: of its time alone. */
bool op_may_set_mtime(const struct op *q, const struct change *change);
/* It sets that, too; `number` is of the journal's entry. false: no memory, and nothing is changed. */
bool op_set_more(struct op *q, const struct change *change, uint64_t number);
/*
 * Whether a file that `create` makes in staging, and that is just what `write` says (NULL: empty), may as well be made by
 * the change that puts it in its place.
 */
bool op_may_bring(const struct op *place, const struct op *create, const struct op *write);
/* That makes it now: all the journal's entries are its own. false: no memory, and nothing is changed. */
bool op_bring(struct op *place, const struct op *create, const struct op *write);
/* Its contents, put together in `out`, which has room for change.data_len bytes. */
enum err op_read_contents(
	const struct op *q, struct journal *journal, unsigned char *out, struct error *e);
/* Calls journal_note_sent() for it, without a sequence number. */
enum err op_note_sent(const struct op *q, struct journal *journal, struct error *e);
/* How many entries the journal has of it; their numbers, of which there is room for as many more: one change's (journal.h). */
size_t op_numbers_count(const struct op *q);
void op_add_numbers(const struct op *q, uint64_t *numbers, size_t *count);
/* Calls journal_note_done() for it. */
enum err op_note_done(const struct op *q, struct journal *journal, struct error *e);
/* Calls journal_note_failed() for it. */
enum err op_note_failed(
	const struct op *q, struct journal *journal, const struct error *why, struct error *e);
/* What it takes in memory, in bytes. */
size_t op_cost(const struct op *q);
