/* The queue of what is pending, and what each inode owes in it. */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/session/wait.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include <stdlib.h>
#include <sys/stat.h>

/* ---- What an inode owes ---- */

struct backlog *backlog_of_locked(struct pending *p, struct inode *i)
{
	struct backlog *b = i->backlog;

	if (b)
		return b;
	b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->inode = i;
	i->backlog = b;
	tree_pin(p->cache->tree, i);
	TAILQ_INSERT_TAIL(&p->backlogs, b, link);
	return b;
}

void backlog_rest_locked(struct pending *p, struct backlog *b)
{
	if (b->owes || b->held || b->waiters || b->for_handle)
		return;
	TAILQ_REMOVE(&p->backlogs, b, link);
	b->inode->backlog = NULL;
	tree_unpin(p->cache->tree, b->inode);
	base_drop_locked(b);
	free(b);
}

enum err backlog_report_locked(struct backlog *b, struct error *e)
{
	if (!b || !b->for_handle)
		return ERR_OK;
	b->for_handle = b->for_barrier = b->lost_contents = b->lacks_part = false;
	return error_set(e, b->refused.kind, "%s", b->refused.text);
}

/* ---- In and out ---- */

static bool touch(struct pending *p, struct queued *q)
{
	struct inode *const *inodes = q->about.scope.inodes;

	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct backlog *b = inodes[n] ? backlog_of_locked(p, inodes[n]) : NULL;

		if (inodes[n] && !b)
			return false;
	}
	return true;
}

static void rest_all(struct pending *p, const struct queued *q)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];

		if (i && i->backlog)
			backlog_rest_locked(p, i->backlog);
	}
}

static bool stands_before(const struct queued *q, int place)
{
	const struct inode *i = q->about.scope.inodes[place];

	for (int n = 0; n < place; n++)
		if (q->about.scope.inodes[n] == i)
			return true;
	return false;
}

static bool copies_from(const struct queued *q, const struct inode *i)
{
	return q->change.op == CHANGE_COPY && q->about.target != i;
}

bool pending_leaves_alone_locked(const struct inode *i)
{
	return !i->backlog || i->backlog->owes == i->backlog->copied;
}

void pending_enter_locked(struct pending *p, struct queued *q)
{
	bool was_whole = pending_is_whole(p);

	q->order = ++p->orders;
	q->since_ms = p->last_ms = monotonic_ms();
	op_becomes(q, OP_QUEUED, q->state == OP_DEFERRED ? "released" : "made");
	TAILQ_INSERT_TAIL(&p->queue, q, link);
	p->changes++;
	if (queued_has_contents(q)) {
		p->bytes += q->change.data_len;
		p->unsent_bytes += q->change.data_len;
	}
	p->cost += queued_cost(q);
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];

		if (!i || stands_before(q, n))
			continue;
		if (i == q->about.target && pending_leaves_alone_locked(i)) {
			i->backlog->shown = pending_version_locked(p, i);
			base_note_locked(p, i);
		}
		i->backlog->owes++;
		i->backlog->last = q;
		if (copies_from(q, i)) {
			i->backlog->copied++;
			i->backlog->copied_as = q->change.version;
		}
	}
	if (queued_replaces_made(q))
		tree_owe_name(p->cache->tree, q->about.target, 1);
	if (!q->about.scope.is_foreseen) {
		q->about.scope.is_foreseen = true;
		tree_change_begins(p->cache->tree, &q->about.scope);
	}
	if (!p->is_scheduled || (pending_is_whole(p) && !was_whole))
		senders_wake_locked(p);
}

/* That nobody answered was found out by a question, not by an attempt. */
uint64_t pending_failures_locked(const struct pending *p)
{
	return p->failures - tree_is_unheard(p->cache->tree);
}

enum err pending_prepare_locked(struct pending *p, const struct change *change,
	const struct change_about *about, struct queued **out, struct error *e)
{
	struct queued *q = queued_new(change);
	struct journal_extent where;
	enum err kind = ERR_OK;

	if (!q)
		return error_set(e, ERR_NO_MEMORY, "a change");
	q->about = *about;
	if (!touch(p, q))
		kind = error_set(e, ERR_NO_MEMORY, "a change");
	if (!kind)
		kind = journal_add(p->journal, change, &q->number, &where, e);
	if (!kind && queued_has_contents(q) &&
		!queued_add_piece(q, &where, q->number, change->offset)) {
		journal_note_done(p->journal, &q->number, 1, NULL);
		kind = error_set(e, ERR_NO_MEMORY, "a change");
	}
	if (kind) {
		rest_all(p, q);
		queued_free(q);
		return kind;
	}
	q->failures = pending_failures_locked(p);
	*out = q;
	return ERR_OK;
}

enum err pending_add_locked(struct pending *p, const struct change *change,
	const struct change_about *about, struct queued **out, struct error *e)
{
	enum err kind = pending_prepare_locked(p, change, about, out, e);

	if (!kind)
		pending_enter_locked(p, *out);
	return kind;
}

