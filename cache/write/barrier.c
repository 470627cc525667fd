/* Barriers: calls that wait for pending ops. */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/session/wait.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

/* ---- Waiting ---- */

struct progress_deadline progress_deadline_of(const struct writeback *p, const struct call *call)
{
	return (struct progress_deadline){ .call = call,
		.since_ms = call_since_ms(call),
		.answers = p->answers,
		.failures = p->failures,
		.attempts = p->attempts,
		.retry_end_ms = monotonic_ms() + p->pause_ms };
}

/* While a call waits, attempts follow each other sooner. */
static enum err wait_noticed_locked(struct writeback *p, const struct call *call, struct error *e)
{
	p->waiting++;
	enum err kind = wait_briefly_locked(&p->changed, &p->lock, call, e);

	p->waiting--;
	return kind;
}

/*
 * A sandbox that was gone may be back. The wait asks for a new attempt, and waits for it if it is
 * quick.
 */
static bool is_gone_locked(struct writeback *p, const struct progress_deadline *w)
{
	if (p->failure.kind != ERR_GONE)
		return false;
	if (p->failed_attempt > w->attempts || monotonic_ms() >= w->retry_end_ms)
		return true;
	if (p->disregarded < w->attempts) {
		p->disregarded = w->attempts;
		pthread_cond_broadcast(&p->changed);
	}
	return false;
}

/*
 * Bytes that batches under way move are progress only while no attempt fails: a repeated attempt is
 * none.
 */
static int64_t last_moved_ms_locked(const struct writeback *p, const struct progress_deadline *w)
{
	if (p->answers != w->answers)
		return monotonic_ms();
	return p->failures == w->failures ? p->moved.moved_ms : 0;
}

static void note_progress_locked(const struct writeback *p, struct progress_deadline *w)
{
	int64_t moved_ms = last_moved_ms_locked(p, w);

	w->answers = p->answers;
	call_moved_at(w->call, moved_ms);
	if (moved_ms > w->since_ms)
		w->since_ms = moved_ms;
}

static bool has_time(const struct progress_deadline *w)
{
	int64_t limit_ms = call_progress_ms(w->call);

	return limit_ms < 0 || monotonic_ms() < w->since_ms + limit_ms;
}

enum err progress_deadline_wait_locked(
	struct writeback *p, struct progress_deadline *w, struct error *e)
{
	note_progress_locked(p, w);
	if (is_gone_locked(p, w))
		return error_set(e, ERR_GONE, "%s", p->failure.text);
	if (has_time(w)) {
		enum err kind = wait_noticed_locked(p, w->call, e);

		/* The answer that ends the wait is progress, too: the call goes on from there. */
		note_progress_locked(p, w);
		return kind;
	}
	if (p->failure.kind)
		return error_set(e, p->failure.kind, "%s", p->failure.text);
	return error_set(e, ERR_TIMEOUT, "pending changes: no progress for %lld s",
		(long long)call_progress_ms(w->call) / 1000);
}

/* ---- Urgent ops ---- */

/* Whether a younger op that is wanted touches one of the inodes. */
static bool is_needed(const struct op *q, uint64_t sweep)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		const struct inode *i = q->about.scope.inodes[n];

		if (i && i->pending->sweep == sweep)
			return true;
	}
	return false;
}

static void mark(const struct op *q, uint64_t sweep)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];

		if (i)
			i->pending->sweep = sweep;
	}
}

/* The most changes of a small save. */
#define SMALL_COUNT_MAX 64

/* The changes of a save, the youngest first. */
struct save {
	struct op *all[SMALL_COUNT_MAX];
	size_t count;
	uint64_t load;
};

static bool is_needed_by(const struct op *q, const struct save *s, uint64_t sweep)
{
	if (!is_needed(q, sweep))
		return false;
	for (size_t n = 0; n < s->count; n++)
		if (op_is_bound_to(s->all[n], q))
			return true;
	return false;
}

/* Bytes that the op moves over the link, or in the sandbox, which may take as long. */
static uint64_t bytes_moved(const struct op *q)
{
	if (q->change.op == CHANGE_COPY)
		return q->change.length;
	return op_has_contents(q) ? q->change.data_len : 0;
}

/* false: the save is not small, or a barrier op comes before it. */
static bool save_add(struct save *s, struct op *q)
{
	s->load += writeback_load(1, bytes_moved(q));
	if (s->count == SMALL_COUNT_MAX || s->load > WRITEBACK_SMALL_MAX)
		return false;
	s->all[s->count++] = q;
	return true;
}

/*
 * Makes the ops of `i`, and those that they need, a small save, where these are few of all that is
 * pending.
 */
static void expedite_small_locked(struct writeback *p, const struct inode *i)
{
	uint64_t sweep = ++p->sweeps;
	struct save save = { 0 };
	struct op *q;

	if (writeback_load(p->changes, p->bytes) <= WRITEBACK_SMALL_MAX)
		return;
	TAILQ_FOREACH_REVERSE(q, &p->queue, op_list, link)
	{
		if (q->is_barrier && save.count)
			return;
		if (!op_touches(q, i) && !is_needed_by(q, &save, sweep))
			continue;
		if (q->is_barrier || !save_add(&save, q))
			return;
		mark(q, sweep);
	}
	for (size_t n = 0; n < save.count; n++)
		save.all[n]->is_small_save = true;
}

