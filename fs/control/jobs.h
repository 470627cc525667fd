/*
 * jobs.h - commands that run in the background of the sandbox: `.sandbox/spawn` and
 * `.sandbox/jobs`.
 *
 * A job runs there by itself (job_script.h), and is asked about when a user reads its files. No
 * connection has to last for a job, and a broken one does no harm. The exception is a sandbox where
 * every command ends with its runner (a sandbox on this machine): there a thread of the mount runs
 * the job, and the job ends with the mount. Elsewhere the job goes on.
 *
 * The sandbox counts as in use while a job runs. Where the sandbox has an end, a thread looks at
 * the jobs once a minute for that (job_watch.h).
 *
 * Functions may be called from any thread, except as said. Those with a `struct call` ask the
 * sandbox.
 */
#pragma once

#include "fs/deferred.h"
#include "fs/control/exec_command.h"
#include "providers/base/buf.h"

#include <stdint.h>

struct cache;
struct job;
struct jobs;

/* The number of ended jobs that are kept; the oldest is dropped first. */
#define JOBS_ENDED_MAX 256
/* A longer command is refused. */
#define JOB_TEXT_MAX ((size_t)1024 * 1024)

enum job_state { JOB_STARTING, JOB_RUNNING, JOB_EXITED, JOB_FAILED };

struct job_facts {
	uint64_t id;
	const char *command; /* lives as long as the job */
	enum job_state state;
	int64_t pid;        /* in the sandbox; 0: not started */
	bool has_exit_code; /* JOB_EXITED; false: how the job ended was not recorded */
	int exit_code;
	int64_t started_s, ended_s; /* since 1970, by the sandbox's clock; 0: not yet */
	uint64_t size;              /* bytes printed */
	enum err failure;           /* JOB_FAILED, as `error` */
	char error[200];            /* why the job did not start */
};

/* `cache`, `deferrals` and `terms` outlive the jobs. */
enum err jobs_new(struct jobs **out, struct cache *cache, struct deferrals *deferrals,
	const struct exec_terms *terms, struct error *e);
/* After deferrals_stop(). */
void jobs_free(struct jobs *all);

/* Begins a job, and takes the bytes of `text`. *out is a reference. ERR_INVALID: not a command. */
enum err jobs_spawn(struct jobs *all, struct buf *text, const struct audit_who *who,
	struct job **out, struct error *e);
/* A reference; NULL: no job has that number. */
struct job *jobs_get(struct jobs *all, uint64_t id);
void job_put(struct job *job);
uint64_t job_id(const struct job *job);
/* The number after `id`; 0: there is no more. */
uint64_t jobs_next(struct jobs *all, uint64_t id);
/* The job that was begun last; 0: none. */
uint64_t jobs_last(struct jobs *all);

/*
 * Waits until the job has started, which is after all pending changes were sent. On an error the
 * job did not start, and *e says why; on ERR_TIMEOUT it may start yet, which its state then says.
 */
enum err job_await_start(struct job *job, const struct cancel *cancel, struct error *e);

/* The state of the job now. */
enum err job_look(struct job *job, const struct call *call, struct job_facts *out, struct error *e);
/* The state of the job at a look that was answered no longer ago than it took, or now. */
enum err job_size(struct job *job, const struct call *call, struct job_facts *out, struct error *e);
/*
 * Adds to `out` up to `len` bytes of the job's output, from `offset` on. Fewer: there is no more
 * yet.
 */
enum err job_read(struct job *job, const struct call *call, uint64_t offset, size_t len,
	struct buf *out, struct error *e);
/*
 * Hands the job bytes as standard input, and waits until there is room for them. ERR_NOT_FOUND: the
 * job takes no input any more.
 */
enum err job_feed(
	struct job *job, const struct call *call, const void *bytes, size_t len, struct error *e);
/* There will be no more input. */
enum err job_end_input(struct job *job, const struct call *call, struct error *e);
/*
 * Signals the job and all processes that it has started; `name` as job_signal_name() returns it.
 * ERR_NOT_FOUND: the job has ended.
 */
enum err job_signal(struct job *job, const struct call *call, const char *name, struct error *e);