enum err pending_touch_locked(struct pending *p, struct queued *q, struct inode *i, struct error *e)
{
	struct backlog *b = backlog_of_locked(p, i);

	if (!b)
		return error_set(e, ERR_NO_MEMORY, "a change");
	tree_change_touches(p->cache->tree, &q->about.scope, i);
	b->owes++;
	b->last = q;
	return ERR_OK;
}

void pending_remove_locked(struct pending *p, struct queued *q, enum op_state end, const char *why)
{
	bool was_sent = q->state == OP_SENT;

	op_becomes(q, end, why);
	TAILQ_REMOVE(&p->queue, q, link);
	p->changes--;
	p->cost -= queued_cost(q);
	p->sent -= was_sent;
	if (queued_has_contents(q))
		p->bytes -= q->change.data_len;
	if (queued_has_contents(q) && !was_sent)
		p->unsent_bytes -= q->change.data_len;
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];

		if (!i || stands_before(q, n))
			continue;
		i->backlog->owes--;
		i->backlog->copied -= copies_from(q, i);
		base_drop_locked(i->backlog);
		i->backlog->goes_beside &= i->backlog->owes > 0;
		if (!i->backlog->owes && !i->backlog->held)
			i->backlog->answered = (struct attr){ 0 };
		if (i->backlog->last == q)
			i->backlog->last = NULL;
		if (i->backlog->maker == q)
			i->backlog->maker = NULL;
	}
	for (int n = 0; n < 2; n++)
		if (q->moved[n])
			tree_owe_name(p->cache->tree, q->moved[n], -1);
	if (queued_replaces_made(q)) {
		tree_owe_name(p->cache->tree, q->about.target, -1);
		tree_replacing(p->cache->tree, q->about.target, -1);
	}
	rest_all(p, q);
	tree_change_ends(p->cache->tree, &q->about.scope);
	pending_leave_named_locked(q);
	queued_free(q);
}

struct version version_shown(const struct attr *attr)
{
	return (struct version){ .size = attr->size, .mtime = attr->mtime, .ctime = attr->ctime };
}

struct version pending_version_locked(struct pending *p, struct inode *i)
{
	struct attr attr;
	int64_t now_ms = monotonic_ms();
	bool is_known = tree_attr(p->cache->tree, i, &attr) > now_ms ||
		tree_attr_in_doubt(p->cache->tree, i, now_ms);

	if (!pending_leaves_alone_locked(i) || pending_recovered_changes_locked(p, i))
		return (struct version){ 0 };
	if (i->backlog && i->backlog->copied)
		return i->backlog->copied_as;
	return is_known ? version_shown(&attr) : (struct version){ 0 };
}

struct version pending_version_of_file_locked(struct pending *p, struct inode *i)
{
	struct attr attr;

	tree_attr(p->cache->tree, i, &attr);
	return S_ISREG(attr.mode) ? pending_version_locked(p, i) : (struct version){ 0 };
}

/* ---- Room ---- */

/* What an entry takes in the journal beside its contents: its paths, at most. */
#define ROOM_SPARE ((uint64_t)64 * 1024)

/* Kept free for that, and for a file that goes to another name, of which the contents are noted once more. */
static uint64_t spare(const struct pending *p)
{
	uint64_t part = p->journal_max / 8;

	return ROOM_SPARE + (part < QUEUED_CONTENTS_MAX ? part : QUEUED_CONTENTS_MAX);
}

bool pending_has_room_locked(const struct pending *p, size_t len)
{
	uint64_t entries, bytes, parked;

	journal_usage(p->journal, &entries, &bytes, &parked);
	return TAILQ_EMPTY(&p->queue) ||
		(bytes + len + spare(p) <= p->journal_max && p->cost < PENDING_COST_MAX);
}

/* Of what it has nothing is sent: the sandbox is out of reach, and not only busy for a moment. */
static bool is_stuck(const struct pending *p)
{
	return p->cache->options.full_fails && cache_is_of_the_call(p->failure.kind);
}

static enum err wait_for_room_locked(
	struct pending *p, size_t len, struct patience *w, struct error *e)
{
	if (!pending_has_room_locked(p, len) && is_stuck(p))
		return error_set(e, ERR_NO_SPACE, "the journal is full: %s", p->failure.text);
	return patience_wait_locked(p, w, e);
}

enum err pending_room_locked(
	struct pending *p, const struct call *call, size_t len, struct error *e)
{
	struct patience w = patience_of(p, call);
	enum err kind = ERR_OK;

	if (!pending_has_room_locked(p, len))
		senders_wake_locked(p);
	while (!kind && (p->moves || !pending_has_room_locked(p, len)))
		kind = wait_for_room_locked(p, len, &w, e);
	return kind;
}

enum err pending_still_locked(struct pending *p, const struct call *call, struct error *e)
{
	struct patience w = patience_of(p, call);
	enum err kind = ERR_OK;

	while (!kind && p->moves)
		kind = patience_wait_locked(p, &w, e);
	return kind;
}

void pending_move_begins(struct pending *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->moves++;
	pthread_mutex_unlock(&p->lock);
}

void pending_move_ends(struct pending *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->moves--;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}
