/* The queue of ops, and the ops of each inode. */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/session/wait.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include <stdlib.h>
#include <sys/stat.h>

/* ---- The ops of an inode ---- */

struct inode_ops *inode_ops_of_locked(struct writeback *p, struct inode *i)
{
	struct inode_ops *b = i->pending;

	if (b)
		return b;
	b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->inode = i;
	i->pending = b;
	tree_pin(p->cache->tree, i);
	TAILQ_INSERT_TAIL(&p->all_inode_ops, b, link);
	return b;
}

void inode_ops_rest_locked(struct writeback *p, struct inode_ops *b)
{
	if (b->in_queue || b->deferred || b->waiters || b->for_handle)
		return;
	TAILQ_REMOVE(&p->all_inode_ops, b, link);
	b->inode->pending = NULL;
	tree_unpin(p->cache->tree, b->inode);
	base_drop_locked(b);
	free(b);
}

enum err inode_ops_report_locked(struct inode_ops *b, struct error *e)
{
	if (!b || !b->for_handle)
		return ERR_OK;
	b->for_handle = b->for_barrier = b->lost_contents = b->lacks_part = false;
	return error_set(e, b->refused.kind, "%s", b->refused.text);
}

/* ---- In and out ---- */

static bool touch(struct writeback *p, struct op *q)
{
	struct inode *const *inodes = q->about.scope.inodes;

	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode_ops *b = inodes[n] ? inode_ops_of_locked(p, inodes[n]) : NULL;

		if (inodes[n] && !b)
			return false;
	}
	return true;
}

static void rest_all(struct writeback *p, const struct op *q)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];

		if (i && i->pending)
			inode_ops_rest_locked(p, i->pending);
	}
}

static bool stands_before(const struct op *q, int place)
{
	const struct inode *i = q->about.scope.inodes[place];

	for (int n = 0; n < place; n++)
		if (q->about.scope.inodes[n] == i)
			return true;
	return false;
}

static bool copies_from(const struct op *q, const struct inode *i)
{
	return q->change.op == CHANGE_COPY && q->about.target != i;
}

bool writeback_leaves_alone_locked(const struct inode *i)
{
	return !i->pending || i->pending->in_queue == i->pending->copied;
}

static void take_inodes_locked(struct writeback *p, struct op *q)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];

		if (!i || stands_before(q, n))
			continue;
		if (i == q->about.target && writeback_leaves_alone_locked(i)) {
			i->pending->shown = writeback_version_locked(p, i);
			base_note_locked(p, i);
		}
		i->pending->in_queue++;
		i->pending->last = q;
		if (copies_from(q, i)) {
			i->pending->copied++;
			i->pending->copied_as = q->change.version;
		}
	}
}

void writeback_enter_locked(struct writeback *p, struct op *q)
{
	bool was_whole = writeback_is_whole(p);

	q->order = ++p->orders;
	q->since_ms = p->last_ms = monotonic_ms();
	op_becomes(q, OP_QUEUED, q->state == OP_DEFERRED ? "released" : "made");
	TAILQ_INSERT_TAIL(&p->queue, q, link);
	p->changes++;
	if (op_has_contents(q)) {
		p->bytes += q->change.data_len;
		p->unsent_bytes += q->change.data_len;
	}
	p->cost += op_cost(q);
	take_inodes_locked(p, q);
	if (op_replaces_made(q))
		tree_mark_unsynced(p->cache->tree, q->about.target, 1);
	if (!q->about.scope.has_local_effect) {
		q->about.scope.has_local_effect = true;
		tree_change_begins(p->cache->tree, &q->about.scope);
	}
	if (!p->is_scheduled || (writeback_is_whole(p) && !was_whole))
		senders_wake_locked(p);
}

/*
 * While offline, a question had no answer, not an attempt: the op counts as made before a failure.
 */
uint64_t writeback_failures_locked(const struct writeback *p)
{
	return p->failures - tree_is_offline(p->cache->tree);
}

enum err writeback_prepare_locked(struct writeback *p, const struct change *change,
	const struct change_about *about, struct op **out, struct error *e)
{
	struct op *q = op_new(change);
	struct journal_extent where;
	enum err kind = ERR_OK;

	if (!q)
		return error_set(e, ERR_NO_MEMORY, "a change");
	q->about = *about;
	if (!touch(p, q))
		kind = error_set(e, ERR_NO_MEMORY, "a change");
	if (!kind)
		kind = journal_add(p->journal, change, &q->number, &where, e);
	if (!kind && op_has_contents(q) && !op_add_piece(q, &where, q->number, change->offset)) {
		journal_note_done(p->journal, &q->number, 1, NULL);
		kind = error_set(e, ERR_NO_MEMORY, "a change");
	}
	if (kind) {
		rest_all(p, q);
		op_free(q);
		return kind;
	}
	q->failures = writeback_failures_locked(p);
	*out = q;
	return ERR_OK;
}

enum err writeback_add_locked(struct writeback *p, const struct change *change,
	const struct change_about *about, struct op **out, struct error *e)
{
	enum err kind = writeback_prepare_locked(p, change, about, out, e);

	if (!kind)
		writeback_enter_locked(p, *out);
	return kind;
}

enum err writeback_touch_locked(struct writeback *p, struct op *q, struct inode *i, struct error *e)
{
	struct inode_ops *b = inode_ops_of_locked(p, i);

	if (!b)
		return error_set(e, ERR_NO_MEMORY, "a change");
	tree_change_touches(p->cache->tree, &q->about.scope, i);
	b->in_queue++;
	b->last = q;
	return ERR_OK;
}

