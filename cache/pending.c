#include "cache/pending_inside.h"

#include "cache/cache_inside.h"
#include "cache/wait.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Life ---- */

static enum err open_journal(struct pending *p, struct error *e)
{
	const struct journal_options options = { .dir = p->cache->options.journal_dir,
		.size_max = p->cache->options.journal_max };
	enum err kind = journal_open(&p->journal, &options, e);

	if (!kind && options.dir && !(p->place = strdup(options.dir)))
		kind = error_set(e, ERR_NO_MEMORY, "the journal");
	p->journal_max = options.size_max ? options.size_max : JOURNAL_SIZE_DEFAULT;
	if (!kind)
		p->sequences = journal_next_sequence(p->journal) - 1;
	return kind;
}

/* What is known of the sandbox is asked after it. If it takes too long it goes on behind, with nothing overtaking it. */
static void wait_for_recovered(struct pending *p)
{
	const struct call call = { .progress_ms = p->cache->options.progress_ms,
		.cancel = &p->cancel };
	struct error e = { 0 };

	if (pending_drain_all_quietly(p, &call, &e))
		cache_note_error(p->cache, "changes of an earlier mount", &e);
}

enum err pending_new(struct pending **out, struct cache *c, struct error *e)
{
	AUTO_FREE struct pending *p = calloc(1, sizeof *p);

	if (!p)
		return error_set(e, ERR_NO_MEMORY, "cache");
	p->cache = c;
	p->pause_ms = PENDING_PAUSE_MS;
	TAILQ_INIT(&p->queue);
	TAILQ_INIT(&p->backlogs);
	enum err kind = open_journal(p, e);

	if (!kind)
		kind = cancel_init(&p->cancel, e);
	if (kind) {
		journal_close(p->journal);
		free(p->place);
		return kind;
	}
	pthread_mutex_init(&p->lock, NULL);
	wait_init(&p->changed);
	kind = pending_recover(p, e);
	pthread_mutex_lock(&p->lock);
	senders_wake_locked(p);
	bool has_sender = p->senders_count > 0;

	pthread_mutex_unlock(&p->lock);
	if (!kind && !has_sender)
		kind = error_set(e, ERR_NO_MEMORY, "a thread for sending changes");
	if (kind) {
		pending_free(take(p));
		return kind;
	}
	wait_for_recovered(p);
	*out = take(p);
	return ERR_OK;
}

static void leave_locked(struct pending *p)
{
	if (p->changes)
		log_warn(LOG_CACHE,
			"the mount ended before everything was sent: %llu changes are kept in %s",
			(unsigned long long)p->changes, p->place ? p->place : "memory");
	while (!TAILQ_EMPTY(&p->queue))
		pending_remove_locked(p, TAILQ_FIRST(&p->queue));
	for (struct backlog *b = TAILQ_FIRST(&p->backlogs), *next; b; b = next) {
		next = TAILQ_NEXT(b, link);
		b->for_handle = false;
		backlog_rest_locked(p, b);
	}
}

void pending_free(struct pending *p)
{
	if (!p)
		return;
	senders_stop(p);
	pthread_mutex_lock(&p->lock);
	leave_locked(p);
	pthread_mutex_unlock(&p->lock);
	journal_close(p->journal);
	free(p->place);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	cancel_release(&p->cancel);
	free(p);
}

/* ---- Waiting ---- */

struct patience patience_of(const struct pending *p, const struct call *call)
{
	int64_t limit_ms = call_progress_ms(call);

	return (struct patience){ .call = call,
		.limit_ms = limit_ms,
		.end_ms = monotonic_ms() + limit_ms,
		.answers = p->answers,
		.failures = p->failures };
}

/* Sending is tried more often meanwhile. */
static enum err wait_noticed_locked(struct pending *p, const struct call *call, struct error *e)
{
	p->waiting++;
	enum err kind = wait_briefly_locked(&p->changed, &p->lock, call, e);

	p->waiting--;
	return kind;
}

/*
 * A batch on its way has its own deadline on progress: as long as no attempt failed it may take what it takes. A sandbox
 * that is gone is not waited for, whoever found it out.
 */
enum err patience_wait_locked(struct pending *p, struct patience *w, struct error *e)
{
	bool has_failed = p->failures != w->failures;

	if (p->answers != w->answers || (p->under_way && !has_failed)) {
		w->answers = p->answers;
		w->end_ms = monotonic_ms() + w->limit_ms;
	}
	if (p->failure.kind == ERR_GONE)
		return error_set(e, ERR_GONE, "%s", p->failure.text);
	if (w->limit_ms < 0 || monotonic_ms() < w->end_ms)
		return wait_noticed_locked(p, w->call, e);
	if (p->failure.kind)
		return error_set(e, p->failure.kind, "%s", p->failure.text);
	return error_set(e, ERR_TIMEOUT, "pending changes: no progress for %lld s",
		(long long)w->limit_ms / 1000);
}

