/*
 * supervise_inside.h - what the parts of a supervisor share; internal to supervise*.c.
 */
#pragma once

#include "providers/helper/supervise.h"

#include <sys/types.h>

enum stage { STAGE_RUNNING, STAGE_TERM, STAGE_KILL, STAGE_OVER };

struct supervisor {
	int record, signals;
	int out, err; /* our ends; -1: closed by all who had them */
	pid_t shell;
	int status; /* of the shell, once it ended */
	bool has_ended, is_alone;
	enum stage stage;
	int64_t due_ms; /* of the stage; INT64_MAX: never */
	int64_t touch_ms, kill_until_ms;
	bool timed_out, is_unwanted, is_broken; /* nobody listens; the record cannot be written */
};

/*
 * Becomes a supervisor and starts the command's shell: all that was given is then its own or closed, and the request's
 * memory is given back. False: there is nothing to supervise. In a process of its own, which then ends.
 */
bool supervisor_begin(struct supervisor *v, const struct supervision *given);

/* ---- How the command ends (supervise_stage.c) ---- */

/* It runs; at `limit_ms` from now, -1 never, it is to end. */
void supervisor_enter_running(struct supervisor *v, int64_t limit_ms);
/* TERM to all it started and, 5 s later, KILL; `now` KILL at once. What it prints is not recorded any more. */
void supervisor_stop(struct supervisor *v, bool now);
/* The same, and what it printed is wanted. */
void supervisor_send_term(struct supervisor *v);
/* The stage is due. */
void supervisor_end_stage(struct supervisor *v);
bool supervisor_is_over(const struct supervisor *v);
