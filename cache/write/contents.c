/* Writes: the contents go into the queue. */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

void writeback_show_contents_locked(
	struct writeback *p, struct inode *i, const struct change *change, struct timespec now)
{
	struct tree_local_effect f = { .now = now, .is_forgotten = true };
	struct attr attr;

	tree_attr(p->cache->tree, i, &attr);
	f.begin = change->op == CHANGE_APPEND ? attr.size : change->offset;
	f.end = change->data_len ? f.begin + change->data_len : 0;
	tree_apply_local(p->cache->tree, i, &f);
}

/* Adds the write to the youngest op of the file, if that op can take it. */
static enum err extend_locked(struct writeback *p, struct inode_ops *b, const struct change *change,
	bool *extended, struct error *e)
{
	struct op *last = b ? b->last : NULL;
	struct journal_extent where;
	uint64_t number;

	*extended = last && op_may_extend(last, change->op, change->offset, change->data_len);
	if (!*extended)
		return ERR_OK;
	size_t before = last->change.data_len, cost = op_cost(last);
	enum err kind = journal_add(p->journal, change, &number, &where, e);

	if (!kind && !op_add_piece(last, &where, number, change->offset)) {
		journal_note_done(p->journal, &number, 1, NULL);
		kind = error_set(e, ERR_NO_MEMORY, "a write of %zu bytes", change->data_len);
	}
	if (!kind)
		op_take_time(last, change);
	p->cost += op_cost(last) - cost;
	p->bytes += last->change.data_len - before;
	p->unsent_bytes += last->change.data_len - before;
	p->last_ms = monotonic_ms();
	if (last->change.data_len >= WRITEBACK_WRITE_MAX) {
		last->may_wait = false;
		senders_wake_locked(p);
	}
	return kind;
}

static enum err queue_write_locked(
	struct writeback *p, struct inode *i, struct change *change, struct error *e)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct op *q;
	bool extended = false, is_replacement;
	const char *staged = writeback_staged_path_locked(p, i, 0, &is_replacement);
	enum err kind = tree_path(p->cache->tree, i, NULL, &path, e);

	change->path = staged ? staged : path.text;
	if (!staged) {
		change->target = tree_expect(p->cache->tree, i);
		change->version = writeback_version_locked(p, i);
	}
	if (!kind)
		kind = extend_locked(p, i->pending, change, &extended, e);
	if (!kind && staged)
		writeback_staged_more_locked(i, change->data_len);
	if (kind || extended)
		return kind;
	kind = writeback_add_locked(p, change, &about, &q, e);
	if (!kind) {
		q->is_replacement = is_replacement;
		q->may_wait = staged && change->data_len < WRITEBACK_WRITE_MAX;
	}
	return kind;
}

static enum err write_locked(struct writeback *p, const struct call *call, struct inode *i,
	struct change *change, struct error *e)
{
	enum err kind = inode_ops_report_locked(i->pending, e);

	if (!kind)
		kind = writeback_room_locked(p, call, change->data_len, e);
	if (!kind && i->pending && i->pending->is_lost)
		kind = error_set(e, ERR_STALE, "the sandbox did not take the file");
	struct timespec now = writeback_stamp_locked(p, i, change);

	if (!kind)
		kind = queue_write_locked(p, i, change, e);
	if (!kind)
		writeback_show_contents_locked(p, i, change, now);
	if (i->pending)
		inode_ops_rest_locked(p, i->pending);
	return kind;
}

enum err writeback_write(struct writeback *p, const struct call *call, struct inode *i,
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
