/*
 * job_inside.h - what jobs.c, all of them, and job.c, a single one, share.
 */
#pragma once

#include "fs/jobs.h"

#include <pthread.h>
#include <sys/queue.h>

struct job {
	struct jobs *all;
	struct buf text;
	char base[1200];        /* in the sandbox: job_script.h */
	pthread_mutex_t lock;   /* of what follows */
	pthread_cond_t changed; /* facts.state */
	struct job_facts facts;
	bool has_input_ended;
	unsigned references; /* of all->lock */
	TAILQ_ENTRY(job) link;
};

struct jobs {
	struct cache *cache;
	struct deferrals *deferrals;
	char mount[17];       /* in the names of its jobs' files: another mount's jobs are others */
	pthread_mutex_t lock; /* of what follows */
	TAILQ_HEAD(job_list, job) list; /* by id */
	uint64_t last;
};

/* Every command ends with what ran it: so is its job held here, and nobody else sees its processes. */
bool job_is_embedded(const struct job *job);
bool job_has_ended(struct job *job);
/* Says why it was not started. */
void job_note_failed(struct job *job, enum err kind, const char *why);
/* It has ended, though nothing in the sandbox says how. */
void job_note_lost(struct job *job);

/* Sends what is pending and starts it. Where it is held here, this lasts as long as the job. */
void job_start(struct job *job, const struct cancel *cancel);
