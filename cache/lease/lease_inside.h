/*
 * lease_inside.h - what lease.c and stream.c share; nobody else includes it.
 *
 * Functions that end in _locked expect lease.lock to be held.
 */
#pragma once

#include "cache/lease/lease.h"

#include <pthread.h>
#include <stdatomic.h>

enum lease_state {
	LEASE_IDLE,      /* there may be one */
	LEASE_BEGINNING, /* it is asked for */
	LEASE_LIVE,
};

/* Somebody who waits for a list that the stream carries. */
struct carried {
	const struct lease_list *list;
	uint64_t items; /* heard so far */
	bool is_over;
	enum err kind;
	struct error error;
};

struct lease {
	struct cache *cache;
	struct cancel ends; /* a timer: when it is over the stream is given up */
	_Atomic enum lease_state state;
	_Atomic int64_t noted_ms; /* when use was last noted, by the cache's clocks */
	_Atomic int64_t
		last_received_ms; /* likewise: when something was last told, or doubted because nothing was */
	atomic_bool is_given_up; /* because others found nobody */
	atomic_bool carries;     /* a list that somebody waits for */
	bool is_unwatched_said;  /* logged; used by the stream's thread alone */
	pthread_mutex_t lock;    /* guards what follows */
	pthread_cond_t changed;
	bool has_thread, is_running, is_stopping;
	pthread_t thread;
	struct carried *carried;   /* NULL: it is over, or nobody wants it any more */
	struct tree_listing first; /* what began the stream */
	bool is_bare;              /* nothing was known before that */
	int64_t pause_ms;
	int64_t retry_ms, lived_from_ms; /* by the cache's clocks */
	int64_t begun_ms;                /* monotonic */
	int64_t slept_ms;                /* how long the machine slept in all */
	struct error failure;            /* why the last stream ended; kind 0: without one */
	bool is_failure_said;            /* in the log */
};

/* The stream's thread: one stream after the other, whenever there is a list to begin with. */
void *lease_run(void *lease);

/* A stream is wanted: with this list, or (NULL) to listen only. */
void lease_begin_locked(struct lease *l, struct carried *c);

/* The list is over, or whoever asked for it has gone. */
void lease_carried_locked(struct lease *l);

/* By the cache's clocks. */
int64_t lease_now_ms(const struct lease *l);

/* From now on it counts how long the mount is not used; not while somebody waits or listens. */
void lease_arm(const struct lease *l);
/* Something was told. */
void lease_received(struct lease *l);
/* The stream is given up after so long, in ms. */
void lease_end_after(const struct lease *l, int64_t ms);
