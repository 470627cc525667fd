/*
 * writeback.h - changes that were acknowledged and are pending.
 *
 * A local change is in the journal (cache/journal/journal.h) before its call returns, and the tree
 * shows it at once. Batches carry many changes to the sandbox. A batch leaves 100 ms after the last
 * change and 500 ms after its first one at the latest, at once where a call waits, and a recorded
 * batch in any case after the answer to the one before. Ops that touch a common inode keep their
 * order. Large contents of files that the sandbox has leave in parallel with the recorded batch, in
 * two plain batches at a time, so that the link is busy while the sandbox works.
 *
 * Where the sandbox is out of reach, the same batch is sent again for as long as the mount lasts.
 * Its changes are applied once: the sandbox keeps a record. A change that the sandbox refuses
 * fails, with all that cannot be applied without it. A failed change stays in the journal, and the
 * tree goes back to the sandbox's state. The next write, fsync or close for writing of the file
 * reports the failure, and so does the next barrier, once.
 *
 * Threads of this module send the batches, so that a process that is killed while it waits takes no
 * data with it. A wait goes on while answers come, and else ends at the deadline on progress. The
 * module has its own lock, above those of the tree and of the journal. Every function but
 * writeback_new() and writeback_write() accepts NULL for `p`: nothing is ever pending.
 */
#pragma once

#include "cache/session/options.h"
#include "cache/session/status.h"
#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

struct writeback;

/*
 * Starts a thread. `call`: journal_options.call. The ops of an earlier mount in the journal are
 * sent before all others, behind this call: questions and barriers wait for them.
 */
enum err writeback_new(
	struct writeback **out, struct cache *c, const struct call *call, struct error *e);
/* Gives up what is under way: from now on nothing is sent, nor asked. Before walk_free(). */
void writeback_stop(struct writeback *p);
/*
 * Gives up the batches under way. Pending ops stay in the journal, with a line in the log. true:
 * nothing is left.
 */
bool writeback_free(struct writeback *p);
/* The journal's id; NULL: there is no journal. */
const unsigned char *writeback_journal(const struct writeback *p);
/* Whether an earlier mount left the journal, and so did not come to its own end. */
bool writeback_took_up(const struct writeback *p);

/*
 * A CHANGE_WRITE or CHANGE_APPEND of at most VERB_DATA_MAX bytes. `offset` of an append: where it
 * should land; if it lands elsewhere, the kernel's pages are invalidated. Waits while the journal
 * is full (cache_options.full_fails). The error may be that of an earlier write. `p` is not NULL.
 */
enum err writeback_write(struct writeback *p, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, const void *bytes, size_t len, struct error *e);

/*
 * Reads the pending contents of `i`. *served: all of the range is pending, up to the end of the
 * file; *got < len only there. Otherwise the sandbox has a part of the range. An error is one of
 * the journal.
 */
enum err writeback_read(struct writeback *p, struct inode *i, uint64_t offset, void *out,
	size_t len, size_t *got, bool *served, struct error *e);

/*
 * writeback_read() while offline, for a file with changes in parts: the stored contents from before
 * the changes, and the pending ones over them. false: not all of the range is known here. May ask
 * whether the sandbox answers by now.
 */
bool writeback_read_offline(struct writeback *p, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got);

/* A handle of `i` is closed: the times that `i` shows are kept. */
void writeback_keep_times(struct writeback *p, struct inode *i);

/* Facts about a file that is to be staged. */
struct staging {
	bool is_made;        /* just made here: no other program writes to it */
	bool loses_conflict; /* contents that others put into the file win */
};

/*
 * `i` is open and empty. The sandbox sees the writes to it at once when its last handle is closed,
 * if that can be done. Where `i` was just made, its commit gives it another inode in the sandbox,
 * so `i` shows a number of its own from now on.
 */
void writeback_stage(
	struct writeback *p, const struct call *call, struct inode *i, const struct staging *s);
