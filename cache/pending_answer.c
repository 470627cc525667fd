/* What the sandbox answered to a batch, brought into the tree. */
#include "cache/pending_inside.h"

#include "cache/cache_inside.h"
#include "cache/fault.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>

/* ---- Done ---- */

static bool is_after(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Of contents that were sent beside each other either may be answered first: the latest state counts. */
static void adopt(struct pending *p, struct queued *q, struct inode *i, const struct attr *attr)
{
	struct attr *latest = &i->backlog->answered;
	struct cache *c = p->cache;

	if (!attr) {
		*latest = (struct attr){ 0 };
		tree_doubt(c->tree, i);
		return;
	}
	cache_note_clock(c, &attr->ctime);
	if (latest->ino != attr->ino || !is_after(latest->ctime, attr->ctime))
		*latest = *attr;
	tree_answered(c->tree, &q->about.scope, i, latest, cache_attr_until(c));
}

/* The attributes of directory `dir`, whichever of the two places of the result they stand in. */
static const struct attr *attr_of_dir(
	struct pending *p, struct inode *dir, const struct change_result *r)
{
	struct expect x = tree_expect(p->cache->tree, dir);

	if (r->has_parent && r->parent.ino == x.ino && r->parent.dev == x.dev)
		return &r->parent;
	if (r->has_parent2 && r->parent2.ino == x.ino && r->parent2.dev == x.dev)
		return &r->parent2;
	return NULL;
}

/* Somebody in the sandbox appended before us: what the kernel has cached of the end is not the end. */
static void check_landing(struct pending *p, const struct queued *q, const struct change_result *r)
{
	if (q->change.op == CHANGE_APPEND && r->offset != q->change.offset)
		cache_tell_inode(p->cache, q->about.target, true);
}

/* Whether it took the last name, so that there is nothing left to tell of. */
static bool is_gone_by(struct pending *p, const struct queued *q)
{
	struct attr attr;

	if (!queued_removes(q) || q->change.path2)
		return false;
	tree_attr(p->cache->tree, q->about.target, &attr);
	return q->change.op == CHANGE_RMDIR || !attr.nlink;
}

/* Over what was there, or from one file system to another, it is not the inode that it was in staging. */
static void check_placed(struct pending *p, const struct queued *q, const struct change_result *r)
{
	if (q->change.op == CHANGE_PLACE && q->moved[0] && r->has_attr)
		tree_placed(p->cache->tree, q->moved[0], &r->attr);
}

static void done_locked(struct pending *p, struct queued *q, const struct change_result *r)
{
	const struct change_about *about = &q->about;

	if (q->is_beside)
		return;
	check_landing(p, q, r);
	check_placed(p, q, r);
	if (about->target && (r->has_attr || !is_gone_by(p, q)))
		adopt(p, q, about->target, r->has_attr ? &r->attr : NULL);
	if (about->dir)
		adopt(p, q, about->dir, attr_of_dir(p, about->dir, r));
	if (about->dir2 && about->dir2 != about->dir)
		adopt(p, q, about->dir2, attr_of_dir(p, about->dir2, r));
	/* Of what a rename replaced nothing is told, and it may have other names. */
	if (q->change.op == CHANGE_RENAME && about->scope.inodes[3])
		adopt(p, q, about->scope.inodes[3], NULL);
}

/* ---- Refused ---- */

static void remember_locked(const struct queued *q, struct inode *i, const struct error *why)
{
	struct backlog *b = i->backlog;

	b->refused_order = q->order;
	b->answered = (struct attr){ 0 };
	if (!b->for_handle)
		b->refused = *why;
	b->for_handle = b->for_barrier = true;
	b->lost_contents |= q->is_beside || queued_changes_contents(q);
}

/* The tree goes back to what the sandbox has: nothing of what the change touched is believed. */
static void doubt_all_of(struct pending *p, const struct queued *q)
{
	struct cache *c = p->cache;

	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (q->about.scope.inodes[n]) {
			tree_doubt(c->tree, q->about.scope.inodes[n]);
			cache_tell_inode(c, q->about.scope.inodes[n], true);
		}
}

/* What it was made for is of no use either. */
static void lose_made(struct pending *p, struct inode *made)
{
	pending_release_locked(p, made);
	made->backlog->is_lost = true;
	tree_refused_made(p->cache->tree, made);
}

/* Without it there is no such file. */
static bool gives_first_name(const struct queued *q)
{
	return q->made || (q->change.op == CHANGE_PLACE && q->moved[0]);
}

/* Who asks for what it is about, and the next barrier. */
static void tell_refused_locked(struct pending *p, const struct queued *q, const struct error *why)
{
	struct inode *about = q->about.target ? q->about.target : q->about.dir;

	p->refused_order = q->order;
	if (about)
		remember_locked(q, about, why);
	if (q->about.dir && q->about.dir != about)
		remember_locked(q, q->about.dir, why);
	doubt_all_of(p, q);
	cache_note_lost(p->cache, q->change.path2 ? q->change.path2 : q->change.path, why);
}

/* `is_cause`: not by a refusal before it, which is what is reported. */
static void park_locked(struct pending *p, struct queued *q, const struct error *why, bool is_cause)
{
	queued_note_parked(q, p->journal, why, NULL);
	p->parked++;
	if (is_cause)
		p->refused = *why;
	tell_refused_locked(p, q, why);
	if (q->about.target)
		pending_release_locked(p, q->about.target);
	if (gives_first_name(q))
		lose_made(p, q->about.target);
	if (q->is_recovered)
		queued_lose_path(q);
}

/* Whether it cannot be done since something before it was not. */
static bool is_lost(const struct pending *p, const struct queued *q)
{
	bool moves = q->change.op == CHANGE_RENAME || q->change.op == CHANGE_LINK ||
		q->change.op == CHANGE_PLACE;

	if (q->is_lost)
		return true;
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		const struct inode *i = q->about.scope.inodes[n];

		if (i && i->backlog->is_lost)
			return true;
	}
	const struct inode *other = queued_exchanged(q);

	if (!other)
		other = batch_replaced_late(p, q);
	if (other && other->backlog->lost_contents)
		return true;
	return moves && q->about.target && q->about.target->backlog->lost_contents;
}

