/*
 * jobs.h - commands that run in the background of the sandbox: `.sandbox/spawn` and `.sandbox/jobs`.
 *
 * A job runs there by itself (job_script.h), and is asked about when somebody wants to know: nothing here depends on a
 * connection that lasts, and one that breaks is no harm. Only where every command ends with what ran it (a sandbox on this
 * machine) a thread holds it, and so it ends with the mount; elsewhere it goes on.
 *
 * The sandbox counts as in use while a job runs. Where the sandbox has an end, the jobs are looked
 * at once a minute for that (job_watch.h).
 *
 * Functions may be called from any thread, except as said. Those with a `struct call` ask the sandbox.
 */
#pragma once

#include "fs/deferred.h"
#include "fs/control/exec_command.h"
#include "providers/base/buf.h"

#include <stdint.h>

struct cache;
struct job;
struct jobs;

/* Of those that have ended so many are kept; the oldest goes first. */
#define JOBS_ENDED_MAX 256
/* A longer command is refused. */
#define JOB_TEXT_MAX ((size_t)1024 * 1024)

enum job_state { JOB_STARTING, JOB_RUNNING, JOB_EXITED, JOB_FAILED };

struct job_facts {
	uint64_t id;
	const char *command; /* lives as long as the job */
	enum job_state state;
	int64_t pid;        /* in the sandbox; 0: not started */
	bool has_exit_code; /* of JOB_EXITED; false: its end was not recorded */
	int exit_code;
	int64_t started_s, ended_s; /* since 1970, by the sandbox's clock; 0: not yet */
	uint64_t size;              /* bytes printed */
	enum err failure;           /* JOB_FAILED, as the next */
	char error[200];            /* why it did not start */
};

/* `cache`, `deferrals` and `terms` outlive it. */
enum err jobs_new(struct jobs **out, struct cache *cache, struct deferrals *deferrals,
	const struct exec_terms *terms, struct error *e);
/* After deferrals_stop(). */
void jobs_free(struct jobs *all);

/* Begins one, and takes the bytes of `text`. *out is a reference. ERR_INVALID: that is no command. */
enum err jobs_spawn(struct jobs *all, struct buf *text, const struct audit_who *who,
	struct job **out, struct error *e);
/* A reference; NULL: there is none of that number. */
struct job *jobs_get(struct jobs *all, uint64_t id);
void job_put(struct job *job);
uint64_t job_id(const struct job *job);
/* The number after `id`; 0: there is no more. */
uint64_t jobs_next(struct jobs *all, uint64_t id);
/* The one that was begun last; 0: none. */
uint64_t jobs_last(struct jobs *all);

/* Until it was started, after all that was pending had been sent. Otherwise why it was not. */
enum err job_await_start(struct job *job, const struct cancel *cancel, struct error *e);

/* How it is now. */
enum err job_look(struct job *job, const struct call *call, struct job_facts *out, struct error *e);
/* Adds to `out` what it printed, from `offset` on, `len` bytes at most; less: that is all so far. */
enum err job_read(struct job *job, const struct call *call, uint64_t offset, size_t len,
	struct buf *out, struct error *e);
/* Hands it bytes as standard input, and waits until there is room for them. ERR_NOT_FOUND: it takes none any more. */
enum err job_feed(
	struct job *job, const struct call *call, const void *bytes, size_t len, struct error *e);
/* There will be no more input. */
enum err job_end_input(struct job *job, const struct call *call, struct error *e);
/* To it and all that it has started; `name` as job_signal_name() has it. ERR_NOT_FOUND: it has ended. */
enum err job_signal(struct job *job, const struct call *call, const char *name, struct error *e);
