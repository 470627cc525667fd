/*
 * walk_inside.h - what the two files of the walk share; no other file includes it.
 */
#pragma once

#include "cache/lease/listing.h"

#include "providers/base/call.h"

/* A caller that waits for one directory of a listing. */
struct waiter {
	LIST_ENTRY(waiter) link;
	const struct inode *dir;
	int fd;           /* an eventfd: a field below was set */
	bool has_outcome; /* walk->lock guards this and the fields below */
	struct listing_outcome outcome;
	struct error error; /* the error of the whole call, when it is over */
};

/* One listing, under way until is_over. */
struct running {
	LIST_ENTRY(running) link; /* walk->lock */
	struct walk *walk;
	struct listing listing;
	struct progress progress; /* the progress of its thread */
	uint32_t number;
	bool has_thread;
	pthread_t thread;
	bool is_over;                           /* walk->lock */
	LIST_HEAD(waiter_list, waiter) waiters; /* walk->lock */
};

struct walk {
	struct cache *cache;
	struct cancel cancel; /* cancels every listing that has a thread */
	pthread_mutex_t lock; /* guards what follows */
	LIST_HEAD(running_list, running) all;
	unsigned under_way;
	unsigned steps;  /* the number of listings of the present walk */
	int64_t last_ms; /* when the last listing ended, or a directory from it was read */
};

/* ---- walk_running.c ---- */

/* Takes the plan, also on failure (ERR_NO_MEMORY). */
enum err running_new(
	struct running **out, struct walk *w, struct listing_plan *plan, struct error *e);

/* Runs the listing to its end. Called once, without the lock. */
void running_run(struct running *r, const struct call *call);
/* As running_run(), in a thread of its own, where there is one to be had (has_thread). */
void running_start(struct running *r);

/* Removes the listing from the walk and waits for its thread, which is over or about to be. */
void running_free(struct running *r);
