/* Answers: the results of a batch are brought into the tree. */
#include "cache/write/writeback_inside.h"

#include "cache/blocks/block_store.h"
#include "cache/blocks/shown.h"
#include "cache/session/fault.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/remote.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Done ---- */

/*
 * Parallel batches may be answered in any order, and the latest state counts. Where both changed a
 * directory within one tick of its clock, the latest state is unknown.
 */
static void note_answered(
	const struct writeback *p, const struct op *q, struct inode_ops *b, const struct attr *attr)
{
	struct attr *latest = &b->answered;
	bool is_same = latest->ino == attr->ino;
	bool is_parallel = b->answered_of != q->left_by && q->left_by <= b->answered_at;

	if (is_same && time_is_after(latest->ctime, attr->ctime))
		return;
	b->is_answer_unsure = S_ISDIR(attr->mode) && is_same &&
		time_equals(latest->ctime, attr->ctime) && (is_parallel || b->is_answer_unsure);
	*latest = *attr;
	b->answered_of = q->left_by;
	b->answered_at = p->sweeps;
}

/* The answer has no attributes of `i`, and the time of the change only roughly. */
static void adopt_unknown(struct writeback *p, struct inode *i, struct timespec ctime)
{
	i->pending->answered = (struct attr){ 0 };
	tree_confirm_unknown(p->cache->tree, i, ctime);
}

/* Roughly the time of the change: the ctime of the moved file, or of a directory. */
static struct timespec rough_ctime(const struct change_result *r)
{
	static const struct timespec unknown;

	return r->has_attr ? r->attr.ctime : r->has_parent ? r->parent.ctime : unknown;
}

static void adopt(struct writeback *p, struct op *q, struct inode *i, const struct attr *attr)
{
	struct attr *latest = &i->pending->answered;
	struct cache *c = p->cache;

	cache_note_clock(c, &attr->ctime);
	note_answered(p, q, i->pending, attr);
	tree_confirm(c->tree, &q->about.scope, i, latest,
		i->pending->is_answer_unsure ? 0 : cache_attr_until(c));
}

/*
 * For a change that was applied at an earlier attempt. The file may have been changed by others
 * since, so the next op is checked against the version that this change left, or that later ops
 * left.
 */
static void adopt_again(
	struct writeback *p, struct op *q, struct inode *i, const struct change_result *r)
{
	const struct attr before = i->pending->answered;
	struct attr left = r->attr;

	adopt(p, q, i, &r->attr);
	left.size = r->left.size;
	left.mtime = r->left.mtime;
	left.ctime = r->left.ctime;
	if (before.ino == left.ino && time_is_after(before.ctime, left.ctime))
		left = before;
	i->pending->answered = left.ctime.tv_sec ? left : (struct attr){ 0 };
}

/* The attributes of directory `dir`, from either place in the result. */
static const struct attr *attr_of_dir(
	struct writeback *p, struct inode *dir, const struct change_result *r)
{
	struct expect x = tree_expect(p->cache->tree, dir);

	if (r->has_parent && r->parent.ino == x.ino && r->parent.dev == x.dev)
		return &r->parent;
	if (r->has_parent2 && r->parent2.ino == x.ino && r->parent2.dev == x.dev)
		return &r->parent2;
	return NULL;
}

static void adopt_dir(
	struct writeback *p, struct op *q, struct inode *dir, const struct change_result *r)
{
	const struct attr *attr = attr_of_dir(p, dir, r);

	if (attr)
		adopt(p, q, dir, attr);
	else
		adopt_unknown(p, dir, rough_ctime(r));
}

/* Another program appended before this mount did: the kernel's cached end of the file is wrong. */
static void check_landing(struct writeback *p, const struct op *q, const struct change_result *r)
{
	if (q->change.op == CHANGE_APPEND && r->offset != q->change.offset)
		cache_tell_inode(p->cache, q->about.target, true);
}

