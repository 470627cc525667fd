/*
 * job_inside.h - shared by jobs.c (all jobs) and job.c (one job).
 */
#pragma once

#include "cache/cache.h"
#include "fs/control/job_script.h"
#include "fs/control/jobs.h"

#include <pthread.h>
#include <sys/queue.h>

#define JOB_BASE_MAX 1200

struct job {
	struct jobs *all;
	struct buf text;
	char base[JOB_BASE_MAX]; /* in the sandbox: job_script.h */
	pthread_mutex_t lock;    /* guards the facts, the look and `has_input_ended` */
	pthread_cond_t changed;  /* to facts.state */
	struct job_facts facts;
	/* when the last look was answered, and how long that took; monotonic */
	int64_t looked_ms, look_took_ms;
	struct progress progress; /* the start's; made before another thread has the job */
	bool has_input_ended;
	unsigned references; /* under all->lock */
	TAILQ_ENTRY(job) link;
	bool is_watched; /* under the lock of job_watch.c, as `watched` */
	TAILQ_ENTRY(job) watched;
};

struct job_watch;

struct jobs {
	struct cache *cache;
	struct deferrals *deferrals;
	const struct exec_terms *terms;
	struct job_watch *watch;
	char word[CACHE_WORD_SIZE];     /* in the names of this mount's job files, before `mount` */
	char mount[17];                 /* distinguishes this mount's jobs from another's */
	pthread_mutex_t lock;           /* guards the fields below */
	TAILQ_HEAD(job_list, job) list; /* by id */
	uint64_t last;
};

/* Another reference to a job that the caller has a reference to; job_put() gives it back. */
struct job *job_get(struct job *job);

/*
 * The base of the job with that number. "": the common beginning of the bases of all jobs of this
 * mount.
 */
void jobs_base(const struct jobs *all, const char *number, char out[JOB_BASE_MAX]);

/*
 * Every command ends with its runner. So a thread here keeps the job's command running, and no
 * other command sees the job's processes.
 */
bool job_is_embedded(const struct job *job);
bool job_has_ended(struct job *job);
/* The job was not started, for the reason `why`. */
void job_note_failed(struct job *job, enum err kind, const char *why);
/* The state of the job as the sandbox reported it. */
void job_note_look(struct job *job, const struct job_look *look);
/* The job has ended, though nothing in the sandbox says how. */
void job_note_lost(struct job *job);

/*
 * Sends the pending changes and starts the job. For an embedded job the call lasts as long as the
 * job.
 */
void job_start(struct job *job, const struct cancel *cancel);
