/*
 * reaper.h - ends commands behind the back of whoever ran them: at their time, or when nobody waits any more.
 *
 * One thread, started with the first command. A command's processes get TERM, and 5 s later KILL. Signals travel as
 * requests of their own (`send`), one at a time, with a deadline. Functions may be called from any thread.
 */
#pragma once

#include "providers/base/call.h"

struct reaper;
/* A command that runs. */
struct quarry;

/* In the environment of all that a command starts, so that it can be found again: 128 random bits in hexadecimal, and a NUL. */
#define MARKER_NAME "SANDBOXFS_COMMAND"
#define MARKER_SIZE 33

/*
 * Sends TERM or KILL to every process whose environment has the marker, and to process `pid` (0: not known). *found:
 * there was one. Called without a lock.
 */
typedef enum err (*reaper_send)(void *context, const struct call *call, const char *marker,
	uint32_t pid, int signal, bool *found, struct error *e);

/*
 * For those who have no better way: the program, to be run in the sandbox, that sends the signal to every process with the
 * marker and prints their numbers, a line each.
 */
#define REAPER_ARGC 8
/* Which of its arguments is the script: $1 TERM, KILL or 0, $2 the marker, $3 how often to look. */
#define REAPER_SCRIPT 2
void reaper_argv(const char *argv[REAPER_ARGC], const char *marker, int signal);

enum err reaper_new(struct reaper **out, reaper_send send, void *context, struct error *e);
/* Commands that were to be ended get KILL at once; those that may run on do. Waits, but not for long. */
void reaper_free(struct reaper *r);

/*
 * A command is about to run. `timeout_ms` 0: without limit. `abandon` is thrown when its stream does not end though all
 * was killed; it must live until quarry_leave().
 */
enum err reaper_watch(struct reaper *r, int64_t timeout_ms, const struct cancel *abandon,
	struct quarry **out, struct error *e);
const char *quarry_marker(const struct quarry *q);
void quarry_set_pid(struct reaper *r, struct quarry *q, uint32_t pid);

enum quarry_end {
	QUARRY_ENDED, /* the command is over: what it left behind stays, unless it came to its time */
	QUARRY_UNHEARD, /* its stream broke: it runs on, until its time */
	QUARRY_DOOMED,  /* it shall end now */
};

/* Nobody listens any more. Returns whether the command came to its time. `q` is not to be used afterwards. */
bool quarry_leave(struct reaper *r, struct quarry *q, enum quarry_end how);
