/*
 * Failed ops: the sandbox refused them, or ops that they need.
 *
 * The journal notes them in three steps: all of them are marked, then noted from the last one to
 * the first, then they leave the queue. So no op is pending without its cause. After a crash in
 * between, the next mount sends the cause again, and the ops behind it never change a file of
 * others.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include "providers/base/log.h"
#include "providers/base/path.h"
#include "providers/change_words.h"

#include <stdlib.h>
#include <string.h>

/* ---- Reporting ---- */

/* A commit is not such a part: a file that is whole in staging can still be saved from there. */
static bool is_part_without_room(const struct op *q, enum err why)
{
	bool is_part = op_changes_contents(q) && q->change.op != CHANGE_PLACE;

	return is_part && (why == ERR_NO_SPACE || why == ERR_QUOTA);
}

static void remember_locked(const struct op *q, struct inode *i, const struct error *why)
{
	struct inode_ops *b = i->pending;

	b->refused_order = q->order;
	b->answered = (struct attr){ 0 };
	if (!b->for_handle)
		b->refused = *why;
	b->for_handle = b->for_barrier = true;
	b->lost_contents |=
		q->is_replacement || op_changes_contents(q) || q->change.op == CHANGE_SYMLINK;
	b->lacks_part |= is_part_without_room(q, why->kind);
}

/* The tree goes back to the sandbox's state: everything that the op touched is invalidated. */
static void invalidate_all_of(struct writeback *p, const struct op *q)
{
	struct cache *c = p->cache;

	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (q->about.scope.inodes[n]) {
			tree_invalidate(c->tree, q->about.scope.inodes[n]);
			cache_tell_inode(c, q->about.scope.inodes[n], true);
		}
}

/* Reports to the handles of the inodes that the op is about, and to the next barrier. */
static void tell_refused_locked(struct writeback *p, const struct op *q, const struct error *why)
{
	struct inode *about = q->about.target ? q->about.target : q->about.dir;

	p->refused_order = q->order;
	if (about)
		remember_locked(q, about, why);
	if (q->about.dir && q->about.dir != about)
		remember_locked(q, q->about.dir, why);
	if (q->is_inherited)
		inherited_refused_locked(p, q, why);
	invalidate_all_of(p, q);
	cache_note_lost(p->cache, q->change.path2 ? q->change.path2 : q->change.path, why);
}

/* ---- Marking ---- */

/* Deferred ops of the inode are of no use either: they are queued, and fail. */
static void lose_made(struct writeback *p, struct inode *made)
{
	writeback_release_locked(p, made);
	made->pending->is_lost = true;
	tree_refused_made(p->cache->tree, made);
}

/* Whether the file does not exist without the op. */
static bool gives_first_name(const struct op *q)
{
	return q->made || (q->change.op == CHANGE_PLACE && q->moved[0]);
}

/* Marks the ops that need the name `made`, wherever other ops move it. */
static void lose_behind(struct op *refused, const char *made)
{
	char *at = strdup(made);
	struct op *q = refused;

	while (at && (q = TAILQ_NEXT(q, link))) {
		if (!q->is_recovered)
			continue;
		q->is_lost |= op_leads_to_from(refused, q, at);
		if (!q->is_lost)
			at = op_carry(q, at);
	}
	free(at);
}

/* The inodes of an earlier mount's ops are unknown: the ops behind are found by name. */
static void lose_path(struct op *refused)
{
	/* The op behind a carrier meets the conflict itself. */
	if (!refused->is_recovered || op_carries_version(refused))
		return;
	lose_behind(refused, op_makes(refused));
	if (refused->change.op == CHANGE_RENAME && refused->change.flags & CHANGE_EXCHANGE)
		lose_behind(refused, refused->change.path);
}

static void fail_locked(struct writeback *p, struct op *q, const struct error *why)
{
	p->failed += !change_is_in_staging(&q->change);
	tell_refused_locked(p, q, why);
	if (q->about.target)
		writeback_release_locked(p, q->about.target);
	if (gives_first_name(q))
		lose_made(p, q->about.target);
	lose_path(q);
}

/*
 * The journal does not tell which op no call asked for: an op of an earlier mount that looks like
 * one counts as one.
 */
static bool is_unasked(const struct op *q)
{
	const struct change *c = &q->change;

	return q->is_unasked ||
		(q->is_recovered && c->op == CHANGE_SETATTR && c->set == SET_MTIME &&
			c->flags & CHANGE_BY_HANDLE);
}

/*
 * The directory is there without what was to be removed: others removed it, too. What stood in
 * staging never came there where that was so.
 */
