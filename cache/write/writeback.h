/*
 * writeback.h - changes that were acknowledged and that the sandbox has not answered for yet.
 *
 * What is changed here is in the journal (cache/journal/journal.h) before the call returns, and the tree shows it at once. It is sent
 * many changes to a call: 100 ms after the first of them, at once where somebody waits, and in any case after the answer to
 * the call before. Changes that touch a common inode keep their order. Much that is written into files which the sandbox
 * has goes beside that, two calls at a time, so that the link is busy while the sandbox works.
 *
 * Where the sandbox cannot be reached the same is sent again, for as long as the mount lasts, and done once: the sandbox
 * keeps a record. What it refuses is parked, with what cannot be done without it: it stays in the journal, the tree goes
 * back to what the sandbox has, and who asks for the file next is told: its next write, fsync or close for writing, and the
 * next barrier, once.
 *
 * The sending belongs to threads of this module, so that nobody who is killed while waiting takes the data with him. Whoever
 * waits does so while answers come, and else no longer than the deadline on progress. Locks: its own one, above the
 * tree's and the journal's. Every function but writeback_new() takes NULL for `p`: nothing is ever pending.
 */
#pragma once

#include "cache/session/options.h"
#include "cache/session/status.h"
#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

struct writeback;

/*
 * Starts a thread. `call`: journal_options.call. What an earlier mount left in the journal is taken
 * on, before everything else.
 */
enum err writeback_new(
	struct writeback **out, struct cache *c, const struct call *call, struct error *e);
/* Gives up what is on its way; what is left stays in the journal, with a word in the log. true: nothing is left. */
bool writeback_free(struct writeback *p);
/* The id of its journal; NULL: it has none. */
const unsigned char *writeback_journal(const struct writeback *p);
/* Whether an earlier mount left that journal, and so did not come to its own end. */
bool writeback_took_up(const struct writeback *p);

/*
 * A CHANGE_WRITE or CHANGE_APPEND of at most VERB_DATA_MAX bytes. `offset` of an append: where it should land; if it
 * lands elsewhere the kernel is told that its pages are wrong. Waits while the journal is full (cache_options.full_fails).
 * The error may be that of an earlier write.
 */
enum err writeback_write(struct writeback *p, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, const void *bytes, size_t len, struct error *e);

/*
 * Reads what is pending of its contents. *served: all that was asked for is, up to the end of the file; *got < len only there.
 * Otherwise the sandbox has a part of it. The error is one of the journal's.
 */
enum err writeback_read(struct writeback *p, struct inode *i, uint64_t offset, void *out,
	size_t len, size_t *got, bool *served, struct error *e);

/*
 * The same of a file of which a part was changed here, while nobody answers: over what is stored of what it was before that.
 * false: not all of it is known here. It may ask whether somebody answers by now.
 */
bool writeback_read_offline(struct writeback *p, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got);

/* A handle of `i` is closed: the times that it shows are kept. */
void writeback_keep_times(struct writeback *p, struct inode *i);

/* What is known of a file that is to be staged. */
struct staging {
	bool is_made;        /* just now, by us: nobody else goes on with it */
	bool loses_conflict; /* to whatever others put into it */
};

/*
 * `i` is open and empty: what is written to it until its last handle is closed is to be seen at once, if that can be done.
 * Of what was made that is another inode of the sandbox, and a number of its own is shown from now on.
 */
void writeback_stage(
	struct writeback *p, const struct call *call, struct inode *i, const struct staging *s);
/*
 * The last one is: what it has been given since it was made, or emptied, is whole, and the sandbox is to see it. Until then
 * that waits in staging, unless somebody waits for the file or moves it.
 */
void writeback_release(struct writeback *p, struct inode *i);

/*
 * Returns when the sandbox has answered all that touched `i` before, and what that depends on, whatever it said, and all
 * that an earlier mount left. An error
 * is one of waiting: ERR_INTERRUPTED, ERR_TIMEOUT, or why the sandbox cannot be reached; nothing is lost by it.
 */
enum err writeback_drain(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e);
/* The same for the names on the way to `i`: after it the sandbox has it where the tree says. */
enum err writeback_drain_path(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e);

/* The same for all names of `i`: it is wherever the tree says. */
enum err writeback_drain_paths(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e);

/* writeback_drain(), and reports what was refused; `sync`: with a CHANGE_SYNC at the end, if anything was pending: *synced. */
enum err writeback_flush(struct writeback *p, const struct call *call, struct inode *i, bool sync,
	bool *synced, struct error *e);

/*
 * Of a change that is not queued: it is done once though a copy of the request may arrive, and late copies of contents that
 * were answered before are not to go over it. `number` is one of writeback_next_number(), or 0: a new one.
 */
void writeback_number_asked(struct writeback *p, uint64_t number, struct apply_request *request);
/* For what is asked again where nobody answered, which may have been done. 0: `p` is NULL. */
uint64_t writeback_next_number(struct writeback *p);

/*
 * While the sandbox is asked to move what is there nothing new is taken on: it would go by paths that are none any more.
 * Whoever asks begins before he waits for what is pending.
 */
void writeback_move_begins(struct writeback *p);
void writeback_move_ends(struct writeback *p);

/* What was refused and not reported yet; it stays so, or counts as reported by this. */
enum err writeback_refusal(struct writeback *p, struct inode *i, struct error *e);
enum err writeback_report(struct writeback *p, struct inode *i, struct error *e);

/* Why the last attempt to send something was in vain, if it was. Another one is soon. */
enum err writeback_trouble(struct writeback *p, struct error *e);

/* Of everything. The error may also be a refusal that no earlier one of these reported. */
enum err writeback_drain_all(struct writeback *p, const struct call *call, struct error *e);

/* The same, and leaves what was refused to whoever reports it. */
enum err writeback_drain_all_quietly(struct writeback *p, const struct call *call, struct error *e);
/* The same of what has left the hands of its maker: what is held back stays so. */
enum err writeback_drain_queue(struct writeback *p, const struct call *call, struct error *e);
/* The same, but what keeps the place of what is held back is known without that. */
enum err writeback_drain_to_audit(struct writeback *p, const struct call *call, struct error *e);

/* The directory in which it is kept; NULL: in memory. */
const char *writeback_place(const struct writeback *p);
/* The first of those that were refused; returns how many. */
size_t writeback_failed(struct writeback *p, struct cache_failed_change *out, size_t room);

/* Fills the numbers of changes and bytes not yet answered for, and of changes that were refused. */
void writeback_count(struct writeback *p, struct cache_status *out);
