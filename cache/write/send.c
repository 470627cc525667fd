/* The threads that send batches. */
#include "cache/write/writeback_inside.h"

#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include "providers/base/condition.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"
#include "providers/change_words.h"

#include <string.h>

/* ---- One batch ---- */

static enum err ask(struct writeback *p, struct batch *b, struct error *e)
{
	struct call call = cache_call_of_ours(p->cache, &p->cancel);
	struct apply_request request = { .first_sequence =
						 b->ticket ? b->ticket : b->first_sequence,
		.is_plain = b->ticket,
		.closed = b->closed,
		.changes = b->changes,
		.changes_count = b->count };

	call.is_background = !b->is_urgent;
	call.progress = &b->progress;
	memcpy(request.journal, journal_id(p->journal), sizeof request.journal);
	memset(b->results, 0, b->count * sizeof *b->results);
	enum err kind = batch_find_done(p, &call, b, e);

	b->progress.is_too_large = b->progress.has_no_room = false;
	if (!kind)
		kind = counted_apply(&p->cache->counted, &call, &request, b->results, e);
	b->is_too_large = kind == ERR_UNREACHABLE && b->progress.is_too_large;
	b->has_no_room = kind && b->progress.has_no_room;
	if (b->has_no_room) {
		pthread_mutex_lock(&p->lock);
		b->is_alone = b->departures == p->departures;
		pthread_mutex_unlock(&p->lock);
	}
	if (!kind)
		kind = batch_find_late(p, &call, b, e);
	return kind || !b->is_repeated ? kind : batch_find_moved(p, &call, b, e);
}

/*
 * Whether a user asks for this attempt: a call waits, or the mount was used since the last attempt
 * failed. So ops that were pending when the sandbox was paused do not wake it.
 */
static bool is_urgent_locked(const struct writeback *p)
{
	if (p->waiting || !p->failure.kind)
		return p->waiting;
	return p->disregarded >= p->failed_attempt || cache_uses(p->cache) != p->failed_uses;
}

static uint64_t begin_attempt_locked(struct writeback *p, struct batch *b)
{
	batch_learn_closed_locked(p, b);
	p->moved.sent -= b->progress.sent;
	b->progress = progress_now();
	b->progress.also = &p->moved;
	b->is_urgent = is_urgent_locked(p);
	b->departures = p->under_way == 1 ? p->departures : 0;
	return ++p->attempts;
}

static void note_failure_locked(struct writeback *p, uint64_t attempt, const struct error *e)
{
	p->failures++;
	p->failure = *e;
	p->failed_attempt = attempt;
	p->failed_uses = cache_uses(p->cache);
	pthread_cond_broadcast(&p->changed);
}

/*
 * While a call waits for the sandbox, another attempt is soon, whether the call came before the
 * pause or during it.
 */
static int64_t pause_end_locked(const struct writeback *p, int64_t begun_ms, int64_t pause_ms)
{
	bool is_urgent = p->waiting || p->looked_ms + p->pause_ms >= begun_ms;

	return begun_ms + (is_urgent ? p->pause_ms : pause_ms);
}

static void pause_locked(struct writeback *p, uint64_t attempt, int64_t pause_ms)
{
	int64_t begun_ms = monotonic_ms();
	int64_t end_ms = pause_end_locked(p, begun_ms, pause_ms);

	while (!p->stopping && p->disregarded < attempt && monotonic_ms() < end_ms) {
		condition_wait_until(&p->changed, &p->lock, end_ms);
		end_ms = pause_end_locked(p, begun_ms, pause_ms);
	}
}

static enum err try(struct writeback *p, struct batch *b, struct error *e)
{
	enum err kind = b->is_ready ? ERR_OK : batch_prepare(p, b, e);

	return kind ? kind : ask(p, b, e);
}

/*
 * Whether another attempt may succeed. The obstacle is the way to the sandbox, memory or room on
 * the disk here, or room for the record on the sandbox's disk. If that disk has no room for one
 * change alone, the change is refused, unless the request of another batch may have taken the room.
 * Where a part of the batch may have been applied, the batch waits.
 */
static bool may_pass(const struct batch *b, enum err kind)
{
	if (!b->is_ready)
		return kind && !b->damaged;
	if (b->has_no_room)
		return kind && (b->count > 1 || b->is_repeated || !b->is_alone);
	return kind == ERR_NO_SPACE || cache_is_no_answer(kind);
}

/*
 * The path by which people know a file of the batch: a new file has only a staging name until its
 * commit.
 */
static const char *known_path(const struct batch *b)
{
	for (size_t n = 0; n < b->count; n++)
		if (!change_is_in_staging(&b->changes[n]))
			return change_shown_path(&b->changes[n]);
	return "";
}