static bool is_removed_already(const struct op *q, const struct change_result *r)
{
	bool removes = q->change.op == CHANGE_UNLINK || q->change.op == CHANGE_RMDIR;

	return removes && r && r->err == ERR_NOT_FOUND &&
		(r->has_parent || path_is_staged(q->change.path));
}

/*
 * Whether the refusal loses nothing: a time that no call set, of a file that is gone, replaced or
 * never made; or the removal of a name that is gone. `r`: the sandbox's answer, or NULL.
 */
static bool is_needless(const struct op *q, enum err refusal, const struct change_result *r)
{
	bool is_gone = refusal == ERR_NOT_FOUND || refusal == ERR_NOT_DIR || refusal == ERR_STALE;

	return (is_unasked(q) && (is_gone || refusal == ERR_SKIPPED)) || is_removed_already(q, r);
}

static void lose_locked(struct writeback *p, struct op *q, enum err refusal,
	const struct change_result *r, const struct error *why)
{
	q->is_needless = is_needless(q, refusal, r);
	if (q->is_needless)
		invalidate_all_of(p, q);
	else
		fail_locked(p, q, why);
}

/* The file was changed by others: the ops behind are not meant for their version. */
static void lose_followers(struct op *refused, const struct inode *i)
{
	struct op *q = refused;

	while (i && (q = TAILQ_NEXT(q, link)))
		q->is_lost |= q->about.target == i || q->moved[1] == i;
}

/* lose_followers() for ops of an earlier mount, by whatever name. */
static void lose_followers_of_file(struct op *refused, const struct expect *file)
{
	struct op *q = refused;

	while ((q = TAILQ_NEXT(q, link)))
		q->is_lost |= q->is_recovered && op_goes_on_with(q, file);
}

/* The file that was to be replaced may have other names. */
static void lose_all_followers(struct op *refused)
{
	lose_followers(refused, refused->about.target);
	lose_followers(refused, refused->moved[1]);
	if (!refused->is_recovered)
		return;
	lose_followers_of_file(refused, op_file(refused));
	lose_followers_of_file(refused, &refused->over);
}

void note_needless(const struct batch *b)
{
	for (size_t n = 0; n < b->count; n++) {
		uint32_t needs = b->changes[n].needs;
		const struct change_result *r = needs ? &b->results[needs - 1] : NULL;

		b->ops[n]->is_behind_needless = b->results[n].err == ERR_SKIPPED && r && r->err &&
			is_needless(b->ops[needs - 1], r->err, r);
	}
}

/*
 * Whether nothing before the op is reported instead. An op behind a removal that others had done,
 * too, is about the file that is gone with that.
 */
static bool is_reported(const struct op *q, enum err refusal)
{
	return !q->is_needless && (refusal != ERR_SKIPPED || q->is_behind_needless);
}

/* Why the change of this index was. */
static struct error why_of(const struct batch *b, size_t n)
{
	const struct change_result *r = &b->results[n];
	enum err kind = r->err == ERR_SKIPPED ? ERR_IO : r->err;
	struct error why = { 0 };

	if (b->why.kind && r->err != ERR_SKIPPED)
		return b->why;
	if (r->why[0])
		error_set(&why, kind, "%s", r->why);
	else
		error_set(&why, kind, "%s: %s", b->ops[n]->change.path, error_words(r->err));
	return why;
}

void refuse_locked(struct writeback *p, struct batch *b, size_t n)
{
	struct op *q = b->ops[n];
	struct error why = why_of(b, n);
	enum err refusal = b->results[n].err;

	log_debug(LOG_WRITE, "%s %s is refused: %s", change_word(q->change.op), op_path(&q->change),
		why.text);
	q->is_again = !b->why.kind && writeback_keep_both_locked(p, q, refusal, &why);
	if (q->is_again) {
		tell_refused_locked(p, q, &why);
		/*
		 * The ops behind would go to the others' file by that name. The answer for the new
		 * name will have another inode.
		 */
		lose_path(q);
		if (q->made)
			tree_refused_made(p->cache->tree, q->made);
	} else {
		lose_locked(p, q, refusal, &b->results[n], &why);
	}
	if (is_reported(q, refusal))
		p->refused = why;
	if (refusal == ERR_CONFLICT && op_carries_version(q))
		writeback_base_gone_locked(p, q);
	else if (refusal != ERR_SKIPPED && op_carries_version(q))
		writeback_base_hand_on_locked(p, q);
	else if (refusal == ERR_CONFLICT)
		lose_all_followers(q);
}