/* Whether the op took the last name, so that the answer has no attributes. */
static bool is_gone_by(struct writeback *p, const struct op *q)
{
	struct attr attr;

	if (!op_removes(q) || q->change.path2)
		return false;
	tree_attr(p->cache->tree, q->about.target, &attr);
	return q->change.op == CHANGE_RMDIR || !attr.nlink;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_version(const struct version *a, const struct version *b)
{
	return a->size == b->size && is_same_time(a->mtime, b->mtime) &&
		is_same_time(a->ctime, b->ctime);
}

/* Whether the change met the version known here. */
static bool meets_known(const struct inode *i, const struct change_result *r)
{
	bool is_first = !i->pending->answered.ctime.tv_sec;
	struct version known = is_first ? i->pending->shown : version_shown(&i->pending->answered);

	return is_same_version(&known, &r->before);
}

/* The kernel's pages stay with the file, unless it had other contents than those known here. */
static void check_met(struct writeback *p, const struct op *q, const struct change_result *r)
{
	struct inode *i = q->about.target;

	if (i && !op_has_contents(q) && r->before.ctime.tv_sec && !meets_known(i, r))
		tree_drop_pages(p->cache->tree, i);
}

/*
 * After a commit the file may have another inode than in staging: the commit copies from one file
 * system to another, or goes over an existing file. A file that was made empty here has another
 * inode than it had at first.
 */
static void check_placed(struct writeback *p, const struct op *q, const struct change_result *r)
{
	bool is_of_staging = q->change.op == CHANGE_PLACE && q->moved[0];

	if ((is_of_staging || op_replaces_made(q)) && r->has_attr)
		tree_rebind(p->cache->tree, q->about.target, &r->attr);
}

/*
 * A file of several names that the change copied up from a lower layer is another inode now. Where
 * the change was one of names alone, its version tells that it was the same file until then.
 */
static void check_copied(struct writeback *p, const struct op *q, const struct change *sent,
	const struct change_result *r)
{
	struct inode *i = q->about.target;
	struct change expecting = *sent;

	if (!i || tree_is_provisional(p->cache->tree, i))
		return;
	if (!sent->target.ino && !op_has_contents(q) && r->before.ctime.tv_sec &&
		meets_known(i, r) && tree_may_be_copied_up(p->cache->tree, i))
		expecting.target = tree_expect_replaced(p->cache->tree, i);
	remote_check_copied(p->cache, i, &expecting, r);
}

/*
 * For a removal that was applied at an earlier attempt: the answer has no attributes. The file may
 * have names that later ops take away, so that the tree shows none. The next op is checked against
 * the version that the removal left.
 */
static void adopt_removed_again(struct writeback *p, struct op *q, const struct change_result *r)
{
	struct inode *i = q->about.target;
	struct attr *latest = &i->pending->answered;

	if (!is_gone_by(p, q))
		tree_invalidate(p->cache->tree, i);
	if (!r->left.ctime.tv_sec)
		*latest = (struct attr){ 0 };
	if (!time_is_after(r->left.ctime, latest->ctime))
		return;
	latest->size = r->left.size;
	latest->mtime = r->left.mtime;
	latest->ctime = r->left.ctime;
}

/*
 * The directory existed already, with entries of others that are not known here. For a change that
 * was applied at an earlier attempt, the answer does not tell whether the directory existed.
 */
static void check_taken(struct writeback *p, const struct op *q, const struct change_result *r)
{
	bool may_be_theirs = r->count || r->was_over;

	if (q->change.op == CHANGE_MKDIR && q->made && may_be_theirs)
		tree_taken(p->cache->tree, q->made);
}

/*
 * For the inode that a rename took a name from; it may have others. The answer has at most its
 * version.
 */
static void adopt_over(struct writeback *p, struct inode *i, const struct change_result *r)
{
	struct attr *latest = &i->pending->answered;
	bool has_over = r->over.ctime.tv_sec;

	adopt_unknown(p, i, has_over ? r->over.ctime : rough_ctime(r));
	if (!has_over)
		return;
	tree_attr(p->cache->tree, i, latest);
	latest->size = r->over.size;
	latest->mtime = r->over.mtime;
	latest->ctime = r->over.ctime;
}

/* ---- Contents ---- */

static bool is_write(const struct change *c)
{
	return c->op == CHANGE_WRITE || c->op == CHANGE_APPEND;
}

static bool brings_all(const struct change *c, const struct attr *attr)
{
	bool is_from_the_start = c->op == CHANGE_WRITE && !c->offset;

	return (is_from_the_start || c->flags & CHANGE_MAKES) && c->data_len == attr->size;
}

static void keep_all(struct block_store *s, const struct change *c, const struct attr *attr)
{
	block_store_keep(s, attr, 0, c->data, c->data_len);
	block_store_note_name(s, path_name(c->path2 ? c->path2 : c->path), attr->size);
}

/* Stores the effect of the change on the contents of the version that it met. */
static void keep_changed(
	struct block_store *s, const struct change *c, const struct change_result *r)
{
	bool moves = c->op == CHANGE_RENAME || c->op == CHANGE_PLACE;
	struct block_store_change change = { .path = c->path,
		.path2 = moves ? c->path2 : c->path,
		.met = r->before,
		.left = r->attr,
		.offset = c->op == CHANGE_APPEND ? r->offset : c->offset,
		.bytes = c->data,
		.len = c->data_len };
	bool is_untouched = r->before.size == r->attr.size &&
		(c->set & SET_MTIME || time_equals(r->before.mtime, r->attr.mtime));

	if (is_write(c))
		block_store_keep_written(s, &change);
	else if (is_untouched)
		block_store_keep_as(s, &change);
}

/*
 * Stores contents that were written here, so that later reads need no request: under the version in
 * the answer, and under the next version where an op leaves the contents alone. No other program
 * can have written to the file in between: the version is stable, or the file is in staging.
 */
static void keep_contents(
	struct writeback *p, const struct change *c, const struct change_result *r)
{
	struct block_store *s = p->cache->block_store;
	bool is_stable = tree_stable_by_times(&r->attr);
	bool is_staged = path_is_staged(c->path2 ? c->path2 : c->path);

	if (r->err || !r->has_attr || r->was_over || !(is_stable || is_staged))
		return;
	if (brings_all(c, &r->attr) && !is_staged)
		keep_all(s, c, &r->attr);
	else if (r->before.ctime.tv_sec && (!is_write(c) || r->count == c->data_len))
		keep_changed(s, c, r);
}

/*
 * Whether other contents left in parallel: the version in the answer is then not of this change
 * alone.
 */
static bool left_in_parallel(struct writeback *p, const struct op *q)
{
	const struct inode *i = q->about.target;

	pthread_mutex_lock(&p->lock);
	bool is_parallel = i && i->pending && i->pending->has_parallel_parts;

	pthread_mutex_unlock(&p->lock);
	return is_parallel;
}

void batch_keep_contents(struct writeback *p, const struct batch *b)
{
	for (size_t n = 0; n < b->count; n++)
		if (!is_write(&b->changes[n]) || !left_in_parallel(p, b->ops[n]))
			keep_contents(p, &b->changes[n], &b->results[n]);
}

/* ---- Attributes ---- */

/* Notes the text of a link that an earlier mount made: the tree does not have it. */
static void note_recovered_link(
	struct writeback *p, const struct op *q, const struct change_result *r)
{
	const struct change *c = &q->change;
	AUTO_FREE char *text =
		c->op == CHANGE_SYMLINK && r->has_attr ? strndup(c->data, c->data_len) : NULL;

	if (text)
		shown_note_link(p->cache->shown, &r->attr, c->path, text);
}

static void done_locked(
	struct writeback *p, struct op *q, const struct change *sent, const struct change_result *r)
{
	const struct change_about *about = &q->about;

	writeback_base_moved_locked(p, q, r);
	if (q->is_recovered) {
		writeback_base_recovered_locked(p, q, r);
		note_recovered_link(p, q, r);
	}
	if (q->is_replacement)
		return;
	check_landing(p, q, r);
	check_met(p, q, r);
	check_placed(p, q, r);
	check_copied(p, q, sent, r);
	if (about->target && r->has_attr && r->was_over)
		adopt_again(p, q, about->target, r);
	else if (about->target && op_removes(q) && r->was_over)
		adopt_removed_again(p, q, r);
	else if (about->target && r->has_attr)
		adopt(p, q, about->target, &r->attr);
	else if (about->target && !is_gone_by(p, q))
		adopt_unknown(p, about->target, rough_ctime(r));
	check_taken(p, q, r);
	if (about->dir)
		adopt_dir(p, q, about->dir, r);
	if (about->dir2 && about->dir2 != about->dir)
		adopt_dir(p, q, about->dir2, r);
	if (q->change.op == CHANGE_RENAME && about->scope.inodes[3])
		adopt_over(p, about->scope.inodes[3], r);
}

/* ---- The batch ---- */

static bool is_short(const struct op *q, const struct change_result *r)
{
	const struct change *c = &q->change;
	uint64_t wanted = op_has_contents(q) ? c->data_len : c->op == CHANGE_COPY ? c->length : 0;

	return !r->err && r->count < wanted;
}

/* A write that the sandbox applied only in part counts as refused. */
static void refuse_short(struct batch *b)
{
	for (size_t n = 0; n < b->count; n++)
		if (is_short(b->ops[n], &b->results[n])) {
			b->results[n].err = ERR_NO_SPACE;
			b->results[n].why[0] = 0;
		}
}

void batch_end_locked(struct writeback *p, const struct batch *b)
{
	writeback_end_recovery_locked(p);
	p->answers++;
	p->under_way--;
	if (b->is_aside)
		p->aside_under_way = false;
	else if (b->first_sequence)
		p->recorded_under_way = false;
	pthread_cond_broadcast(&p->changed);
}

/*
 * At this point the sandbox has applied the changes, and the journal does not have the answers yet.
 */
static void pass_answered(const struct batch *b)
{
	fault_point("pending.answered");
	if (!b->first_sequence)
		fault_point("pending.answered.plain");
	for (size_t n = 0; n < b->count; n++)
		if (b->ops[n]->change.op == CHANGE_PLACE)
			fault_point("pending.placed");
}

void batch_put_back_locked(struct writeback *p, struct op *q)
{
	op_becomes(q, q->outcome_unknown ? OP_UNKNOWN : OP_QUEUED, "put back");
	p->sent--;
	if (op_has_contents(q))
		p->unsent_bytes += q->change.data_len;
}

/*
 * Attributes are set and files moved whatever others did to the file. The ops that go on with its
 * contents are not.
 */
static bool is_to_leave_without_version(const struct batch *b, size_t n)
{
	const struct op *q = b->ops[n];
	bool moves = op_moves_file(q) && b->changes[n].version.ctime.tv_sec;

	return b->results[n].err == ERR_CONFLICT && !q->sequence &&
		(moves || op_carries_version(q));
}

/* Whether attributes were refused. Ops on the contents of the file do not need these. */
static bool lacks_attributes(const struct batch *b, size_t n)
{
	enum err err = b->results[n].err;

	return op_sets_attributes(b->ops[n]) && err && err != ERR_SKIPPED;
}

/*
 * A change stays refused under its number. So an op with a number of an earlier mount does not
 * leave again.
 */
static bool is_to_leave_again(const struct batch *b, size_t n)
{
	const struct op *q = b->ops[n];
	uint32_t needs = b->changes[n].needs;

	if (q->sequence)
		return false;
	if (b->results[n].err == ERR_SKIPPED)
		return needs &&
			(b->ops[needs - 1]->state != OP_SENT || lacks_attributes(b, needs - 1));
	return is_to_leave_without_version(b, n) ||
		(b->results[n].err == ERR_CONFLICT && q->is_verified);
}

static void hand_on_locked(struct writeback *p, struct op *q)
{
	/*
	 * Without this the op would get the version of the last answer again, be refused for it
	 * again, and so on.
	 */
	writeback_base_overtaken_locked(p, q);
	if (q->is_recovered)
		return;
	tree_invalidate(p->cache->tree, q->about.target);
	cache_tell_inode(p->cache, q->about.target, true);
}

/*
 * Takes ops that leave again out of the batch: contents that were refused but found in the file,
 * ops that only carried the version, and ops that were skipped because of these.
 */
static void put_back_again_locked(struct writeback *p, struct batch *b)
{
	size_t kept = 0;

	for (size_t n = 0; n < b->count; n++) {
		if (!is_to_leave_again(b, n))
			continue;
		if (b->ops[n]->is_verified)
			b->ops[n]->change.version = (struct version){ 0 };
		op_note_sent(b->ops[n], p->journal, NULL);
		batch_put_back_locked(p, b->ops[n]);
	}
	for (size_t n = 0; n < b->count; n++) {
		if (b->ops[n]->state != OP_SENT) {
			if (is_to_leave_without_version(b, n))
				hand_on_locked(p, b->ops[n]);
			continue;
		}
		b->ops[kept] = b->ops[n];
		b->changes[kept] = b->changes[n];
		b->results[kept++] = b->results[n];
	}
	b->count = kept;
}

/* Used without memory for one record of all. */
static void note_each_done(struct writeback *p, const struct batch *b)
{
	for (size_t n = 0; n < b->count; n++)
		if (!b->results[n].err)
			op_note_done(b->ops[n], p->journal, NULL);
}

/*
 * The journal notes the versions of the next ops before it notes that this batch is done. In the
 * other order a crash in between would lose them.
 */
void batch_answered_locked(struct writeback *p, struct batch *b)
{
	bool all = true;
	size_t count;

	refuse_short(b);
	pass_answered(b);
	note_needless(b);
	put_back_again_locked(p, b);
	AUTO_FREE uint64_t *numbers = batch_numbers(b, &count);

	if (!numbers)
		note_each_done(p, b);
	for (size_t n = 0; n < b->count; n++) {
		struct op *q = b->ops[n];

		if (b->results[n].err) {
			refuse_locked(p, b, n);
			all = false;
			continue;
		}
		done_locked(p, q, &b->changes[n], &b->results[n]);
		writeback_leave_locked(p, q, OP_DONE, "answered");
	}
	if (!all)
		refused_leave_locked(p, b);
	writeback_base_next_locked(p);
	if (count)
		journal_note_done(p->journal, numbers, count, NULL);
	batch_end_locked(p, b);
}

void batch_refused_locked(struct writeback *p, struct batch *b, const struct error *e)
{
	b->why = *e;
	for (size_t n = 0; n < b->count; n++) {
		b->results[n].err = e->kind;
		refuse_locked(p, b, n);
	}
	refused_leave_locked(p, b);
	batch_end_locked(p, b);
}

/* ---- Damaged ---- */

/* Skips ops as the sandbox does after a refusal: each op that needs a refused or skipped one. */
static void skip_what_needs_damaged(struct batch *b)
{
	b->results[b->damaged - 1].err = ERR_IO;
	for (size_t n = b->damaged; n < b->count; n++) {
		uint32_t needs = b->changes[n].needs;

		if (needs && b->results[needs - 1].err)
			b->results[n].err = ERR_SKIPPED;
	}
}

void batch_damaged_locked(struct writeback *p, struct batch *b, const struct error *e)
{
	b->why = *e;
	skip_what_needs_damaged(b);
	for (size_t n = 0; n < b->count; n++) {
		if (b->results[n].err)
			refuse_locked(p, b, n);
		else
			batch_put_back_locked(p, b->ops[n]);
	}
	refused_leave_locked(p, b);
	batch_end_locked(p, b);
}