/* Sends the ops that touch `i`, and those that they need, before others. */
static void expedite_locked(struct writeback *p, const struct inode *i)
{
	uint64_t sweep = ++p->sweeps;
	bool is_behind_barrier = false;
	struct op *q;

	TAILQ_FOREACH_REVERSE(q, &p->queue, op_list, link)
	{
		if (!is_behind_barrier && !op_touches(q, i) && !is_needed(q, sweep))
			continue;
		is_behind_barrier |= q->is_barrier;
		q->is_urgent = true;
		mark(q, sweep);
	}
	expedite_small_locked(p, i);
	senders_wake_locked(p);
}

static void expedite_all_locked(struct writeback *p)
{
	struct op *q;

	TAILQ_FOREACH(q, &p->queue, link)
	q->is_urgent = true;
	senders_wake_locked(p);
}

/* The order of the oldest op that touches `i`. */
static uint64_t first_unsynced_locked(const struct writeback *p, const struct inode *i)
{
	const struct op *q;

	TAILQ_FOREACH(q, &p->queue, link)
	if (op_touches(q, i))
		return q->order;
	return UINT64_MAX;
}

/*
 * Returns when no op that touches the inode and was queued before the call is left. `b` stays
 * meanwhile.
 */
static enum err wait_until_applied_locked(
	struct writeback *p, struct inode_ops *b, const struct call *call, struct error *e)
{
	struct progress_deadline w = progress_deadline_of(p, call);
	uint64_t last = p->orders;
	enum err kind = ERR_OK;

	expedite_locked(p, b->inode);
	b->waiters++;
	while (!kind && b->in_queue && first_unsynced_locked(p, b->inode) <= last)
		kind = progress_deadline_wait_locked(p, &w, e);
	b->waiters--;
	return kind;
}

/* Every barrier comes after the ops of an earlier mount. */
static enum err await_recovered_locked(
	struct writeback *p, const struct call *call, struct error *e)
{
	struct progress_deadline w = progress_deadline_of(p, call);
	enum err kind = ERR_OK;

	while (!kind && writeback_has_recovered_locked(p))
		kind = progress_deadline_wait_locked(p, &w, e);
	return kind;
}

enum err writeback_await_replay(struct writeback *p, const struct call *call, struct error *e)
{
	if (!p || atomic_load(&p->is_replayed))
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = await_recovered_locked(p, call, e);

	atomic_store(&p->is_replayed, !kind);
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* ---- Barriers ---- */

enum err writeback_drain(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e)
{
	enum err kind = ERR_OK;

	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	kind = await_recovered_locked(p, call, e);
	writeback_release_locked(p, i);
	if (!kind && i->pending && i->pending->in_queue) {
		kind = wait_until_applied_locked(p, i->pending, call, e);
		inode_ops_rest_locked(p, i->pending);
	}
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* Drains from the lowest inode up. Directories on the path may move again meanwhile. */
static enum err drain_unsynced(struct writeback *p, const struct call *call, struct inode *i,
	struct inode *(*find)(struct tree *t, struct inode *i), struct error *e)
{
	enum err kind = ERR_OK;
	struct inode *unsynced;

	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	kind = await_recovered_locked(p, call, e);
	pthread_mutex_unlock(&p->lock);
	while (!kind && (unsynced = find(p->cache->tree, i))) {
		kind = writeback_drain(p, call, unsynced, e);
		/*
		 * An inode that was made and removed again before it left never arrives. With
		 * writeback_drain_paths() `i` may still arrive under another name.
		 */
		if (!kind &&
			tree_is_gone(p->cache->tree, find == tree_unsynced_on_path ? unsynced : i))
			kind = error_set(e, ERR_STALE, "it was removed");
		tree_unpin(p->cache->tree, unsynced);
	}
	return kind;
}

enum err writeback_drain_path(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e)
{
	return drain_unsynced(p, call, i, tree_unsynced_on_path, e);
}

enum err writeback_drain_paths(
	struct writeback *p, const struct call *call, struct inode *i, struct error *e)
{
	return drain_unsynced(p, call, i, tree_unsynced_on_paths, e);
}

static enum err add_sync_locked(struct writeback *p, struct inode *i, struct error *e)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct change change = { .op = CHANGE_SYNC, .flags = CHANGE_BY_HANDLE };
	struct op *q;
	enum err kind = tree_path(p->cache->tree, i, NULL, &path, e);

