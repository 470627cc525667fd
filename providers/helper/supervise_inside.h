/*
 * supervise_inside.h - what the parts of a supervisor share; internal to supervise*.c.
 */
#pragma once

#include "providers/helper/supervise.h"

#include <sys/types.h>

enum stage { STAGE_RUNNING, STAGE_TERM, STAGE_KILL, STAGE_OVER };

struct supervisor {
	int record, signals;
	int out, err; /* our ends; -1: all writers closed theirs */
	pid_t shell;
	int status; /* the shell's, once ended */
	bool has_ended, is_alone;
	enum stage stage;
	int64_t due_ms; /* end of the stage; INT64_MAX: never */
	int64_t touch_ms, kill_until_ms;
	/* no client listens; the record cannot be written */
	bool timed_out, is_unwanted, is_broken;
};

/*
 * Becomes a supervisor and starts the command's shell. All given descriptors are then its own or
 * closed, and the request's memory is released. False: there is nothing to supervise. Runs in a
 * process of its own, which then ends.
 */
bool supervisor_begin(struct supervisor *v, const struct supervision *given);

/* ---- How the command ends (supervise_stage.c) ---- */

/* The command runs; its end is due at `limit_ms` from now, -1: never. */
void supervisor_enter_running(struct supervisor *v, int64_t limit_ms);
/*
 * TERM to all processes of the command and, 5 s later, KILL; with `now` KILL at once. Later output
 * is not recorded.
 */
void supervisor_stop(struct supervisor *v, bool now);
/* supervisor_stop() for a command whose output is still wanted. */
void supervisor_send_term(struct supervisor *v);
/* The time of the stage is over. */
void supervisor_end_stage(struct supervisor *v);
bool supervisor_is_over(const struct supervisor *v);
