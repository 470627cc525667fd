/*
 * counting_provider.h - a provider over a directory of this machine that counts the calls it gets
 * and can be stopped.
 *
 * The verbs are the helper's own, on the root of a `struct shown`. A gate holds lists up at a
 * directory, also those of streams, instead of time: the answer stands still before the entries of
 * that directory until the gate is opened.
 */
#pragma once

#include "providers/provider.h"
#include "tests/support/shown.h"

#include <pthread.h>
#include <stdatomic.h>

struct counting_provider {
	struct provider base;
	struct shown *shown;
	_Atomic unsigned lists, applies;
	_Atomic unsigned entries; /* told by lists, together */
	_Atomic int64_t since_ns; /* of the latest list: its changed_since_ns */
	enum err fails_with;      /* every list does; ERR_OK: none */
	_Atomic unsigned
		cut_after; /* so many entries the next list that tells as many ends; 0: none does */
	enum err cut_with; /* that one, ERR_OK: without a word of it */
	const char *
		/* a directory that lists end with as one that may not be read; NULL: none */
		closed;
	_Atomic int64_t behind_s; /* so far behind is the clock by which a list ends */
	pthread_mutex_t lock;
	pthread_cond_t changed;   /* of the three below */
	const char *gate;         /* a directory's path; NULL: no list is held up */
	unsigned held;            /* lists that came to the gate since it was closed */
	unsigned cancelled;       /* those of them that gave up there */
	bool has_watch;           /* it tells of changes: set before the first is asked for */
	atomic_bool breaks_watch; /* the next change that is to be told ends the stream instead */
	const char *
		/* the next one is told as lost: in this directory, "" anywhere; NULL: it is not */
		loses;
	const char *
		/* likewise: is told as a directory that can be watched by now; NULL: none is */
		finds;
	atomic_bool holds_ready; /* no stream is ready while this is so */
	_Atomic unsigned
		unwatched; /* so many directories "uN" a stream cannot watch when it begins */
	atomic_bool pauses_at_apply; /* the next apply is cut off: the sandbox is paused */
	atomic_bool is_paused; /* it answers nobody, until somebody asks whose call wakes it */
	_Atomic unsigned wakes, refusals; /* how often that was done, and not */
	_Atomic unsigned watches;         /* streams of changes so far */
	_Atomic unsigned watches_over;    /* those that have ended */
};

void counting_provider_init(struct counting_provider *p, struct shown *shown);
void counting_provider_release(struct counting_provider *p);

/* From now on lists stop before the entries of `path`. */
void counting_provider_close_gate(struct counting_provider *p, const char *path);
/* Waits until a list stands at the gate; fails the test after 60 s. */
void counting_provider_await_held(struct counting_provider *p);
void counting_provider_open_gate(struct counting_provider *p);
