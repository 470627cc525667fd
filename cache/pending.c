#include "cache/pending_inside.h"

#include "cache/cache_inside.h"
#include "cache/wait.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <stdlib.h>

/* ---- Life ---- */

enum err pending_new(struct pending **out, struct cache *c, struct error *e)
{
	AUTO_FREE struct pending *p = calloc(1, sizeof *p);

	if (!p)
		return error_set(e, ERR_NO_MEMORY, "cache");
	enum err kind = cancel_init(&p->cancel, e);

	if (kind)
		return kind;
	p->cache = c;
	TAILQ_INIT(&p->backlogs);
	pthread_mutex_init(&p->lock, NULL);
	wait_init(&p->changed);
	pthread_mutex_lock(&p->lock);
	senders_wake_locked(p);
	bool has_sender = p->senders_count > 0;

	pthread_mutex_unlock(&p->lock);
	if (!has_sender) {
		cancel_release(&p->cancel);
		return error_set(e, ERR_NO_MEMORY, "a thread for sending writes");
	}
	*out = take(p);
	return ERR_OK;
}

static struct backlog *backlog_new_locked(struct pending *p, struct inode *i)
{
	struct backlog *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	b->inode = i;
	pieces_init(&b->gathered);
	for (size_t n = 0; n < PENDING_BATCHES_MAX; n++)
		pieces_init(&b->sending[n].pieces);
	i->backlog = b;
	tree_pin(p->cache->tree, i);
	TAILQ_INSERT_TAIL(&p->backlogs, b, link);
	return b;
}

static void backlog_free_locked(struct pending *p, struct backlog *b)
{
	TAILQ_REMOVE(&p->backlogs, b, link);
	b->inode->backlog = NULL;
	tree_unpin(p->cache->tree, b->inode);
	free(b);
}

void backlog_rest_locked(struct pending *p, struct backlog *b)
{
	if (!b->gathered.count && !backlog_is_sending(b) && !b->waiters && !b->for_handle)
		backlog_free_locked(p, b);
}

static void drop_backlog_locked(struct pending *p, struct backlog *b)
{
	const struct error e = { ERR_IO, "the mount ended before everything was sent" };

	if (b->gathered.count) {
		cache_note_lost(p->cache, b->inode, &e);
		tree_change_ends(p->cache->tree, &b->scope);
	}
	pieces_release(&b->gathered);
	backlog_free_locked(p, b);
}

void pending_free(struct pending *p)
{
	if (!p)
		return;
	senders_stop(p);
	pthread_mutex_lock(&p->lock);
	while (!TAILQ_EMPTY(&p->backlogs))
		drop_backlog_locked(p, TAILQ_FIRST(&p->backlogs));
	pthread_mutex_unlock(&p->lock);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	cancel_release(&p->cancel);
	free(p);
}

/* ---- Waiting ---- */

/* The deadline is on progress, and of what is under way the sender's call has it. */
struct patience {
	const struct call *call;
	int64_t limit_ms, end_ms;
	uint64_t answers;
};

static struct patience patience_of(const struct pending *p, const struct call *call)
{
	int64_t limit_ms = call_progress_ms(call);

	return (struct patience){ .call = call,
		.limit_ms = limit_ms,
		.end_ms = monotonic_ms() + limit_ms,
		.answers = p->answers };
}

static enum err wait_locked(struct pending *p, struct patience *w, struct error *e)
{
	if (p->under_way || p->answers != w->answers) {
		w->answers = p->answers;
		w->end_ms = monotonic_ms() + w->limit_ms;
	}
	if (w->limit_ms >= 0 && monotonic_ms() >= w->end_ms)
		return error_set(e, ERR_TIMEOUT, "pending writes: no progress for %lld s",
			(long long)w->limit_ms / 1000);
	return wait_briefly_locked(&p->changed, &p->lock, w->call, e);
}

/* The first batch that is not answered. */
static uint64_t first_owed(const struct backlog *b)
{
	uint64_t first = b->gathered.count ? b->gathered_number : UINT64_MAX;

	for (size_t n = 0; n < PENDING_BATCHES_MAX; n++)
		if (b->sending[n].number && b->sending[n].number < first)
			first = b->sending[n].number;
	return first;
}