/* ---- Who waits for what ---- */

static bool touches(const struct queued *q, const struct inode *i)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++)
		if (q->about.scope.inodes[n] == i)
			return true;
	return false;
}

/* Any of the inodes is touched by something that is wanted and younger. */
static bool is_needed(const struct queued *q, uint64_t gathering)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		const struct inode *i = q->about.scope.inodes[n];

		if (i && i->backlog->gathering == gathering)
			return true;
	}
	return false;
}

static void mark(const struct queued *q, uint64_t gathering)
{
	for (int n = 0; n < TREE_SCOPE_MAX; n++) {
		struct inode *i = q->about.scope.inodes[n];

		if (i)
			i->backlog->gathering = gathering;
	}
}

/* The changes that touch `i`, and those without which they cannot be done, are sent before others. */
static void hurry_locked(struct pending *p, const struct inode *i)
{
	uint64_t gathering = ++p->gatherings;
	bool is_behind_wall = false;
	struct queued *q;

	TAILQ_FOREACH_REVERSE(q, &p->queue, queued_list, link)
	{
		if (!is_behind_wall && !touches(q, i) && !is_needed(q, gathering))
			continue;
		is_behind_wall |= q->is_wall;
		q->is_wanted = true;
		mark(q, gathering);
	}
	senders_wake_locked(p);
}

static void hurry_all_locked(struct pending *p)
{
	struct queued *q;

	TAILQ_FOREACH(q, &p->queue, link)
	q->is_wanted = true;
	senders_wake_locked(p);
}

/* The oldest change that touches `i`. */
static uint64_t first_owed_locked(const struct pending *p, const struct inode *i)
{
	const struct queued *q;

	TAILQ_FOREACH(q, &p->queue, link)
	if (touches(q, i))
		return q->order;
	return UINT64_MAX;
}

/* Returns when nothing is queued that touches `b` and is there now. It stays meanwhile. */
static enum err settle_locked(
	struct pending *p, struct backlog *b, const struct call *call, struct error *e)
{
	struct patience w = patience_of(p, call);
	uint64_t last = p->orders;
	enum err kind = ERR_OK;

	hurry_locked(p, b->inode);
	b->waiters++;
	while (!kind && b->owes && first_owed_locked(p, b->inode) <= last)
		kind = patience_wait_locked(p, &w, e);
	b->waiters--;
	return kind;
}

/* ---- Writing ---- */

static enum err report_locked(struct backlog *b, struct error *e)
{
	if (!b || !b->for_handle)
		return ERR_OK;
	b->for_handle = b->for_barrier = b->lost_contents = false;
	return error_set(e, b->refused.kind, "%s", b->refused.text);
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
	p->cost += queued_cost(last) - cost;
	p->bytes += last->change.data_len - before;
	p->unsent_bytes += last->change.data_len - before;
	p->last_ms = monotonic_ms();
	if (last->change.data_len >= PENDING_MOUTHFUL)
		senders_wake_locked(p);
	return kind;
}

static enum err queue_write_locked(
	struct pending *p, struct inode *i, struct change *change, struct error *e)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct queued *q;
	bool extended = false;
	enum err kind = tree_path(p->cache->tree, i, NULL, &path, e);

	change->path = path.text;
	change->target = tree_expect(p->cache->tree, i);
	change->version = pending_version_locked(p, i);
	if (!kind)
		kind = extend_locked(p, i->backlog, change, &extended, e);
	if (kind || extended)
		return kind;
	return pending_add_locked(p, change, &about, &q, e);
}

static enum err write_locked(struct pending *p, const struct call *call, struct inode *i,
	struct change *change, struct error *e)
{
	enum err kind = report_locked(i->backlog, e);

	if (!kind)
		kind = pending_room_locked(p, call, change->data_len, e);
	if (!kind && i->backlog && i->backlog->is_lost)
		kind = error_set(e, ERR_STALE, "the sandbox did not take the file");
	if (!kind)
		kind = queue_write_locked(p, i, change, e);
	if (!kind)
		foresee_locked(p, i, change->op, change->offset, change->data_len);
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

/* ---- Barriers ---- */

bool pending_touches(struct pending *p, struct inode *i)
{
	if (!p)
		return false;
	pthread_mutex_lock(&p->lock);
	bool touched = i->backlog && i->backlog->owes;

	pthread_mutex_unlock(&p->lock);
	return touched;
}

enum err pending_drain(struct pending *p, const struct call *call, struct inode *i, struct error *e)
{
	enum err kind = ERR_OK;

	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	if (i->backlog && i->backlog->owes) {
		kind = settle_locked(p, i->backlog, call, e);
		backlog_rest_locked(p, i->backlog);
	}
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* From the lowest up; what is on the way may move again meanwhile. */
enum err pending_drain_path(
	struct pending *p, const struct call *call, struct inode *i, struct error *e)
{
	enum err kind = ERR_OK;
	struct inode *owing;

