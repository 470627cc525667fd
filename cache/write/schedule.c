/* When a batch is to leave. */
#include "cache/write/writeback_inside.h"

uint64_t writeback_load(uint64_t changes, uint64_t bytes)
{
	return changes * WRITEBACK_CHANGE_LOAD + bytes;
}

bool writeback_is_full(const struct writeback *p)
{
	return p->unsent_bytes + WRITEBACK_WRITE_MAX >= WRITEBACK_BATCH_MAX;
}

bool writeback_is_whole(const struct writeback *p)
{
	return writeback_is_full(p) || p->changes - p->sent >= WRITEBACK_CHANGES_DUE;
}

bool writeback_waits_aside(const struct writeback *p, const struct op *q)
{
	/* A write that was extended since may be too large for such a batch. */
	bool is_small = !op_has_contents(q) || q->change.data_len <= WRITEBACK_SMALL_MAX;

	return p->aside_under_way && q->is_small_save && is_small;
}

/* When the op is worth a request, monotonic. */
static int64_t worth_ms(const struct writeback *p, const struct op *q)
{
	/*
	 * Ops that may wait leave while calls wait, or while there are contents for a whole batch.
	 */
	bool is_pressed = p->waiting || writeback_is_full(p);

	return q->may_wait && !is_pressed ? q->since_ms + p->may_wait_ms : q->since_ms;
}

/*
 * The first unsent op that is worth a request by now. *is_urgent: a call waits for an unsent op.
 * *look_ms: when the next op is worth one, at most.
 */
static const struct op *first_unsent_locked(
	const struct writeback *p, int64_t now_ms, int64_t *look_ms, bool *is_urgent)
{
	const struct op *q, *first = NULL;

	*is_urgent = false;
	TAILQ_FOREACH(q, &p->queue, link)
	{
		if (q->state == OP_SENT || writeback_waits_aside(p, q))
			continue;
		int64_t due_ms = worth_ms(p, q);

		if (!first && due_ms <= now_ms)
			first = q;
		*look_ms = due_ms < *look_ms ? due_ms : *look_ms;
		*is_urgent |= q->is_urgent;
	}
	return first;
}

bool writeback_is_due_locked(struct writeback *p, int64_t now_ms, int64_t *next_ms, bool *is_urgent)
{
	*next_ms = now_ms + CALL_PROGRESS_MS;
	const struct op *first = first_unsent_locked(p, now_ms, next_ms, is_urgent);

	p->is_scheduled = first;
	if (!first && !*is_urgent)
		return false;
	if (*is_urgent)
		return true;
	int64_t quiet_ms = p->last_ms + p->wait_ms;
	int64_t late_ms = first->since_ms + p->wait_most_ms;

	*next_ms = quiet_ms < late_ms ? quiet_ms : late_ms;
	return writeback_is_whole(p) || now_ms >= *next_ms;
}