/*
 * The last handle of `i` is closed: its contents since it was made or emptied are whole, and are
 * committed. Until then the commit is deferred, unless a call waits for the file or moves it.
 */
void writeback_release(struct writeback *p, struct inode *i);

/*
 * Returns when the sandbox has answered, with whatever result, the ops that touched `i` before, the
 * ops that these depend on, and all ops of an earlier mount. An error is one of waiting:
 * ERR_INTERRUPTED, ERR_TIMEOUT, or why the sandbox is out of reach. No op is lost by an error.
 */
enum err writeback_drain(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e);
/*
 * writeback_drain() for the names on the path of `i`: after it the sandbox has `i` where the tree
 * shows it.
 */
enum err writeback_drain_path(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e);

/* writeback_drain_path() for all names of `i`. */
enum err writeback_drain_paths(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e);

/* Whether the journal had changes of an earlier mount, which may be answered by now. */
bool writeback_has_replay(const struct writeback *p);
/*
 * The list of the attach is dropped, and the sandbox may be asked for the directories that the
 * changes of an earlier mount are about.
 */
void writeback_opened(struct writeback *p);
/* Returns when the tree shows the changes of an earlier mount, or all of them are answered. */
enum err writeback_await_replay(struct writeback *p, const struct call *call, struct error *e);
/*
 * Whether a change of an earlier mount, or one in its place, is not answered, and the tree does not
 * show these changes.
 */
bool writeback_is_recovering(struct writeback *p);

/*
 * writeback_drain(), and reports a failure. `sync`: if ops were pending, a CHANGE_SYNC follows
 * them, and *synced is true.
 */
enum err writeback_flush(struct writeback *p, const struct call *call, struct inode *i, bool sync,
	bool *synced, struct error *e);

/*
 * Numbers a remote change, so that it is applied once though a copy of the request may arrive, and
 * so that late copies of contents that were answered before do not overwrite it. `number`: from
 * writeback_next_number(), or 0 for a new one.
 */
void writeback_number_asked(struct writeback *p, uint64_t number, struct apply_request *request);
/*
 * For a remote change that is sent again where no answer came, since it may have been applied. 0:
 * `p` is NULL.
 */
uint64_t writeback_next_number(struct writeback *p);

/*
 * While the sandbox is asked for a rename or a removal, no new op is accepted: its path would be
 * out of date. The caller begins before it waits for pending ops.
 */
void writeback_move_begins(struct writeback *p);
void writeback_move_ends(struct writeback *p);

/*
 * The failure of `i` that is not reported yet. writeback_refusal() leaves it so, after
 * writeback_report() it counts as reported.
 */
enum err writeback_refusal(struct writeback *p, struct inode *i, struct error *e);
enum err writeback_report(struct writeback *p, struct inode *i, struct error *e);

/* Why the last attempt to send had no answer, if it had none. The next attempt is soon. */
enum err writeback_trouble(struct writeback *p, struct error *e);

/*
 * writeback_drain() for all files. The error may also be a failure that no earlier call of this
 * function reported.
 */
enum err writeback_drain_all(struct writeback *p, const struct call *call, struct error *e);

/* writeback_drain_all(), but leaves failures to the calls that report them. */
enum err writeback_drain_all_quietly(struct writeback *p, const struct call *call, struct error *e);
/* writeback_drain_all_quietly(), but deferred ops stay deferred. */
enum err writeback_drain_queue(struct writeback *p, const struct call *call, struct error *e);
/*
 * writeback_drain_all_quietly() before an audit: commits over files that were made empty here stay
 * deferred, since the sandbox's state of these files is known.
 */
enum err writeback_drain_to_audit(struct writeback *p, const struct call *call, struct error *e);

/* The journal's directory; NULL: in memory. */
const char *writeback_place(const struct writeback *p);
/* Copies the first failed changes to `out`; returns how many. */
size_t writeback_failed(struct writeback *p, struct cache_failed_change *out, size_t room);

/* Fills in the numbers of pending changes and bytes, and of failed changes. */
void writeback_count(struct writeback *p, struct cache_status *out);