/* Whether the op cannot be applied because an earlier one was not. */
static bool is_lost(const struct writeback *p, const struct op *q)
{
	bool moves = q->change.op == CHANGE_RENAME || q->change.op == CHANGE_LINK ||
		q->change.op == CHANGE_PLACE;

	if (q->is_lost)
		return true;
	if (q->tidies)
		return false;
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		const struct inode *i = q->about.scope.inodes[n];

		if (i && i->pending->is_lost)
			return true;
	}
	const struct inode *other = op_exchanged(q);

	if (!other)
		other = batch_replaced_late(p, q);
	if (other && other->pending->lost_contents)
		return true;
	return moves && q->about.target && q->about.target->pending->lost_contents;
}

static const struct error cause_refused = { ERR_STALE, "what it needs was refused" };

static bool lose_some_locked(struct writeback *p)
{
	struct op *q;
	bool any = false;

	TAILQ_FOREACH(q, &p->queue, link)
	{
		if (q->state == OP_SENT || q->is_again || q->has_failed || !is_lost(p, q))
			continue;
		any = q->is_lost = q->has_failed = true;
		lose_locked(p, q, cause_refused.kind, NULL, &cause_refused);
	}
	return any;
}

/*
 * Fails all ops in the queue that need a failed one. The deferred ops of a failed file are queued
 * meanwhile, behind the ops that they need, and fail, too.
 */
static void lose_dependants_locked(struct writeback *p)
{
	while (lose_some_locked(p))
		;
}

/* ---- Noting in the journal ---- */

/*
 * An op that is queued again, under another name, is pending there. A needless op is not pending at
 * all.
 */
static void note(struct writeback *p, const struct op *q, const struct error *why)
{
	if (q->is_again || q->is_needless)
		op_note_done(q, p->journal, NULL);
	else
		op_note_failed(q, p->journal, why, NULL);
}

static void note_all(struct writeback *p, const struct batch *b)
{
	struct op *q;

	TAILQ_FOREACH_REVERSE(q, &p->queue, op_list, link)
	if (q->state != OP_SENT && (q->is_lost || q->is_again))
		note(p, q, &cause_refused);
	for (size_t n = b->count; n-- > 0;) {
		struct error why = b->results[n].err ? why_of(b, n) : (struct error){ 0 };

		if (why.kind)
			note(p, b->ops[n], &why);
	}
}

/* ---- Leaving ---- */

/*
 * An inode that is still provisional when its last op leaves will never be known: it is gone again
 * before an answer had it.
 */
void writeback_leave_locked(struct writeback *p, struct op *q, enum op_state end, const char *why)
{
	struct inode *i = q->about.target;

	if (i && i->pending->in_queue == 1 && !i->pending->commit &&
		tree_is_provisional(p->cache->tree, i))
		lose_made(p, i);
	writeback_remove_locked(p, q, end, why);
}

/*
 * Contents that were refused in part, as on a full disk, leave a file in staging that never gets a
 * name. The file would go on taking room.
 */
static void tidy_locked(struct writeback *p, const struct op *commit)
{
	struct inode *i = commit->about.target;
	const struct change_about about = { .scope.inodes = { i } };
	const struct change removal = { .op = CHANGE_UNLINK, .path = commit->change.path };
	struct op *q;

	if (writeback_add_locked(p, &removal, &about, &q, NULL))
		return;
	q->is_unasked = q->tidies = true;
}

static bool leaves_part(const struct op *q)
{
	const struct inode *i = q->about.target;

	return q->change.op == CHANGE_PLACE && !q->is_again && !q->is_recovered && i &&
		i->pending->lacks_part;
}

static void leave_refused_locked(struct writeback *p, struct op *q)
{
	if (leaves_part(q))
		tidy_locked(p, q);
	if (q->is_again)
		writeback_leave_locked(p, q, OP_CONFLICT, "queued again for a free name");
	else
		writeback_leave_locked(
			p, q, OP_REFUSED, q->is_lost ? cause_refused.text : "answered");
}

void refused_leave_locked(struct writeback *p, const struct batch *b)
{
	lose_dependants_locked(p);
	note_all(p, b);
	for (size_t n = 0; n < b->count; n++)
		if (b->results[n].err)
			leave_refused_locked(p, b->ops[n]);
	for (struct op *q = TAILQ_FIRST(&p->queue), *next; q; q = next) {
		next = TAILQ_NEXT(q, link);
		if (q->state != OP_SENT && (q->is_lost || q->is_again))
			leave_refused_locked(p, q);
	}
}

void refused_again_locked(struct writeback *p, struct op *q)
{
	static const struct batch none;

	q->is_again = true;
	lose_path(q);
	refused_leave_locked(p, &none);
}