	while (p && !kind && (owing = tree_owing_on_path(p->cache->tree, i))) {
		kind = pending_drain(p, call, owing, e);
		tree_unpin(p->cache->tree, owing);
	}
	return kind;
}

static enum err add_sync_locked(struct pending *p, struct inode *i, struct error *e)
{
	const struct change_about about = { .scope.inodes = { i }, .target = i };
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct change change = { .op = CHANGE_SYNC, .flags = CHANGE_BY_HANDLE };
	struct queued *q;
	enum err kind = tree_path(p->cache->tree, i, NULL, &path, e);

	change.path = path.text;
	return kind ? kind : pending_add_locked(p, &change, &about, &q, e);
}

static enum err flush_locked(struct pending *p, struct backlog *b, const struct call *call,
	bool sync, bool *synced, struct error *e)
{
	uint64_t from = first_owed_locked(p, b->inode);
	enum err kind = ERR_OK;

	*synced = sync && from != UINT64_MAX;
	if (*synced)
		kind = add_sync_locked(p, b->inode, e);
	if (!kind)
		kind = settle_locked(p, b, call, e);
	/* Somebody else who waited may have reported it, but what was asked here is whether these changes are done. */
	if (!kind && b->refused_order >= from)
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
	if (sync)
		kind = pending_still_locked(p, call, e);
	if (!kind && i->backlog) {
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

enum err pending_report(struct pending *p, struct inode *i, struct error *e)
{
	enum err kind = ERR_OK;

	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	if (i->backlog) {
		kind = report_locked(i->backlog, e);
		backlog_rest_locked(p, i->backlog);
	}
	pthread_mutex_unlock(&p->lock);
	return kind;
}

/* What was refused since the change `from`, else what no barrier has reported. */
static enum err report_all_locked(struct pending *p, uint64_t from, struct error *e)
{
	enum err kind = ERR_OK;
	struct backlog *b;

	if (p->refused_order >= from)
		kind = error_set(e, p->refused.kind, "%s", p->refused.text);
	TAILQ_FOREACH(b, &p->backlogs, link)
	{
		if (b->for_barrier && !kind)
			kind = error_set(e, b->refused.kind, "%s", b->refused.text);
		b->for_barrier = false;
	}
	return kind;
}

static uint64_t first_order_locked(const struct pending *p)
{
	const struct queued *first = TAILQ_FIRST(&p->queue);

	return first ? first->order : UINT64_MAX;
}

static enum err drain_all_locked(struct pending *p, const struct call *call, struct error *e)
{
	struct patience w = patience_of(p, call);
	uint64_t last = p->orders;
	enum err kind = ERR_OK;

	hurry_all_locked(p);
	while (!kind && first_order_locked(p) <= last)
		kind = patience_wait_locked(p, &w, e);
	return kind;
}

enum err pending_drain_all_quietly(struct pending *p, const struct call *call, struct error *e)
{
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	enum err kind = drain_all_locked(p, call, e);

	pthread_mutex_unlock(&p->lock);
	return kind;
}

enum err pending_drain_all(struct pending *p, const struct call *call, struct error *e)
{
	if (!p)
		return ERR_OK;
	pthread_mutex_lock(&p->lock);
	uint64_t from = first_order_locked(p);
	enum err kind = drain_all_locked(p, call, e);

	if (!kind)
		kind = report_all_locked(p, from, e);
	pthread_mutex_unlock(&p->lock);
	return kind;
}

void pending_count(struct pending *p, uint64_t *changes, uint64_t *bytes, uint64_t *parked)
{
	*changes = *bytes = *parked = 0;
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	*changes = p->changes;
	*bytes = p->bytes;
	*parked = p->parked;
	pthread_mutex_unlock(&p->lock);
}

struct telling {
	struct cache_parked *out;
	size_t count, room;
};

static enum err tell_parked(void *context, const struct journal_entry *entry, struct error *e)
{
	struct telling *t = context;

	(void)e;
	if (!entry->is_parked || t->count == t->room)
		return ERR_OK;
	struct cache_parked *out = &t->out[t->count++];

	out->op = entry->change.op;
	snprintf(out->path, sizeof out->path, "%s", entry->change.path);
	snprintf(out->error, sizeof out->error, "%s", entry->why);
	return ERR_OK;
}

size_t pending_parked(struct pending *p, struct cache_parked *out, size_t room)
{
	struct telling t = { .out = out, .room = room };

	if (p && p->parked)
		journal_each(p->journal, tell_parked, &t, NULL);
	return t.count;
}

const char *pending_place(const struct pending *p)
{
	return p ? p->place : NULL;
}
