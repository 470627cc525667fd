/*
 * lifetime.h - keeps a sandbox that would end by itself alive while its mount is in use.
 *
 * In use is a mount of which something was asked in the last 15 minutes, that somebody holds (a handle open for writing,
 * a command), or that has changes which the sandbox does not have yet. Then one thread gives the sandbox more time whenever half of what is left is over. An idle mount
 * makes no call at all and lets the sandbox end. Functions may be called from any thread; those that take a struct
 * lifetime accept NULL, which is a sandbox without end.
 *
 * Where the end comes all the same, also of an idle mount, the thread looks once whether the sandbox is gone.
 */
#pragma once

#include "cache/session/counted_provider.h"

struct lifetime;

/* How long after the last request a mount still counts as used: design decision, someone may be reading. */
#define LIFETIME_USED_MS (15 * 60 * 1000)

struct lifetime_options {
	int64_t left_s;      /* of a sandbox that has an end */
	int64_t wanted_s;    /* what to give it each time; 0: 300 */
	int64_t progress_ms; /* of a renewal: base/call.h */
	int64_t used_ms;     /* how long after a request the mount is in use; 0: LIFETIME_USED_MS */
	/* Whether the sandbox has not got all changes yet; NULL: there are none. Any thread calls. */
	bool (*is_pending)(void *context);
	void *context;
};

/* `provider` is copied; what it points to outlives the result. */
enum err lifetime_new(struct lifetime **out, const struct counted_provider *provider,
	const struct lifetime_options *options, struct error *e);
/* Gives up a renewal under way. */
void lifetime_free(struct lifetime *l);

/* Something was asked. Costs next to nothing. */
void lifetime_used(struct lifetime *l);

/* While held the mount is in use. */
void lifetime_hold(struct lifetime *l);
void lifetime_let(struct lifetime *l);

/* Seconds until it ends, as far as is known; -1: it does not. */
int64_t lifetime_left_s(struct lifetime *l);
