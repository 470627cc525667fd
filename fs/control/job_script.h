/*
 * job_script.h - what is asked of the sandbox about a job, as shell text, and what it answers.
 *
 * A job is a command in a session of its own, below a shell that waits for it and belongs to nobody's connection. All
 * there is to know of it lies in files beside each other, whose names begin with the job's `base`, an absolute path:
 *
 *	.sh     the command
 *	.out    what it printed, on both streams
 *	.in     a named pipe: its standard input (providers/input_pipe.h)
 *	.ctl    a named pipe: signals to send it, by name, and INPUT_PIPE_EOF
 *	.pid    its process, and when it started, in seconds since 1970
 *	.code   how it ended, and when
 *
 * So it makes no difference who asks, nor over which connection; and where every command has a namespace of processes for
 * itself, a signal still gets there. The files are removed when the mount ends, which alone knows
 * the job; those of jobs that ended a day ago when another job starts.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/input_pipe.h"

#include <stdint.h>

/*
 * Starts `command`, and says JOB_STARTED, its process and the time in one line. `stays`:
 * the script lasts as long as the job, else it ends and leaves the job behind.
 */
void job_script_start(struct buf *out, const char *base, bool stays, const char *command);
#define JOB_STARTED "started"

/*
 * Says how the job is in one line (job_script_read), and behind it `count` bytes of what it printed, from `offset` on.
 * `has_processes`: the job's process can be seen by whoever asks. Ends with JOB_SCRIPT_GONE where there is no such job.
 */
void job_script_look(
	struct buf *out, const char *base, bool has_processes, uint64_t offset, size_t count);
#define JOB_SCRIPT_GONE INPUT_PIPE_GONE

/*
 * Says how several jobs are, a line for each that there is: its number, then the line of
 * job_script_look(). `prefix` and a number are a base; the jobs' processes can be seen.
 */
void job_script_look_at(struct buf *out, const char *prefix, const uint64_t *numbers, size_t count);

/*
 * Removes the files of all jobs whose bases begin with `base`. A job that still runs goes on, and
 * leaves no file at its end.
 */
void job_script_forget(struct buf *out, const char *base);

struct job_look {
	bool has_ended;
	bool has_exit_code; /* false: its end was not recorded */
	int exit_code;      /* 128 + the signal's number when one ended it */
	int64_t ended_s;    /* since 1970 */
	uint64_t size;      /* bytes printed so far */
};

/* Reads the line. false: that is none. */
bool job_script_read(struct job_look *out, const char *line);

/* The name of a signal as people write it: TERM, SIGTERM, sigterm, 15, also with blanks around. NULL: it is none. */
const char *job_signal_name(const char *text, size_t len);