/* Whether `b` has anything of the batches up to `number`. */
static bool owes(const struct backlog *b, uint64_t number)
{
	return first_owed(b) <= number;
}

static void hurry_locked(struct pending *p, struct backlog *b)
{
	if (!b->gathered.count)
		return;
	b->due_ms = 0;
	senders_wake_locked(p);
}

/* Returns when `b` owes nothing of what it does now. It stays meanwhile. */
static enum err settle_locked(
	struct pending *p, struct backlog *b, const struct call *call, struct error *e)
{
	struct patience w = patience_of(p, call);
	uint64_t number = p->numbers;
	enum err kind = ERR_OK;

	hurry_locked(p, b);
	b->waiters++;
	while (!kind && owes(b, number))
		kind = wait_locked(p, &w, e);
	b->waiters--;
	return kind;
}

/* ---- Writing ---- */

static enum err report_locked(struct backlog *b, struct error *e)
{
	if (!b || !b->for_handle)
		return ERR_OK;
	b->for_handle = b->for_barrier = false;
	return error_set(e, b->refused.kind, "%s", b->refused.text);
}

static bool has_room(const struct pending *p, const struct backlog *b, size_t len)
{
	size_t cost = len + PIECE_COST;

	return (!b || b->gathered.cost + cost <= PENDING_GATHER_MAX) &&
		p->cost + cost <= PENDING_TOTAL_MAX;
}

static enum err wait_for_room_locked(struct pending *p, const struct call *call,
	const struct inode *i, size_t len, struct error *e)
{
	struct patience w = patience_of(p, call);
	enum err kind = ERR_OK;

	while (!kind && !has_room(p, i->backlog, len))
		kind = wait_locked(p, &w, e);
	return kind;
}

/* The first of a batch opens it. */
static void begin_batch_locked(struct pending *p, struct backlog *b)
{
	b->gathered_number = ++p->numbers;
	b->due_ms = monotonic_ms() + PENDING_WAIT_MS;
	if (!backlog_is_sending(b)) {
		b->scope = (struct tree_scope){ .inodes = { b->inode }, .is_foreseen = true };
		tree_change_begins(p->cache->tree, &b->scope);
	}
	senders_wake_locked(p);
}

static enum err gather_locked(struct pending *p, struct backlog *b, enum change_op op,
	uint64_t offset, const void *bytes, size_t len, struct error *e)
{
	size_t before = b->gathered.cost;
	bool is_first = !b->gathered.count;

	if (!pieces_add(&b->gathered, op, offset, bytes, len))
		return error_set(e, ERR_NO_MEMORY, "a write of %zu bytes", len);
	p->cost += b->gathered.cost - before;
	if (is_first)
		begin_batch_locked(p, b);
	if (b->gathered.bytes >= PENDING_MOUTHFUL && backlog_place(b))
		senders_wake_locked(p);
	return ERR_OK;
}

static void foresee_locked(
	struct pending *p, struct inode *i, enum change_op op, uint64_t offset, size_t len)
{
	struct tree_foresight f = { .now = cache_clock(p->cache) };
	struct attr attr;

	tree_attr(p->cache->tree, i, &attr);
	f.end = len ? (op == CHANGE_APPEND ? attr.size : offset) + len : 0;
	tree_foresee(p->cache->tree, i, &f);
}

static enum err write_locked(struct pending *p, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, const void *bytes, size_t len, struct error *e)
{
	enum err kind = report_locked(i->backlog, e);

	if (!kind)
		kind = wait_for_room_locked(p, call, i, len, e);
	if (!kind && !i->backlog && !backlog_new_locked(p, i))
		kind = error_set(e, ERR_NO_MEMORY, "a write of %zu bytes", len);
	if (!kind)
		kind = gather_locked(p, i->backlog, op, offset, bytes, len, e);
	if (!kind)
		foresee_locked(p, i, op, offset, len);
	if (i->backlog)
		backlog_rest_locked(p, i->backlog);
	return kind;
}

