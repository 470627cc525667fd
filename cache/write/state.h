/*
 * state.h - the states of a change, from its making to its end.
 *
 *	               prepare        release
 *	          +--> DEFERRED ---------+
 *	          |                      v   gather           answer
 *	    NEW --+---- enter -------> QUEUED ------> SENT ---------+--> DONE
 *	          |                     |  ^           | ^          +--> REFUSED
 *	          |            elide    |  |  put back | |          +--> CONFLICT
 *	          |  ELIDED <-----------+  +-----------+ | gather
 *	          |                                    | |
 *	          +---- replay -----> UNKNOWN <--------+ |
 *	                                 +---------------+
 *
 * The words are functions: batch_prepare(), batch_gather_locked() and the like. An op that is
 * replayed and had not left becomes QUEUED.
 *
 * op_becomes() alone makes a transition: it asserts that the table in state.c has the transition,
 * and traces it (`-o log=write=debug`). DONE, REFUSED, CONFLICT, ELIDED and KEPT are ends: the
 * change is freed. KEPT follows on QUEUED, UNKNOWN and SENT. A change that waits ends in REFUSED or
 * CONFLICT, too, with the change that it needs.
 *
 * A change in the state SENT is in exactly one batch under way. A change in the state UNKNOWN was
 * in a batch without an answer: the sandbox may have it. Other facts about a change (which calls
 * wait for it, which version it is checked against) are the fields of struct op.
 */
#pragma once

#include "providers/base/error.h"

enum op_state {
	OP_NEW,      /* in no list yet */
	OP_DEFERRED, /* waits until the contents that it gives a name are whole (staging.c) */
	OP_QUEUED,   /* waits for a batch */
	OP_SENT,     /* in a batch under way */
	OP_UNKNOWN,  /* waits for a batch, and an earlier one with it had no answer (verify.c) */
	OP_DONE,     /* the sandbox has it */
	OP_REFUSED,  /* refused by the sandbox, or an op that it needs was (fail.c) */
	OP_CONFLICT, /* another change, for a free name, takes its place (conflict.c) */
	OP_ELIDED,   /* the sandbox never gets it: undone, or a part of another change by now */
	OP_KEPT,     /* the mount ended, and the journal has it for the next one */
	OP_STATES,   /* how many there are */
};

struct change; /* providers/verbs.h */
struct op;

/* The path by which people know the file of a change, for traces. */
const char *op_path(const struct change *change);

/* `why`: the reason, for the trace. writeback.lock is held. */
void op_becomes(struct op *q, enum op_state state, const char *why);
