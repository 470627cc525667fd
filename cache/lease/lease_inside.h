/*
 * lease_inside.h - what lease.c and stream.c share; no other file includes it.
 *
 * Functions that end in _locked expect lease.lock to be held.
 */
#pragma once

#include "cache/lease/lease.h"

#include <pthread.h>
#include <stdatomic.h>

enum lease_state {
	LEASE_IDLE,      /* no stream; one may begin */
	LEASE_BEGINNING, /* requested, not ready */
	LEASE_LIVE,
};

/* A list that the stream carries, and for which a caller waits. */
struct carried {
	const struct lease_list *list;
	uint64_t items; /* items received so far */
	bool is_over;
	enum err kind;
	struct error error;
};

struct lease {
	struct cache *cache;
	struct cancel ends; /* a timer: when it expires the stream ends */
	_Atomic enum lease_state state;
	_Atomic int64_t used_ms; /* when use was last noted, by the cache's clocks */
	/*
	 * By the cache's clocks: when something was last received, or the tree invalidated because
	 * nothing was.
	 */
	_Atomic int64_t last_received_ms;
	/* The stream is to end: other requests had no answer, or the machine slept. */
	atomic_bool is_given_up;
	atomic_bool carries;    /* the stream carries a list for which a caller waits */
	bool is_unwatched_said; /* this was logged; used by the stream's thread alone */
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed;
	bool has_thread, is_running, is_stopping;
	pthread_t thread;
	struct carried *carried;   /* NULL: the list is over, or its caller has gone */
	struct tree_listing first; /* the list that began the stream */
	bool is_bare;              /* nothing was known before that list */
	int64_t pause_ms;
	int64_t retry_ms, lived_from_ms; /* by the cache's clocks */
	int64_t begun_ms;                /* monotonic */
	int64_t slept_ms;                /* how long the machine slept in all */
	struct error failure;            /* why the last stream failed; kind 0: it did not */
	bool is_failure_said;            /* the failure was logged */
};

/* The stream's thread: one stream after the other, whenever there is a list to begin with. */
void *lease_run(void *lease);

/* Requests a stream: with this list, or (NULL) without one, for listeners. */
void lease_begin_locked(struct lease *l, struct carried *c);

/* The list is over, or its caller has gone. */
void lease_carried_locked(struct lease *l);

/* The time by the cache's clocks. */
int64_t lease_now_ms(const struct lease *l);

/*
 * Begins anew to count the time without use, after which the stream ends. The stream stays while a
 * caller waits for its list, or a listener is there.
 */
void lease_arm(const struct lease *l);
/* Something was received. */
void lease_received(struct lease *l);
/* Ends the stream after `ms` milliseconds. */
void lease_end_after(const struct lease *l, int64_t ms);
