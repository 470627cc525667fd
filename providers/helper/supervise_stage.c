/* How a command is ended: TERM, some time to tidy up, and KILL for KILL_LAST_MS at most. */
#include "providers/base/call.h"
#include "providers/helper/descendants.h"
#include "providers/helper/supervise_inside.h"

#include <unistd.h>

/* The time between TERM and KILL. */
#define GRACE_MS 5000
/*
 * The interval at which KILL is repeated, since a killed process may just have started another, and
 * the time after which it ends.
 */
#define KILL_AGAIN_MS 20
#define KILL_LAST_MS  2000

static void enter(struct supervisor *v, enum stage stage, int64_t wait_ms)
{
	v->stage = stage;
	v->due_ms = wait_ms < 0 ? INT64_MAX : monotonic_ms() + wait_ms;
}

void supervisor_enter_running(struct supervisor *v, int64_t limit_ms)
{
	enter(v, STAGE_RUNNING, limit_ms);
}

void supervisor_send_term(struct supervisor *v)
{
	descendants_signal(getpid(), SIGTERM);
	enter(v, STAGE_TERM, GRACE_MS);
}

/* Repeats KILL until no process is left or KILL_LAST_MS is over. */
static void send_kill(struct supervisor *v)
{
	if (v->stage != STAGE_KILL)
		v->kill_until_ms = monotonic_ms() + KILL_LAST_MS;
	descendants_signal(getpid(), SIGKILL);
	if (monotonic_ms() < v->kill_until_ms)
		enter(v, STAGE_KILL, KILL_AGAIN_MS);
	else
		enter(v, STAGE_OVER, -1);
}

void supervisor_end_stage(struct supervisor *v)
{
	switch (v->stage) {
	case STAGE_RUNNING:
		v->timed_out = true;
		supervisor_send_term(v);
		return;
	case STAGE_TERM:
	case STAGE_KILL: send_kill(v); return;
	case STAGE_OVER: return;
	}
}

/* A command that is being ended is over when none of its processes is left. */
bool supervisor_is_over(const struct supervisor *v)
{
	return v->stage == STAGE_OVER ||
		(v->has_ended && (v->stage == STAGE_RUNNING || v->is_alone));
}

void supervisor_stop(struct supervisor *v, bool now)
{
	v->is_unwanted = true;
	if (now)
		send_kill(v);
	else if (v->stage == STAGE_RUNNING)
		supervisor_send_term(v);
}
