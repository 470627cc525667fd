/*
 * job_script.h - the shell text of requests to the sandbox about a job, and the answers.
 *
 * A job is a command in a session of its own, below a shell that waits for it and depends on no
 * connection. All facts of a job lie in files of one directory, whose names begin with the job's
 * `base`, an absolute path:
 *
 *	.sh     the command
 *	.out    its output, of both streams
 *	.in     a named pipe: its standard input (providers/input_pipe.h)
 *	.ctl    a named pipe: signals to send it, by name, and INPUT_PIPE_EOF
 *	.pid    its process, and when it started, in seconds since 1970
 *	.code   how it ended, and when
 *
 * So any process may ask, over any connection. A signal arrives even where every command has a
 * namespace of processes for itself. The files are removed when the mount ends, which alone knows
 * the job. Files of jobs that ended a day ago are removed when another job starts.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/input_pipe.h"

#include <stdint.h>

/*
 * Starts `command`, and prints JOB_STARTED, its process and the time in one line. `stays`: the
 * script lasts as long as the job; otherwise it ends and leaves the job behind.
 */
void job_script_start(struct buf *out, const char *base, bool stays, const char *command);
#define JOB_STARTED "started"

/*
 * Prints the job's state in one line (job_script_read), and behind it up to `count` bytes of its
 * output, from `offset` on. `has_processes`: commands can see the job's process. Ends with
 * JOB_SCRIPT_GONE where there is no such job.
 */
void job_script_look(
	struct buf *out, const char *base, bool has_processes, uint64_t offset, size_t count);
#define JOB_SCRIPT_GONE INPUT_PIPE_GONE

/*
 * Prints the state of several jobs, a line for each that exists: its number, then the line of
 * job_script_look(). `prefix` and a number are a base; commands can see the jobs' processes.
 */
void job_script_look_at(struct buf *out, const char *prefix, const uint64_t *numbers, size_t count);

/*
 * Removes the files of all jobs whose bases begin with `base`. A job that still runs goes on, and
 * leaves no file at its end.
 */
void job_script_forget(struct buf *out, const char *base);

struct job_look {
	bool has_ended;
	bool has_exit_code; /* false: how the job ended was not recorded */
	int exit_code;      /* 128 + the signal's number when one ended it */
	int64_t ended_s;    /* since 1970 */
	uint64_t size;      /* bytes printed so far */
};

/* Reads the line. false: no such line. */
bool job_script_read(struct job_look *out, const char *line);

/*
 * The name of a signal in the forms that people write: TERM, SIGTERM, sigterm, 15, also with blanks
 * around. NULL: no signal.
 */
const char *job_signal_name(const char *text, size_t len);