	change.path = path.text;
	return kind ? kind : writeback_add_locked(p, &change, &about, &q, e);
}

static enum err flush_locked(struct writeback *p, struct inode_ops *b, const struct call *call,
	bool sync, bool *synced, struct error *e)
{
	uint64_t from = first_unsynced_locked(p, b->inode);
	enum err kind = ERR_OK;

	*synced = sync && from != UINT64_MAX;
	if (*synced)
		kind = add_sync_locked(p, b->inode, e);
	if (!kind)
		kind = wait_until_applied_locked(p, b, call, e);
	/*
	 * Another call may have reported the failure, but this one asks about these very changes.
	 */
	if (!kind && b->refused_order >= from)
		b->for_handle = true;
	return kind ? kind : inode_ops_report_locked(b, e);
}

enum err writeback_flush(struct writeback *p, const struct call *call, struct inode *i, bool sync,
	bool *synced, struct error *e)
{
	enum err kind = ERR_OK;

	*synced = false;
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	kind = await_recovered_locked(p, call, e);
	if (!kind && sync)
		kind = writeback_still_locked(p, call, e);
	writeback_release_locked(p, i);
	if (!kind)
		inherited_find_locked(p, i);
	if (!kind && i->pending) {
		kind = flush_locked(p, i->pending, call, sync, synced, e);
		inode_ops_rest_locked(p, i->pending);
	}
	pthread_mutex_unlock(&p->lock);
	return kind;
}

enum err writeback_refusal(struct writeback *p, struct inode *i, struct error *e)
{
	enum err kind = ERR_OK;

	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	if (i->pending && i->pending->for_handle)
		kind = error_set(e, i->pending->refused.kind, "%s", i->pending->refused.text);
	pthread_mutex_unlock(&p->lock);
	return kind;
}

enum err writeback_report(struct writeback *p, struct inode *i, struct error *e)
{
	enum err kind = ERR_OK;

	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	inherited_find_locked(p, i);
	if (i->pending) {
		kind = inode_ops_report_locked(i->pending, e);
		inode_ops_rest_locked(p, i->pending);
	}
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* Reports a failure since the change `from`, else one that no barrier has reported. */
static enum err report_all_locked(struct writeback *p, uint64_t from, struct error *e)
{
	enum err kind = ERR_OK;
	struct inode_ops *next;

	enum err inherited = inherited_report_locked(p, e);

	if (p->refused_order >= from)
		kind = error_set(e, p->refused.kind, "%s", p->refused.text);
	else
		kind = inherited;
	for (struct inode_ops *b = TAILQ_FIRST(&p->all_inode_ops); b; b = next) {
		next = TAILQ_NEXT(b, link);
		if (b->for_barrier && !kind)
			kind = error_set(e, b->refused.kind, "%s", b->refused.text);
		b->for_barrier = false;
		/*
		 * A file without names and handles has no handle left that will report the failure.
		 */
		b->for_handle = b->for_handle && tree_may_be_read(p->cache->tree, b->inode);
		inode_ops_rest_locked(p, b);
	}
	return kind;
}

static uint64_t first_order_locked(const struct writeback *p)
{
	const struct op *first = TAILQ_FIRST(&p->queue);

	return first ? first->order : UINT64_MAX;
}

static enum err drain_all_locked(struct writeback *p, const struct call *call, struct error *e)
{
	/* Ops that are bound meanwhile get new orders. */
	enum err kind = await_recovered_locked(p, call, e);
	struct progress_deadline w = progress_deadline_of(p, call);
	uint64_t last = p->orders;

	expedite_all_locked(p);
	while (!kind && first_order_locked(p) <= last)
		kind = progress_deadline_wait_locked(p, &w, e);
	return kind;
}

enum err writeback_trouble(struct writeback *p, struct error *e)
{
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind =
		p->failure.kind ? error_set(e, p->failure.kind, "%s", p->failure.text) : ERR_OK;

	p->looked_ms = monotonic_ms();
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* Drains the queue, after let_go_locked() has queued some or all deferred ops. */
static enum err drain_with(struct writeback *p, void (*let_go_locked)(struct writeback *p),
	const struct call *call, struct error *e)
{
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	let_go_locked(p);
	enum err kind = drain_all_locked(p, call, e);

	pthread_mutex_unlock(&p->lock);
	return kind;
}

static void let_nothing_go(struct writeback *p)
{
	(void)p;
}

enum err writeback_drain_queue(struct writeback *p, const struct call *call, struct error *e)
{
	return drain_with(p, let_nothing_go, call, e);
}

enum err writeback_drain_to_audit(struct writeback *p, const struct call *call, struct error *e)
{
	return drain_with(p, writeback_release_unsure_locked, call, e);
}

enum err writeback_drain_all_quietly(struct writeback *p, const struct call *call, struct error *e)
{
	return drain_with(p, writeback_release_all_locked, call, e);
}

enum err writeback_drain_all(struct writeback *p, const struct call *call, struct error *e)
{
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	writeback_release_all_locked(p);
	writeback_keep_open_times_locked(p);
	writeback_keep_late_times_locked(p);
	uint64_t from = first_order_locked(p);
	enum err kind = drain_all_locked(p, call, e);

	if (!kind)
		kind = report_all_locked(p, from, e);
	pthread_mutex_unlock(&p->lock);
	return kind;
}
