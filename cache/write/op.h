/*
 * op.h - the pending ops, in the order in which they were made.
 *
 * The journal has each op and its contents. struct op has the rest that is needed to send it and to
 * handle its answer. Ops that touch a common inode keep their order; others may overtake. An urgent
 * small save overtakes all ops that it is not bound to (op_is_bound_to()). For the lock see
 * cache/write/writeback_inside.h.
 */
#pragma once

#include "cache/journal/journal.h"
#include "cache/write/remote.h"
#include "cache/write/state.h"

#include <sys/queue.h>

/* A part of the contents: bytes in the journal, and their offset in the file. */
struct piece {
	struct journal_extent where;
	uint64_t number; /* the journal's entry */
	uint64_t offset;
};

struct op {
	TAILQ_ENTRY(op) link;
	enum op_state state;  /* set by op_becomes() alone */
	struct change change; /* with its own texts; pieces of data stay in the journal */
	struct change_about about;
	/* The inode that the op makes, which the sandbox does not have; or NULL. */
	struct inode *made;
	struct inode *moved[2]; /* inodes whose own names change, `made` among them */
	struct expect over;     /* CHANGE_RENAME: the file at the new name when it was decided */
	uint64_t order;
	uint64_t sequence;   /* the number under which an earlier mount sent it; 0: not sent */
	uint64_t number;     /* the journal's entry, the first where there are pieces */
	struct version base; /* the version that the journal noted later for the op */
	int64_t since_ms;    /* monotonic */
	uint64_t failures;   /* attempts without an answer before the op was made */
	/*
	 * The contents: later pieces lie over earlier ones. A piece without bytes is one more
	 * journal entry that the op stands for.
	 */
	struct piece *pieces;
	size_t pieces_count, pieces_room;
	/* The names and numbers of an op of an earlier mount (replay_names.c); else none. */
	struct named *named;
	size_t named_count;
	uint64_t skip_sweep; /* the sweep in which the op must not leave; 0: none */
	uint64_t left_by;    /* the sweep of its present or last batch */
	unsigned conflicts;  /* names that others have taken */
	/*
	 * The flags: first what the op is, from its making on; then what is wanted of it; then what
	 * became of it. They are bytes and no bits, because the sender sets is_verified without the
	 * lock.
	 */
	bool is_barrier;     /* moves a directory: no op overtakes it, and it overtakes none */
	bool is_small_save;  /* a part of a small save: large contents do not hold it up */
	bool is_recovered;   /* made by an earlier mount: touches no known inode */
	bool is_inherited;   /* is_recovered, or queued in place of such an op */
	bool is_unasked;     /* no call asked for it: keeps a time that is shown, or tidies */
	bool tidies;         /* removes a staged file whose contents were refused */
	bool is_replacement; /* about the staged file that will replace the target */
	/*
	 * A file that others put at the new name is replaced. But if others may have come long
	 * before, as after a crash or an attempt without an answer, that is a conflict.
	 */
	bool may_replace;
	/* A change that others made to the file meanwhile wins, however short ago it was. */
	bool loses_conflict;
	bool is_urgent;       /* a call waits for the op */
	bool may_wait;        /* not worth a request of its own: leaves with others */
	bool is_used;         /* deferred, and other ops changed its staged file */
	bool is_counted;      /* left in a recorded batch */
	bool outcome_unknown; /* contents that left in a plain batch without an answer */
	bool is_verified;     /* contents that are there: the version does not matter */
	bool is_overtaken; /* the version was handed on or taken over: answers do not change it */
	bool is_again;     /* refused, and queued again for another name */
	bool is_needless;  /* a shown time or a removal was refused: the file is gone */
	bool is_behind_needless; /* skipped, since an op was that is_needless */
	bool is_lost;            /* will fail, since an op that it needs was refused */
	bool has_failed;         /* is_lost, and the failure is reported */
};

TAILQ_HEAD(op_list, op);

/* The most bytes that one change may carry. */
#define OP_CONTENTS_MAX VERB_DATA_MAX

/*
 * A change with its own copies of the texts; NULL without memory. `change->data` is copied where it
 * is a text.
 */
struct op *op_new(const struct change *change);
void op_free(struct op *q);

/* Whether the op touches `i`. */
bool op_touches(const struct op *q, const struct inode *i);
bool op_has_contents(const struct op *q);
/*
 * op_has_contents() for a change: its data is contents, which stay in the journal until it leaves.
 */
bool op_in_pieces(const struct change *c);
/* Whether the op makes its file, with all its contents: no earlier op is about the file. */
bool op_makes_file(const struct op *q);
/*
 * Whether `q` has to come after `before`, which is older. The two touch a common inode, and for one
 * of them this is more than a directory in which they make, move or remove different names.
 * fsync(2) of one file says nothing of others (POSIX), and no change of a name reads other names.
 * Names need not wait either for a time of the directory that no call set: another such time
 * follows them.
 */
bool op_is_bound_to(const struct op *q, const struct op *before);
/* Whether the op sets a time that is shown and that no call set. */
bool op_keeps_time(const struct op *q);
/* Whether the op changes the contents of a file, or commits them. */
bool op_changes_contents(const struct op *q);
/* Whether the op sets attributes other than the size. The file then has a new version. */
bool op_sets_attributes(const struct op *q);
/*
 * op_sets_attributes(), and the op has the version from before. Later ops on the contents are
 * checked against this version.
 */
