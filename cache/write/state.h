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
 * A transition is made by one function alone, which asserts that the table in state.c has it and
 * traces it (`-o log=write=debug`). DONE, REFUSED, CONFLICT, ELIDED and
 * KEPT, which follows on QUEUED, UNKNOWN and SENT, are ends: the change is freed. A change that waits
 * ends in REFUSED or CONFLICT, too, with what it needs.
 *
 * A change in the state SENT is in exactly one batch under way. One in the state UNKNOWN was in a
 * batch without an answer: the sandbox may have it. What is not a state of the change itself (who
 * waits for it, what it is held against) are the fields of struct op.
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
	OP_REFUSED,  /* by the sandbox, or something that it needs was (fail.c) */
	OP_CONFLICT, /* another change, for a free name, takes its place (conflict.c) */
	OP_ELIDED,   /* the sandbox never gets it: undone, or a part of another change by now */
	OP_KEPT,     /* the mount ended, and the journal has it for the next one */
	OP_STATES,   /* how many there are */
};

struct change; /* providers/verbs.h */
struct op;

/* The path by which people know what a change is about, for traces. */
const char *op_path(const struct change *change);

/* `why`: what brought it about, for the trace. The lock of what is pending is held. */
void op_becomes(struct op *q, enum op_state state, const char *why);