static void let_inodes_go_locked(struct writeback *p, struct op *q)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];

		if (!i || stands_before(q, n))
			continue;
		i->pending->in_queue--;
		i->pending->copied -= copies_from(q, i);
		base_drop_locked(i->pending);
		i->pending->has_parallel_parts &= i->pending->in_queue > 0;
		if (!i->pending->in_queue && !i->pending->deferred)
			i->pending->answered = (struct attr){ 0 };
		if (i->pending->last == q)
			i->pending->last = NULL;
		if (i->pending->maker == q)
			i->pending->maker = NULL;
	}
	for (int n = 0; n < 2; n++)
		if (q->moved[n])
			tree_mark_unsynced(p->cache->tree, q->moved[n], -1);
}

bool writeback_bind_locked(struct writeback *p, struct op *q, const struct change_about *about)
{
	q->about = *about;
	if (!touch(p, q)) {
		rest_all(p, q);
		q->about = (struct change_about){ 0 };
		return false;
	}
	take_inodes_locked(p, q);
	q->about.scope.has_local_effect = true;
	tree_change_begins(p->cache->tree, &q->about.scope);
	return true;
}

void writeback_unbind_locked(struct writeback *p, struct op *q)
{
	let_inodes_go_locked(p, q);
	rest_all(p, q);
	tree_change_ends(p->cache->tree, &q->about.scope);
	q->about = (struct change_about){ 0 };
	q->made = q->moved[0] = q->moved[1] = NULL;
}

void writeback_remove_locked(struct writeback *p, struct op *q, enum op_state end, const char *why)
{
	bool was_sent = q->state == OP_SENT;

	op_becomes(q, end, why);
	TAILQ_REMOVE(&p->queue, q, link);
	p->changes--;
	p->cost -= op_cost(q);
	p->sent -= was_sent;
	if (op_has_contents(q))
		p->bytes -= q->change.data_len;
	if (op_has_contents(q) && !was_sent)
		p->unsent_bytes -= q->change.data_len;
	let_inodes_go_locked(p, q);
	if (op_replaces_made(q)) {
		tree_mark_unsynced(p->cache->tree, q->about.target, -1);
		tree_replacing(p->cache->tree, q->about.target, -1);
	}
	rest_all(p, q);
	tree_change_ends(p->cache->tree, &q->about.scope);
	writeback_leave_named_locked(q);
	op_free(q);
}

struct version version_shown(const struct attr *attr)
{
	return (struct version){ .size = attr->size, .mtime = attr->mtime, .ctime = attr->ctime };
}

struct version writeback_version_locked(struct writeback *p, struct inode *i)
{
	struct attr attr;
	bool is_known = tree_attr(p->cache->tree, i, &attr) > monotonic_ms() ||
		tree_attr_is_from_sandbox(p->cache->tree, i);

	if (!writeback_leaves_alone_locked(i) || writeback_recovered_changes_locked(p, i))
		return (struct version){ 0 };
	if (i->pending && i->pending->copied)
		return i->pending->copied_as;
	return is_known ? version_shown(&attr) : (struct version){ 0 };
}

struct version writeback_version_of_file_locked(struct writeback *p, struct inode *i)
{
	struct attr attr;

	tree_attr(p->cache->tree, i, &attr);
	return S_ISREG(attr.mode) ? writeback_version_locked(p, i) : (struct version){ 0 };
}

/* ---- Room ---- */

/* The most that an entry takes in the journal beside its contents: its paths. */
#define ROOM_SPARE ((uint64_t)64 * 1024)

/*
 * Kept free for entries without contents, and for a file that is queued again under another name:
 * its contents are noted once more.
 */
static uint64_t spare(const struct writeback *p)
{
	uint64_t part = p->journal_max / 8;

	return ROOM_SPARE + (part < OP_CONTENTS_MAX ? part : OP_CONTENTS_MAX);
}

bool writeback_has_room_locked(const struct writeback *p, size_t len)
{
	uint64_t entries, bytes, failed;

	journal_usage(p->journal, &entries, &bytes, &failed);
	return TAILQ_EMPTY(&p->queue) ||
		(bytes + len + spare(p) <= p->journal_max && p->cost < WRITEBACK_COST_MAX);
}

/*
 * Whether the full journal cannot be sent: the sandbox is out of reach, not only busy for a moment.
 */
static bool is_stuck(const struct writeback *p)
{
	return p->cache->options.full_fails && cache_is_of_the_call(p->failure.kind);
}

static enum err wait_for_room_locked(
	struct writeback *p, size_t len, struct progress_deadline *w, struct error *e)
{
	if (!writeback_has_room_locked(p, len) && is_stuck(p))
		return error_set(e, ERR_NO_SPACE, "the journal is full: %s", p->failure.text);
	return progress_deadline_wait_locked(p, w, e);
}

enum err writeback_room_locked(
	struct writeback *p, const struct call *call, size_t len, struct error *e)
{
	struct progress_deadline w = progress_deadline_of(p, call);
	enum err kind = ERR_OK;

	if (!writeback_has_room_locked(p, len))
		senders_wake_locked(p);
	while (!kind && (p->moves || !writeback_has_room_locked(p, len)))
		kind = wait_for_room_locked(p, len, &w, e);
	return kind;
}

enum err writeback_still_locked(struct writeback *p, const struct call *call, struct error *e)
{
	struct progress_deadline w = progress_deadline_of(p, call);
	enum err kind = ERR_OK;

	while (!kind && p->moves)
		kind = progress_deadline_wait_locked(p, &w, e);
	return kind;
}

void writeback_move_begins(struct writeback *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->moves++;
	pthread_mutex_unlock(&p->lock);
}

void writeback_move_ends(struct writeback *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->moves--;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}
