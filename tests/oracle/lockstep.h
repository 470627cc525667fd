/*
 * lockstep.h - a trace on two directories at once: each call on A, then on B, then the
 * outcomes compared.
 */
#pragma once

#include "tests/oracle/behind.h"

enum sabotage {
	SABOTAGE_NONE,
	SABOTAGE_RESULT, /* one result of A is changed after the call */
	SABOTAGE_DROP, /* one successful change is not made on A at all, though reported as made */
	SABOTAGE_CONTENT, /* one byte is changed in a file of A */
};

struct lockstep {
	struct side a, b;
	int behind; /* the directory that A shows, seen from behind; -1: not known */
	const char *behind_path;
	struct behind writer;
	struct trace trace;
	struct stat_rules rules;
	/* the clock of B's files moves in ticks: wait for one before a change is looked for */
	bool times_are_coarse;
	/* A's times are provisional until an fsync, which comes before a comparison */
	bool changes_follow;
	unsigned tree_every, times_every;
	unsigned long first, count; /* steps */
	const struct op *without[OPS_MAX];
	size_t without_count;
	enum sabotage sabotage;
	unsigned long sabotage_step;
	bool *dropped; /* by step: whether the step is left out; NULL: none is */

	/* The result of the run. */
	unsigned long done[OPS_MAX], failed[OPS_MAX]; /* by op */
	unsigned long steps_done;
	unsigned long failed_step;
	struct text difference; /* empty: none */
};

/*
 * Runs the trace from a clean beginning. true: no difference; false: failed_step and difference
 * are set. Leaves nothing on either side.
 */
bool lockstep_run(struct lockstep *l);

/* Ends the process with a message when one call takes longer than `seconds`. */
void lockstep_watch(struct lockstep *l, unsigned seconds);
