/* When a batch is to leave. */
#include "cache/pending_inside.h"

bool pending_is_full(const struct pending *p)
{
	return p->unsent_bytes + PENDING_MOUTHFUL >= PENDING_BATCH_MAX;
}

/* The first unsent change, and whether one is wanted. */
static const struct queued *first_unsent_locked(const struct pending *p, bool *is_wanted)
{
	const struct queued *q, *first = NULL;
	/* Then what is not worth a call of its own is sent all the same. */
	bool is_pressed = p->waiting || pending_is_full(p);

	*is_wanted = false;
	TAILQ_FOREACH(q, &p->queue, link)
	{
		if (q->is_sent)
			continue;
		if (!first && (!q->is_lazy || is_pressed))
			first = q;
		*is_wanted |= q->is_wanted;
	}
	return first;
}

bool pending_is_due_locked(struct pending *p, int64_t now_ms, int64_t *next_ms, bool *is_wanted)
{
	const struct queued *first = first_unsent_locked(p, is_wanted);

	p->is_scheduled = first;
	*next_ms = now_ms + CALL_PROGRESS_MS;
	if (!first && !*is_wanted)
		return false;
	if (*is_wanted)
		return true;
	int64_t quiet_ms = p->last_ms + PENDING_WAIT_MS;
	int64_t late_ms = first->since_ms + PENDING_WAIT_MOST_MS;

	*next_ms = quiet_ms < late_ms ? quiet_ms : late_ms;
	return pending_is_full(p) || now_ms >= *next_ms;
}
