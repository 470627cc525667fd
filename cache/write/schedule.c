/* When a batch is to leave. */
#include "cache/write/writeback_inside.h"

uint64_t pending_load(uint64_t changes, uint64_t bytes)
{
	return changes * PENDING_CHANGE_LOAD + bytes;
}

bool pending_is_full(const struct pending *p)
{
	return p->unsent_bytes + PENDING_MOUTHFUL >= PENDING_BATCH_MAX;
}

bool pending_is_whole(const struct pending *p)
{
	return pending_is_full(p) || p->changes - p->sent >= PENDING_CHANGES_DUE;
}

bool pending_waits_aside(const struct pending *p, const struct queued *q)
{
	/* A write that others have extended since may be too large for such a batch. */
	bool is_small = !queued_has_contents(q) || q->change.data_len <= PENDING_SMALL_MAX;

	return p->aside_under_way && q->is_urgent && is_small;
}

/* When it is worth a call, monotonic. */
static int64_t worth_ms(const struct pending *p, const struct queued *q)
{
	/* Then what is not worth a call of its own is sent all the same. */
	bool is_pressed = p->waiting || pending_is_full(p);

	return q->is_lazy && !is_pressed ? q->since_ms + p->lazy_ms : q->since_ms;
}

/* The first unsent change that is worth a call by now, and whether one is wanted; *look_ms: when the next one is, at most. */
static const struct queued *first_unsent_locked(
	const struct pending *p, int64_t now_ms, int64_t *look_ms, bool *is_wanted)
{
	const struct queued *q, *first = NULL;

	*is_wanted = false;
	TAILQ_FOREACH(q, &p->queue, link)
	{
		if (q->state == OP_SENT || pending_waits_aside(p, q))
			continue;
		int64_t due_ms = worth_ms(p, q);

		if (!first && due_ms <= now_ms)
			first = q;
		*look_ms = due_ms < *look_ms ? due_ms : *look_ms;
		*is_wanted |= q->is_wanted;
	}
	return first;
}

bool pending_is_due_locked(struct pending *p, int64_t now_ms, int64_t *next_ms, bool *is_wanted)
{
	*next_ms = now_ms + CALL_PROGRESS_MS;
	const struct queued *first = first_unsent_locked(p, now_ms, next_ms, is_wanted);

	p->is_scheduled = first;
	if (!first && !*is_wanted)
		return false;
	if (*is_wanted)
		return true;
	int64_t quiet_ms = p->last_ms + p->wait_ms;
	int64_t late_ms = first->since_ms + p->wait_most_ms;

	*next_ms = quiet_ms < late_ms ? quiet_ms : late_ms;
	return pending_is_whole(p) || now_ms >= *next_ms;
}