/* Contents in a plain batch have no number: the file is compared with them (verify.c). */
static void repeat_locked(struct writeback *p, struct batch *b)
{
	batch_is_late_locked(p, b);
	if (!b->is_ready)
		return;
	b->is_repeated = b->first_sequence;
	for (size_t n = 0; n < b->count && !b->is_repeated; n++)
		b->ops[n]->outcome_unknown = true;
}

/*
 * Sends the same batch again, until there is an answer: changes that were applied already are not
 * applied twice. Called without the lock.
 */
static void try_until_answered(struct writeback *p, struct batch *b, struct error *e)
{
	int64_t pause_ms = p->pause_ms;

	pthread_mutex_lock(&p->lock);
	uint64_t attempt = begin_attempt_locked(p, b);

	pthread_mutex_unlock(&p->lock);
	while (may_pass(b, try(p, b, e))) {
		log_debug(LOG_WRITE, "a batch of %zu changes had no answer: %s", b->count, e->text);
		if (e->kind != ERR_INTERRUPTED)
			cache_note_lost(p->cache, known_path(b), e);
		pthread_mutex_lock(&p->lock);
		b->is_cut = (b->is_too_large || b->has_no_room) && batch_cut_locked(p, b);
		if (b->is_cut) {
			pthread_mutex_unlock(&p->lock);
			return;
		}
		repeat_locked(p, b);
		note_failure_locked(p, attempt, e);
		pause_locked(p, attempt, pause_ms);
		bool stopping = p->stopping;

		attempt = begin_attempt_locked(p, b);
		pthread_mutex_unlock(&p->lock);
		if (stopping)
			return;
		pause_ms = pause_ms * 2 < WRITEBACK_PAUSE_MOST_MS ? pause_ms * 2
								  : WRITEBACK_PAUSE_MOST_MS;
		*e = (struct error){ 0 };
	}
}

/* A batch that is given up at the end of the mount stays in the journal. */
static void finish_locked(struct writeback *p, struct batch *b, const struct error *e)
{
	if (b->is_cut)
		return;
	if (may_pass(b, e->kind)) {
		p->under_way--;
		return;
	}
	if (b->damaged) {
		batch_damaged_locked(p, b, e);
		return;
	}
	p->failure = (struct error){ 0 };
	if (e->kind)
		batch_refused_locked(p, b, e);
	else
		batch_answered_locked(p, b);
}

static void send_locked(struct writeback *p, struct batch *b)
{
	struct error e = { 0 };

	pthread_mutex_unlock(&p->lock);
	try_until_answered(p, b, &e);
	/* Attributes in a repeated answer may be those of a later look (resend.c). */
	if (!e.kind && b->is_ready && !b->is_repeated)
		batch_keep_contents(p, b);
	pthread_mutex_lock(&p->lock);
	p->moved.sent -= b->progress.sent;
	batch_close_locked(p, b);
	finish_locked(p, b, &e);
	batch_release(b);
}

/* ---- The threads ---- */

/* When to check the deferred commits again, and the events that are deferred meanwhile. */
static int64_t look_at_held_locked(struct writeback *p)
{
	int64_t now_ms = monotonic_ms();
	int64_t look_ms = writeback_release_open_locked(p, now_ms);

	if (look_ms == INT64_MAX)
		return look_ms;
	tree_resolve_overdue(p->cache->tree);
	return look_ms < now_ms + TREE_DEFERRED_MS ? look_ms : now_ms + TREE_DEFERRED_MS;
}

static void *send_all(void *context)
{
	struct writeback *p = context;
	struct batch b;
	int64_t next_ms;

	pthread_mutex_lock(&p->lock);
	while (!p->stopping) {
		if (writeback_is_to_bind_locked(p))
			writeback_bind_all_locked(p);
		int64_t look_ms = look_at_held_locked(p);

		if (!batch_gather_locked(p, &b, &next_ms)) {
			batch_release(&b);
			condition_wait_until(
				&p->changed, &p->lock, look_ms < next_ms ? look_ms : next_ms);
			continue;
		}
		/* Another sender must see when the next batch is due. */
		p->senders_idle--;
		senders_wake_locked(p);
		send_locked(p, &b);
		p->senders_idle++;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void senders_wake_locked(struct writeback *p)
{
	pthread_cond_broadcast(&p->changed);
	if (p->senders_idle || p->senders_count == WRITEBACK_SENDERS_MAX || p->stopping)
		return;
	if (thread_start(&p->senders[p->senders_count], send_all, p))
		return;
	p->senders_count++;
	p->senders_idle++;
}

void senders_stop(struct writeback *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	cancel_throw(&p->cancel);
	for (unsigned n = 0; n < p->senders_count; n++)
		pthread_join(p->senders[n], NULL);
	pthread_mutex_lock(&p->lock);
	p->senders_count = 0;
	pthread_mutex_unlock(&p->lock);
}
