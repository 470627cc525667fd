/*
 * reaper.h - ends commands that no caller waits for any more, in the background.
 *
 * One thread, started with the first command. A command's processes get TERM, and 5 s later KILL.
 * Signals travel as requests of their own (`send`), one at a time, with a deadline. Functions may
 * be called from any thread.
 */
#pragma once

#include "providers/base/call.h"

struct reaper;

/*
 * In the environment of all processes that a command starts, so that they can be found again: 128
 * random bits in hexadecimal, and a NUL.
 */
#define MARKER_NAME "SANDBOXFS_COMMAND"
#define MARKER_SIZE 33

/*
 * Sends TERM or KILL to the processes that the command with the marker started. `started`: the
 * argument of reaper_end(). *found: there was such a process. Called without a lock.
 */
typedef enum err (*reaper_send)(void *context, const struct call *call, const char *marker,
	unsigned started, int signal, bool *found, struct error *e);

/*
 * For vendors without a better way: the program, to be run in the sandbox, that sends the signal to
 * every process with the marker and prints their numbers, a line each.
 */
#define REAPER_ARGC 8
/*
 * The index of the script among its arguments: $1 TERM, KILL or 0, $2 the marker, $3 how often to
 * look.
 */
#define REAPER_SCRIPT 2
void reaper_argv(const char *argv[REAPER_ARGC], const char *marker, int signal);

enum err reaper_new(struct reaper **out, reaper_send send, void *context, struct error *e);
/* Commands that are to be ended get KILL at once. Waits for a short time. */
void reaper_free(struct reaper *r);

/*
 * A marker for a command that is about to run. ERR_IO: no random bytes; other errors: of starting a
 * thread.
 */
enum err reaper_mark(struct reaper *r, char marker[MARKER_SIZE], struct error *e);
/*
 * Ends the command: TERM now, KILL later. `started` 0: it is not known whether the command began,
 * so KILL follows even when TERM found no process.
 */
void reaper_end(struct reaper *r, const char marker[MARKER_SIZE], unsigned started);
