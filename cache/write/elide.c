/* Files that are made and removed again before they leave: the sandbox never gets them. */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

#include <stdlib.h>

/* ---- The ops of the inode ---- */

/* Whether the op matters only to `i` and to the directory that had its name. */
static bool is_its_own(const struct op *q, const struct inode *i)
{
	if (q->made == i)
		return true;
	switch (q->change.op) {
	case CHANGE_WRITE:
	case CHANGE_APPEND:
	case CHANGE_SETATTR:
	case CHANGE_SYNC:
	case CHANGE_COPY:
	case CHANGE_PLACE:
	case CHANGE_UNLINK: return q->about.target == i;
	default: return false;
	}
}

/* ---- Dropping them ---- */

/* How many journal entries the inode has; 0: the sandbox gets the inode, or has it. */
static size_t cancellable_locked(const struct writeback *p, const struct inode *i)
{
	bool is_made = false;
	size_t count = 0;
	const struct op *q;

	TAILQ_FOREACH(q, &p->queue, link)
	{
		if (!op_touches(q, i))
			continue;
		if (q->state == OP_SENT || !is_its_own(q, i))
			return 0;
		is_made |= q->made == i;
		count += op_numbers_count(q);
	}
	return is_made ? count : 0;
}

/* Notes all in one record: after a crash either all ops are pending, or none. */
static bool note_all_done_locked(struct writeback *p, const struct inode *i, size_t count)
{
	uint64_t *numbers = calloc(count, sizeof *numbers);
	const struct op *q;
	size_t numbered = 0;

	if (!numbers)
		return false;
	TAILQ_FOREACH(q, &p->queue, link)
	if (op_touches(q, i))
		op_add_numbers(q, numbers, &numbered);
	bool is_recorded = !journal_note_done(p->journal, numbers, numbered, NULL);

	free(numbers);
	return is_recorded;
}

bool writeback_cancel_locked(struct writeback *p, struct inode *i)
{
	size_t count = i->pending ? cancellable_locked(p, i) : 0;

	return count && note_all_done_locked(p, i, count);
}

void writeback_drop_locked(struct writeback *p, struct inode *i)
{
	struct inode *dir = NULL;

	for (struct op *q = TAILQ_FIRST(&p->queue), *next; q; q = next) {
		next = TAILQ_NEXT(q, link);
		if (!op_touches(q, i))
			continue;
		if (q->about.dir && !dir) {
			dir = q->about.dir;
			tree_pin(p->cache->tree, dir);
		}
		writeback_remove_locked(p, q, OP_ELIDED, "made and removed again");
	}
	writeback_keep_time_lazily_locked(p, dir);
	tree_unpin(p->cache->tree, dir);
	pthread_cond_broadcast(&p->changed);
}
