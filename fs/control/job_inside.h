/*
 * job_inside.h - what jobs.c, all of them, and job.c, a single one, share.
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
	pthread_mutex_t lock;    /* guards `facts` and `has_input_ended` */
	pthread_cond_t changed;  /* facts.state */
	struct job_facts facts;
	bool has_input_ended;
	unsigned references; /* of all->lock */
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
	char word[CACHE_WORD_SIZE];     /* in the names of its jobs' files, and then: */
	char mount[17];                 /* another mount's jobs are others */
	pthread_mutex_t lock;           /* of what follows */
	TAILQ_HEAD(job_list, job) list; /* by id */
	uint64_t last;
};

/* Another reference to a job that the caller has one to; job_put() gives it back. */
struct job *job_get(struct job *job);

/* The base of the job of that number; "": what the bases of all jobs of this mount begin with. */
void jobs_base(const struct jobs *all, const char *number, char out[JOB_BASE_MAX]);

/* Every command ends with what ran it: so is its job held here, and nobody else sees its processes. */
bool job_is_embedded(const struct job *job);
bool job_has_ended(struct job *job);
/* Says why it was not started. */
void job_note_failed(struct job *job, enum err kind, const char *why);
/* How the sandbox says that it is. */
void job_note_look(struct job *job, const struct job_look *look);
/* It has ended, though nothing in the sandbox says how. */
void job_note_lost(struct job *job);

/* Sends what is pending and starts it. Where it is held here, this lasts as long as the job. */
void job_start(struct job *job, const struct cancel *cancel);
