/*
 * validity.h - when what the tree holds may be believed, and the audit that restores trust in it.
 *
 * For sandboxes that are a network away. Answers are held (cache/tree/tree.h) while the tree is trusted. Under a change stream
 * (cache/lease/lease.h) that has no end; without one trust lasts for the time that attributes and names are believed, and at
 * least ten times as long as an audit costs; a command that ran ends it at once. The next question that only lacks trust
 * starts one audit: a list, in one call, of what changed since the last one in the directories that are known. Whoever
 * else asks meanwhile waits for it. So nothing is ever asked again file by file. Where nobody answers it, what is known
 * is shown as it was, and the audit is tried again every few seconds.
 *
 * Functions may be called from any thread and take NULL for `t`: nothing is held. The lock is not held during a call.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct validity;

/* *out is NULL where answers are not to be believed at all. Everything asked from now on is held. */
enum err validity_new(struct validity **out, struct cache *c, struct error *e);
void validity_free(struct validity *t);

/*
 * The tree is trusted when this returns ERR_OK, unless its time was over at once, or what changed could not be told: then
 * nothing is known any more. An error is the call's. That nobody answered is one only for who waits less than others do, and
 * where the sandbox must be asked: else the tree is trusted for a while.
 */
enum err validity_restore(struct validity *t, const struct call *call, struct error *e);

/* Nothing known may be shown before the sandbox was asked, also where nobody answers. */
void validity_must_ask(struct validity *t);

/* The tree was doubted. Where nothing was known there is nothing to audit. */
void validity_lost(struct validity *t);

/* All that is held was, or is being, told by `first`, or asked later: there is nothing to audit. */
void validity_began(struct validity *t, const struct tree_listing *first);

/* A listing took so long: an audit costs as much. */
void validity_note_cost(struct validity *t, int64_t cost_ms);
