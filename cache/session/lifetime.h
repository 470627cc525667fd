/*
 * lifetime.h - keeps a sandbox that would end by itself alive while its mount is in use.
 *
 * A mount is in use that had a request in the last 15 minutes, that has a file open for writing or
 * a command running (lifetime_hold()), or that has changes pending. Then one thread renews the
 * sandbox whenever half of its remaining time is over. An idle mount makes no call at all and lets
 * the sandbox end. Functions may be called from any thread. Those that take a struct lifetime
 * accept NULL, which is a sandbox without end.
 *
 * Where the end comes all the same, also of an idle mount, the thread looks once whether the
 * sandbox is gone.
 */
#pragma once

#include "cache/session/counted_provider.h"

struct lifetime;

/*
 * How long after the last request a mount still counts as used. This is a design decision: a person
 * may be reading.
 */
#define LIFETIME_USED_MS (15 * 60 * 1000)

struct lifetime_options {
	int64_t left_s;      /* the time left of a sandbox that has an end */
	int64_t wanted_s;    /* the time that each renewal gives; 0: 300 */
	int64_t progress_ms; /* the deadline on progress of a renewal: base/call.h */
	int64_t used_ms;     /* how long after a request the mount is in use; 0: LIFETIME_USED_MS */
	/* Whether changes are pending; NULL: there are none. Called from any thread. */
	bool (*is_pending)(void *context);
	void *context;
};

/* `provider` is copied; what it points to outlives the result. */
enum err lifetime_new(struct lifetime **out, const struct counted_provider *provider,
	const struct lifetime_options *options, struct error *e);
/* Cancels a renewal under way. */
void lifetime_free(struct lifetime *l);

/* A request came. The call costs next to nothing. */
void lifetime_used(struct lifetime *l);

/* The mount is in use until lifetime_let(). */
void lifetime_hold(struct lifetime *l);
void lifetime_let(struct lifetime *l);

/* Seconds until the sandbox ends, as far as is known; -1: it does not end. */
int64_t lifetime_left_s(struct lifetime *l);
