/*
 * job_watch.h - a sandbox that would end by itself stays in use while a job runs in it.
 *
 * One thread looks at all watched jobs once a minute, hundreds of them in one request. The thread
 * starts with the first job, and sleeps while none is watched. A job that is known to have ended
 * leaves nothing here. Functions may be called from any thread.
 */
#pragma once

#include "fs/control/job_inside.h"

/* Starts no thread yet. `interval_ms`: between two looks. */
enum err job_watch_new(
	struct job_watch **out, struct cache *cache, int64_t interval_ms, struct error *e);
/* Gives up a look that is under way, and releases every job. NULL is allowed. */
void job_watch_free(struct job_watch *w);

/*
 * The sandbox is in use for the job from now on. A job is watched once at most; the watch takes a
 * reference.
 */
void job_watch_add(struct job_watch *w, struct job *job);
/* `job` need not be watched. The caller has a reference of its own. */
void job_watch_remove(struct job_watch *w, struct job *job);

/* Looks at all watched jobs now; jobs whose files are gone are watched no more. */
void job_watch_look(struct job_watch *w);