/* It leaves the queue. What was made and is gone again before an answer told of it will never be known. */
static void leave_locked(struct pending *p, struct queued *q)
{
	struct inode *i = q->about.target;

	if (i && i->backlog->owes == 1 && !i->backlog->place &&
		tree_is_provisional(p->cache->tree, i))
		lose_made(p, i);
	pending_remove_locked(p, q);
}

/* What waits in the queue for something that will never be there. */
static void park_lost_locked(struct pending *p)
{
	const struct error why = { ERR_STALE, "what it needs was refused" };

	for (struct queued *q = TAILQ_FIRST(&p->queue), *next; q; q = next) {
		next = TAILQ_NEXT(q, link);
		if (q->is_sent || !is_lost(p, q))
			continue;
		park_locked(p, q, &why, false);
		leave_locked(p, q);
	}
}

/* Others were at the file: what was to follow is not for what they made of it. */
static void lose_followers(struct queued *refused)
{
	const struct inode *i = refused->about.target;
	struct queued *q = refused;

	while (i && (q = TAILQ_NEXT(q, link)))
		q->is_lost |= q->about.target == i || q->moved[1] == i;
}

static void refused_locked(struct pending *p, struct queued *q, const struct change_result *r)
{
	enum err kind = r->err == ERR_SKIPPED ? ERR_IO : r->err;
	struct error why = { 0 };

	if (r->why[0])
		error_set(&why, kind, "%s", r->why);
	else
		error_set(&why, kind, "%s: %s", q->change.path, error_words(r->err));
	if (pending_keep_both_locked(p, q, r->err, &why))
		tell_refused_locked(p, q, &why);
	else
		park_locked(p, q, &why, r->err != ERR_SKIPPED);
	if (r->err == ERR_CONFLICT)
		lose_followers(q);
}

