/*
 * pending.h - writes that were acknowledged and that the sandbox does not have yet.
 *
 * Writes to a file are gathered and sent many to a call: as soon as there is a good mouthful and nothing of that file is on
 * its way, at the latest 100 ms after the first one. While one batch is under way the next gathers; when it is full and
 * nothing in it depends on the one before, it is sent beside that, so that the link is busy while the sandbox works. Of
 * what overlaps, appends or cuts the order is kept exactly; different files do not wait for each other. The tree shows at
 * once what the writes make of the file (tree_foresee).
 *
 * What is refused is remembered on the file and reported by its next write, fsync or close for writing, once; it is not
 * sent again. After a failed one none of the same batch is done (its later writes are lost with it); what was written
 * since is sent.
 *
 * The sending belongs to threads of this module, so that nobody who is killed while waiting takes the data with him. Their
 * calls have the deadline on progress; whoever waits for them waits as long as one is under way, and else no longer than
 * that deadline. Locks: its own one, above the tree's. Every function takes NULL for `p`: nothing is ever pending.
 */
#pragma once

#include "cache/cache.h"
#include "cache/tree.h"

struct pending;

/* Starts a thread. */
enum err pending_new(struct pending **out, struct cache *c, struct error *e);
/* Gives up what is on its way and drops what is left, with a word in the log: pending_drain_all() comes before it. */
void pending_free(struct pending *p);

/*
 * Takes a copy of a CHANGE_WRITE or CHANGE_APPEND of at most VERB_DATA_MAX bytes. `offset` of an append: where it should
 * land; if it lands elsewhere the kernel is told that its pages are wrong. Waits while too much is pending. The error may
 * be that of an earlier write.
 */
enum err pending_write(struct pending *p, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, const void *bytes, size_t len, struct error *e);

/*
 * Returns when the sandbox has answered all that was written to `i` before, whatever it said. An error is one of waiting:
 * ERR_INTERRUPTED, ERR_TIMEOUT; nothing is lost by it.
 */
enum err pending_drain(
	struct pending *p, const struct call *call, struct inode *i, struct error *e);

/* The same, and reports what was refused; `sync`: with a CHANGE_SYNC at the end, if anything was pending: *synced. */
enum err pending_flush(struct pending *p, const struct call *call, struct inode *i, bool sync,
	bool *synced, struct error *e);

/* What was refused and not reported yet; it stays so. */
enum err pending_refusal(struct pending *p, struct inode *i, struct error *e);

/* Of every file. The error may also be a refusal that no earlier one of these reported. */
enum err pending_drain_all(struct pending *p, const struct call *call, struct error *e);

/* Pieces and bytes not yet answered for. */
void pending_count(struct pending *p, uint64_t *changes, uint64_t *bytes);