enum err pending_write(struct pending *p, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, const void *bytes, size_t len, struct error *e)
{
	pthread_mutex_lock(&p->lock);
	enum err kind = write_locked(p, call, i, op, offset, bytes, len, e);

	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* ---- Barriers ---- */

enum err pending_drain(struct pending *p, const struct call *call, struct inode *i, struct error *e)
{
	enum err kind = ERR_OK;

	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	if (i->backlog && first_owed(i->backlog) != UINT64_MAX) {
		kind = settle_locked(p, i->backlog, call, e);
		backlog_rest_locked(p, i->backlog);
	}
	pthread_mutex_unlock(&p->lock);
	return kind;
}

static enum err flush_locked(struct pending *p, struct backlog *b, const struct call *call,
	bool sync, bool *synced, struct error *e)
{
	uint64_t from = first_owed(b);
	enum err kind = ERR_OK;

	*synced = sync && from != UINT64_MAX;
	if (*synced)
		kind = gather_locked(p, b, CHANGE_SYNC, 0, NULL, 0, e);
	if (!kind)
		kind = settle_locked(p, b, call, e);
	/* Somebody else who waited may have reported it, but what was asked here is whether these writes are done. */
	if (!kind && b->refused_number >= from)
		b->for_handle = true;
	return kind ? kind : report_locked(b, e);
}

enum err pending_flush(struct pending *p, const struct call *call, struct inode *i, bool sync,
	bool *synced, struct error *e)
{
	enum err kind = ERR_OK;

	*synced = false;
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	if (i->backlog) {
		kind = flush_locked(p, i->backlog, call, sync, synced, e);
		backlog_rest_locked(p, i->backlog);
	}
	pthread_mutex_unlock(&p->lock);
	return kind;
}

enum err pending_refusal(struct pending *p, struct inode *i, struct error *e)
{
	enum err kind = ERR_OK;

	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	if (i->backlog && i->backlog->for_handle)
		kind = error_set(e, i->backlog->refused.kind, "%s", i->backlog->refused.text);
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* The first batch of all that is not answered. */
static uint64_t first_owed_of_all_locked(const struct pending *p)
{
	const struct backlog *b;
	uint64_t first = UINT64_MAX;

	TAILQ_FOREACH(b, &p->backlogs, link)
	first = first_owed(b) < first ? first_owed(b) : first;
	return first;
}

/* What was refused since batch `from`, else what no barrier has reported. */
static enum err report_all_locked(struct pending *p, uint64_t from, struct error *e)
{
	enum err kind = ERR_OK;
	struct backlog *b;

	if (p->refused_number >= from)
		kind = error_set(e, p->refused.kind, "%s", p->refused.text);
	TAILQ_FOREACH(b, &p->backlogs, link)
	{
		if (b->for_barrier && !kind)
			kind = error_set(e, b->refused.kind, "%s", b->refused.text);
		b->for_barrier = false;
	}
	return kind;
}

static enum err drain_all_locked(struct pending *p, const struct call *call, struct error *e)
{
	struct patience w = patience_of(p, call);
	uint64_t from = first_owed_of_all_locked(p), last = p->numbers;
	enum err kind = ERR_OK;
	struct backlog *b;

	TAILQ_FOREACH(b, &p->backlogs, link)
	hurry_locked(p, b);
	while (!kind && first_owed_of_all_locked(p) <= last)
		kind = wait_locked(p, &w, e);
	return kind ? kind : report_all_locked(p, from, e);
}

enum err pending_drain_all(struct pending *p, const struct call *call, struct error *e)
{
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = drain_all_locked(p, call, e);

	pthread_mutex_unlock(&p->lock);
	return kind;
}

void pending_count(struct pending *p, uint64_t *changes, uint64_t *bytes)
{
	const struct backlog *b;

	*changes = *bytes = 0;
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	TAILQ_FOREACH(b, &p->backlogs, link)
	{
		*changes += b->gathered.count;
		*bytes += b->gathered.bytes;
		for (size_t n = 0; n < PENDING_BATCHES_MAX; n++) {
			*changes += b->sending[n].pieces.count;
			*bytes += b->sending[n].pieces.bytes;
		}
	}
	pthread_mutex_unlock(&p->lock);
}
