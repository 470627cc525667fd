#include "cache/write/state.h"

#include "cache/write/op.h"

#include "providers/base/log.h"
#include "providers/change_words.h"

#include <assert.h>

static const char *const words[OP_STATES] = {
	[OP_NEW] = "new",
	[OP_DEFERRED] = "deferred",
	[OP_QUEUED] = "queued",
	[OP_SENT] = "sent",
	[OP_UNKNOWN] = "unknown",
	[OP_DONE] = "done",
	[OP_REFUSED] = "refused",
	[OP_CONFLICT] = "conflict",
	[OP_ELIDED] = "elided",
	[OP_KEPT] = "kept",
};

#define TO(state) (1U << (state))
/*
 * A waiting change may be elided; it may fail with a change that it needs; another may take its
 * place.
 */
#define FROM_WAITING (TO(OP_SENT) | TO(OP_REFUSED) | TO(OP_CONFLICT) | TO(OP_ELIDED) | TO(OP_KEPT))

static const unsigned transitions[OP_STATES] = {
	[OP_NEW] = TO(OP_DEFERRED) | TO(OP_QUEUED) | TO(OP_UNKNOWN),
	[OP_DEFERRED] = TO(OP_QUEUED),
	[OP_QUEUED] = FROM_WAITING,
	[OP_UNKNOWN] = FROM_WAITING,
	[OP_SENT] = TO(OP_QUEUED) | TO(OP_UNKNOWN) | TO(OP_DONE) | TO(OP_REFUSED) |
		TO(OP_CONFLICT) | TO(OP_KEPT),
};

static unsigned long long number_of(const struct op *q)
{
	return q->about.target ? (unsigned long long)q->about.target->attr.ino : 0;
}

const char *op_path(const struct change *change)
{
	const char *path = change_shown_path(change);

	return *path ? path : "/";
}

void op_becomes(struct op *q, enum op_state state, const char *why)
{
	assert(transitions[q->state] & TO(state));
	log_debug(LOG_WRITE, "%s %s, inode %llu, entry %llu: %s to %s: %s",
		change_word(q->change.op), op_path(&q->change), number_of(q),
		(unsigned long long)q->number, words[q->state], words[state], why);
	q->state = state;
}
