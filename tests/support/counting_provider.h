/*
 * counting_provider.h - a provider over a directory of this machine that counts its calls and
 * can be stopped.
 *
 * The verbs are the helper's own, on the root of a `struct shown`. A gate replaces delays: the
 * answer of a list, also of a stream's, stands still before the entries of a directory until the
 * gate is opened.
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
	_Atomic unsigned entries; /* the number of entries in all lists together */
	_Atomic int64_t since_ns; /* the changed_since_ns of the latest list */
	enum err fails_with;      /* the error of every list; ERR_OK: lists succeed */
	/* the next list that reaches so many entries ends there, once; 0: no list does */
	_Atomic unsigned cut_after;
	enum err cut_with; /* the error of that list; ERR_OK: the list ends as if it were whole */
	/* a directory that lists end with as one that may not be read; NULL: none */
	const char *closed;
	_Atomic int64_t behind_s; /* seconds by which the clock at the end of a list is behind */
	pthread_mutex_t lock;
	pthread_cond_t changed;   /* of `gate`, `held` and `cancelled` */
	const char *gate;         /* a directory's path; NULL: no list is held up */
	unsigned held;            /* lists that came to the gate since it was closed */
	unsigned cancelled;       /* held lists that were cancelled at the gate */
	bool has_watch;           /* streams of changes are supported: set before the first */
	atomic_bool breaks_watch; /* the next event of a change ends the stream instead */
	/* the next event is WATCH_LOST for this directory, "" for all, once; NULL: none is */
	const char *loses;
	/* the next event is WATCH_FOUND: this directory can be watched by now; NULL: none is */
	const char *finds;
	atomic_bool holds_ready; /* no stream is ready while this is set */
	/* the number of directories "uN" that a stream cannot watch when it begins */
	_Atomic unsigned unwatched;
	atomic_bool pauses_at_apply; /* the next apply is cut off: the sandbox is paused */
	atomic_bool is_paused;       /* no call is answered until one that may wake the sandbox */
	/* calls that woke the sandbox, and background calls that were refused as it was paused */
	_Atomic unsigned wakes, refusals;
	_Atomic unsigned watches;      /* streams of changes so far */
	_Atomic unsigned watches_over; /* streams of changes that have ended */
};

void counting_provider_init(struct counting_provider *p, struct shown *shown);
void counting_provider_release(struct counting_provider *p);

/* From now on lists stop before the entries of `path`. */
void counting_provider_close_gate(struct counting_provider *p, const char *path);
/* Waits until a list stands at the gate; fails the test after 60 s. */
void counting_provider_await_held(struct counting_provider *p);
void counting_provider_open_gate(struct counting_provider *p);
