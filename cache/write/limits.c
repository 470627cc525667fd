/*
 * The way to the sandbox may accept only requests up to some size: a proxy of a site, or nginx with
 * its usual limit of 1 MiB. The refusal says nothing of the changes in the request. They leave
 * again in batches of half the size, down to one change. A change that is too large by itself
 * waits: it is sent again with growing pauses, and status shows it, until the way accepts it.
 *
 * The sandbox's disk may have no room for an uploaded request either, but room for a part of its
 * changes. The changes leave again in the same way, and for a while no batch leaves in parallel
 * with another, whose request may take the room. A change that finds no room by itself is refused.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"

/* After this time whole batches are tried once more: the limit may have been raised. */
#define CUT_MS ((int64_t)10 * 60 * 1000)
/* For a full disk the time is short: removals make room. */
#define CUT_FOR_ROOM_MS ((int64_t)5 * 1000)

/* The sandbox does not have these numbers, and accepts none below the last one that it has done. */
static bool forget_numbers(struct writeback *p, const struct batch *b)
{
	for (size_t n = 0; n < b->count; n++)
		if (!b->ops[n]->sequence && op_note_sent(b->ops[n], p->journal, NULL))
			return false;
	return true;
}

static bool may_be_cut(const struct batch *b)
{
	return b->count > 1 || (b->has_no_room && !b->is_alone);
}

bool batch_cut_locked(struct writeback *p, struct batch *b)
{
	int64_t now_ms = monotonic_ms();

	/*
	 * After an attempt without an answer, the sandbox may have a part of the batch under these
	 * numbers.
	 */
	if (!may_be_cut(b) || b->is_repeated || !forget_numbers(p, b))
		return false;
	p->most.changes = b->count / 2;
	p->most.bytes = b->bytes / 2;
	p->most.until_ms = now_ms + (b->has_no_room ? CUT_FOR_ROOM_MS : CUT_MS);
	if (b->has_no_room)
		p->most.alone_until_ms = p->most.until_ms;
	for (size_t n = 0; n < b->count; n++)
		batch_put_back_locked(p, b->ops[n]);
	batch_end_locked(p, b);
	return true;
}

bool batch_takes_locked(const struct writeback *p, const struct batch *b, size_t bytes)
{
	if (!b->count || monotonic_ms() >= p->most.until_ms)
		return true;
	return b->count < p->most.changes && b->bytes + bytes <= p->most.bytes;
}

bool batch_waits_alone_locked(const struct writeback *p)
{
	return p->under_way && monotonic_ms() < p->most.alone_until_ms;
}
