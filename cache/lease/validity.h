/*
 * validity.h - when the answers in the tree are valid, and the audit that makes them valid again.
 *
 * For sandboxes that are a network away. Answers are leased (TREE_HELD in cache/tree/tree.h): they
 * are valid while the tree is. Under a stream of changes (cache/lease/lease.h) validity has no end.
 * Without one it lasts for the time that attributes and names are valid, and at least ten times as
 * long as an audit costs. A command that ran ends it at once. The next question whose answer is
 * known but not valid starts one audit: a list, in one call, of what changed since the last one in
 * the directories that are known. Other callers meanwhile wait for it. So nothing is ever asked
 * again file by file. While the sandbox is offline, what is known is shown as it was, and the audit
 * is tried again every few seconds.
 *
 * Functions may be called from any thread and take NULL for `t`: nothing is leased. No lock is held
 * during a call.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct validity;

/* *out is NULL where answers are never valid later. Every answer to a later question is leased. */
enum err validity_new(struct validity **out, struct cache *c, struct error *e);
void validity_free(struct validity *t);

/*
 * After ERR_OK the tree is valid, unless its time was over at once, or the sandbox could not tell
 * what changed: then nothing is known any more. An error is the call's. An offline sandbox is an
 * error only for a caller that waits less than others do, and where the sandbox must be asked: else
 * the tree is valid for a while.
 */
enum err validity_restore(struct validity *t, const struct call *call, struct error *e);

/* Nothing known may be shown before the sandbox was asked, even while it is offline. */
void validity_must_ask(struct validity *t);

/* The tree was invalidated. Where nothing was known there is nothing to audit. */
void validity_lost(struct validity *t);

/*
 * All leased answers come from `first`, which may still arrive, or were asked for later: there is
 * nothing to audit.
 */
void validity_began(struct validity *t, const struct tree_listing *first);

/* Notes the time that a listing took: an audit costs as much. */
void validity_note_cost(struct validity *t, int64_t cost_ms);