/* ---- The batch ---- */

static bool is_short(const struct queued *q, const struct change_result *r)
{
	const struct change *c = &q->change;
	uint64_t wanted = queued_has_contents(q) ? c->data_len
		: c->op == CHANGE_COPY           ? c->length
						 : 0;

	return !r->err && r->count < wanted;
}

/* A write that the sandbox did not do whole was refused. */
static void refuse_short(struct batch *b)
{
	for (size_t n = 0; n < b->count; n++)
		if (is_short(b->queued[n], &b->results[n])) {
			b->results[n].err = ERR_NO_SPACE;
			b->results[n].why[0] = 0;
		}
}

/* The journal owes it no more. One record for all; without memory one for each. */
static void note_done_locked(struct pending *p, const struct batch *b)
{
	size_t count;
	AUTO_FREE uint64_t *numbers = batch_numbers(b, &count);

	for (size_t n = 0; n < b->count && !numbers; n++)
		if (!b->results[n].err)
			queued_note_done(b->queued[n], p->journal, NULL);
	if (count)
		journal_note_done(p->journal, numbers, count, NULL);
}

static bool answer_locked(struct pending *p, struct queued *q, const struct change_result *r)
{
	bool is_done = !r->err;

	if (is_done)
		done_locked(p, q, r);
	else
		refused_locked(p, q, r);
	leave_locked(p, q);
	return is_done;
}

static void end_locked(struct pending *p, const struct batch *b)
{
	p->answers++;
	p->under_way--;
	if (b->first_sequence)
		p->recorded_under_way = false;
	pthread_cond_broadcast(&p->changed);
}

/* The sandbox has done it, and the journal does not know. */
static void pass_answered(const struct batch *b)
{
	fault_point("pending.answered");
	if (!b->first_sequence)
		fault_point("pending.answered.plain");
	for (size_t n = 0; n < b->count; n++)
		if (b->queued[n]->change.op == CHANGE_PLACE)
			fault_point("pending.placed");
}

void batch_answered_locked(struct pending *p, struct batch *b)
{
	bool all = true;

	refuse_short(b);
	pass_answered(b);
	note_done_locked(p, b);
	for (size_t n = 0; n < b->count; n++)
		all &= answer_locked(p, b->queued[n], &b->results[n]);
	if (!all)
		park_lost_locked(p);
	pending_base_next_locked(p);
	end_locked(p, b);
}

void batch_refused_locked(struct pending *p, struct batch *b, const struct error *e)
{
	for (size_t n = 0; n < b->count; n++) {
		park_locked(p, b->queued[n], e, true);
		leave_locked(p, b->queued[n]);
	}
	park_lost_locked(p);
	end_locked(p, b);
}

/* ---- Damaged ---- */

/* As the sandbox does where it refuses one: what needs it is skipped, and so on. */
static void skip_what_needs_damaged(struct batch *b)
{
	b->results[b->damaged - 1].err = ERR_IO;
	for (size_t n = b->damaged; n < b->count; n++) {
		uint32_t needs = b->changes[n].needs;

		if (needs && b->results[needs - 1].err)
			b->results[n].err = ERR_SKIPPED;
	}
}

static void put_back_locked(struct pending *p, struct queued *q)
{
	q->is_sent = false;
	p->sent--;
	if (queued_has_contents(q))
		p->unsent_bytes += q->change.data_len;
}

void batch_damaged_locked(struct pending *p, struct batch *b, const struct error *e)
{
	skip_what_needs_damaged(b);
	park_locked(p, b->queued[b->damaged - 1], e, true);
	leave_locked(p, b->queued[b->damaged - 1]);
	for (size_t n = 0; n < b->count; n++) {
		if (!b->results[n].err)
			put_back_locked(p, b->queued[n]);
		else if (n + 1 != b->damaged)
			answer_locked(p, b->queued[n], &b->results[n]);
	}
	park_lost_locked(p);
	end_locked(p, b);
}
