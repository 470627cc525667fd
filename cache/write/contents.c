/* What is written to a file, into the queue. */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

static void foresee_locked(
	struct pending *p, struct inode *i, const struct change *change, struct timespec now)
{
	struct tree_foresight f = { .now = now, .is_forgotten = true };
	struct attr attr;

	tree_attr(p->cache->tree, i, &attr);
	f.begin = change->op == CHANGE_APPEND ? attr.size : change->offset;
	f.end = change->data_len ? f.begin + change->data_len : 0;
	tree_foresee(p->cache->tree, i, &f);
}

/* Written into the youngest change of the file, if that is one it can go on in. */
static enum err extend_locked(struct pending *p, struct backlog *b, const struct change *change,
	bool *extended, struct error *e)
{
	struct queued *last = b ? b->last : NULL;
	struct journal_extent where;
	uint64_t number;

	*extended = last && queued_may_extend(last, change->op, change->offset, change->data_len);
	if (!*extended)
		return ERR_OK;
	size_t before = last->change.data_len, cost = queued_cost(last);
	enum err kind = journal_add(p->journal, change, &number, &where, e);

	if (!kind && !queued_add_piece(last, &where, number, change->offset)) {
		journal_note_done(p->journal, &number, 1, NULL);
		kind = error_set(e, ERR_NO_MEMORY, "a write of %zu bytes", change->data_len);
	}
	if (!kind)
		queued_take_time(last, change);
	p->cost += queued_cost(last) - cost;
	p->bytes += last->change.data_len - before;
	p->unsent_bytes += last->change.data_len - before;
	p->last_ms = monotonic_ms();
	if (last->change.data_len >= PENDING_MOUTHFUL) {
		last->is_lazy = false;
		senders_wake_locked(p);
	}
	return kind;
}

static enum err queue_write_locked(
	struct pending *p, struct inode *i, struct change *change, struct error *e)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct queued *q;
	bool extended = false, is_beside;
	const char *staged = pending_staged_path_locked(p, i, 0, &is_beside);
	enum err kind = tree_path(p->cache->tree, i, NULL, &path, e);

	change->path = staged ? staged : path.text;
	if (!staged) {
		change->target = tree_expect(p->cache->tree, i);
		change->version = pending_version_locked(p, i);
	}
	if (!kind)
		kind = extend_locked(p, i->backlog, change, &extended, e);
	if (!kind && staged)
		pending_staged_more_locked(i, change->data_len);
	if (kind || extended)
		return kind;
	kind = pending_add_locked(p, change, &about, &q, e);
	if (!kind) {
		q->is_beside = is_beside;
		q->is_lazy = staged && change->data_len < PENDING_MOUTHFUL;
	}
	return kind;
}

static enum err write_locked(struct pending *p, const struct call *call, struct inode *i,
	struct change *change, struct error *e)
{
	enum err kind = backlog_report_locked(i->backlog, e);

	if (!kind)
		kind = pending_room_locked(p, call, change->data_len, e);
	if (!kind && i->backlog && i->backlog->is_lost)
		kind = error_set(e, ERR_STALE, "the sandbox did not take the file");
	struct timespec now = pending_stamp_locked(p, i, change);

	if (!kind)
		kind = queue_write_locked(p, i, change, e);
	if (!kind)
		foresee_locked(p, i, change, now);
	if (i->backlog)
		backlog_rest_locked(p, i->backlog);
	return kind;
}

enum err pending_write(struct pending *p, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, const void *bytes, size_t len, struct error *e)
{
	struct change change = { .op = op,
		.flags = CHANGE_BY_HANDLE,
		.offset = offset,
		.data = bytes,
		.data_len = len };

	pthread_mutex_lock(&p->lock);
	enum err kind = write_locked(p, call, i, &change, e);

	pthread_mutex_unlock(&p->lock);
	return kind;
}
