/*
 * control_roles.h - the kinds of work that use the mount's control directory, for the table in
 * roles.c: readers, commands, jobs, changes in the sandbox, and processes that are killed.
 */
#pragma once

#include "tests/stress/stress.h"

/* Reads `status`, `stats`, `id` and the files of jobs, and looks for events. */
void facts_round(struct shared *s, struct worker *w);
/* Runs a command, and reads what it printed. */
void commands_round(struct shared *s, struct worker *w);
/* Spawns a job, sends it input or a signal, and reads its status and output until it has ended. */
void jobs_round(struct shared *s, struct worker *w);
/* A job changes files in the sandbox, which are read here meanwhile. */
void strangers_prepare(struct shared *s);
void strangers_round(struct shared *s, struct worker *w);
/* A process is killed in the midst of its calls. */
void signals_prepare(struct shared *s);
void signals_round(struct shared *s, struct worker *w);