bool op_carries_version(const struct op *q);
/*
 * Whether the op gives a file another name. The contents and their time stay, so the answer shows
 * whether others changed them.
 */
bool op_moves_file(const struct op *q);
/*
 * Whether a change to a name does not go on with the file there: the name must be free, or the two
 * files change places.
 */
bool op_goes_by_name(const struct change *c);
/*
 * Whether the op is the commit over a file that was made empty here. The file then has another
 * inode in the sandbox.
 */
bool op_replaces_made(const struct op *q);
/* Whether the op goes on with the contents of the file at the path, replaces or removes it. */
bool op_goes_on_at(const struct op *q, const char *path);
/* The path that the op makes, just behind the op. An exchange makes change.path, too. */
const char *op_makes(const struct op *q);
/*
 * The sandbox's file that the op is about, by whatever name, as it was at the call. All zero: the
 * sandbox does not have it yet.
 */
const struct expect *op_file(const struct op *q);
/*
 * A new file may get the number of a file that is gone. The time of birth tells them apart, where
 * both have one.
 */
bool op_is_same_file(const struct expect *a, const struct expect *b);
bool op_is_of(const struct op *q, const struct expect *file);
/* Whether the op replaces that file by another one, or exchanges it. */
bool op_is_over(const struct op *q, const struct expect *file);
/* Whether the op goes on with the contents of that file, replaces or removes it. */
bool op_goes_on_with(const struct op *q, const struct expect *file);
/*
 * Whether `q` makes no sense without `before`. `made` is where the result of `before` is by the
 * time of `q`. `before` makes the path of `q`, a directory on the way there or the contents before,
 * or carries the version that `q` is checked against.
 */
bool op_leads_to_from(const struct op *before, const struct op *q, const char *made);
/*
 * The paths at and below which ops make no sense without `before`; returns how many. Where `before`
 * carries a version, ops below the path are not meant.
 */
size_t op_leads_from(const struct op *before, const char *paths[2]);
/* Whether the op takes a name away. */
bool op_removes(const struct op *q);
/* The path of the op's file behind the op; NULL: the file has lost this name. */
const char *op_leaves(const struct op *q);
/*
 * The path, behind the op, of the file that is at `path` before it. Takes `path`, returns a path to
 * be freed. NULL: the name is gone, or no memory.
 */
char *op_carry(const struct op *q, char *path);
/* The path, before the op, of the file that is at `path` behind it. NULL: none, or no memory. */
char *op_carry_back(const struct op *q, char *path);
/*
 * The paths at and below which the op changes names; returns how many. All other names stay, but
 * for one that the op makes (op_tells_file_at()).
 */
size_t op_moves_tops(const struct op *q, const char *paths[2]);
/* Whether the op moves a directory above `path`, to there or away from there. */
bool op_moves_above(const struct op *q, const char *path);
/*
 * Whether the file at `path` behind the op has its name, its contents or its version from the op.
 */
bool op_tells_file_at(const struct op *q, const char *path);
bool op_exchanges(const struct op *q);
/* The inode that the target changes places with; NULL: none. */
struct inode *op_exchanged(const struct op *q);
/* Whether bytes at `offset` may be added to the op, with the same file in the end. */
bool op_may_extend(const struct op *q, enum change_op op, uint64_t offset, size_t len);
/* Adds a piece; false: no memory. */
bool op_add_piece(
	struct op *q, const struct journal_extent *where, uint64_t number, uint64_t offset);
/* The op sets the time of the piece that was added last; none if the piece has none. */
void op_take_time(struct op *q, const struct change *piece);
/* Whether the op may also set the attributes in `change`, which is about the same file. */
bool op_may_set_more(const struct op *q, const struct change *change);
/* Whether the op, a write to a staged file, may also set the mtime in `change`. */
bool op_may_set_mtime(const struct op *q, const struct change *change);
/*
 * Adds the attributes in `change`. `number`: of the journal's entry. false: no memory, and nothing
 * is changed.
 */
bool op_set_more(struct op *q, const struct change *change, uint64_t number);
/*
 * Whether the commit `commit` may also make the file in staging that `create` makes, with no other
 * contents than `write` (NULL: empty).
 */
bool op_may_bring(const struct op *commit, const struct op *create, const struct op *write);
/*
 * Lets `commit` do so, and gives it the journal's entries of the other two. false: no memory, and
 * nothing is changed.
 */
bool op_bring(struct op *commit, const struct op *create, const struct op *write);
/* Puts the contents together in `out`, which has room for change.data_len bytes. */
enum err op_read_contents(
	const struct op *q, struct journal *journal, unsigned char *out, struct error *e);
/* Calls journal_note_sent() for the op, without a sequence number. */
enum err op_note_sent(const struct op *q, struct journal *journal, struct error *e);
/*
 * How many journal entries the op has; op_add_numbers() adds their numbers as those of one change
 * (journal.h), and `numbers` has room for them.
 */
size_t op_numbers_count(const struct op *q);
void op_add_numbers(const struct op *q, uint64_t *numbers, size_t *count);
/* Calls journal_note_done() for the op. */
enum err op_note_done(const struct op *q, struct journal *journal, struct error *e);
/* Calls journal_note_failed() for the op. */
enum err op_note_failed(
	const struct op *q, struct journal *journal, const struct error *why, struct error *e);
/* The op's memory, in bytes. */
size_t op_cost(const struct op *q);
