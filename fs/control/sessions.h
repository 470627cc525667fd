/*
 * sessions.h - the names of sessions (providers/user_session.h) that a mount has seen, each with a
 * number for its node.
 *
 * Only the sandbox knows which sessions exist. A name stays as long as the mount does, and its
 * number is never used for another: a session that ended and begins anew has a new number.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/user_session.h"

#include <stdbool.h>

struct exec_last;
struct sessions;

struct session {
	char name[USER_SESSION_NAME_MAX + 1];
	/* the session's last finished command, for readers that did not write one */
	struct exec_last *last;
	bool is_listed; /* the sandbox listed it when asked last; under the lock */
	bool has_ended; /* under the lock */
};

enum err sessions_new(struct sessions **out, struct error *e);
void sessions_free(struct sessions *all);

/*
 * The number of that name, which counts as seen from now on. 0: not a name of a session, or too
 * many were seen.
 */
uint64_t sessions_find(struct sessions *all, const char *name);
/* Valid as long as `all`. `number` comes from sessions_find(). */
const struct session *sessions_at(struct sessions *all, uint64_t number);

/* `names`: the sessions that exist, a line each. */
void sessions_set_listed(struct sessions *all, const char *names);
/* The next listed session after `number`; 0: no more. */
uint64_t sessions_next(struct sessions *all, uint64_t number);
void sessions_end(struct sessions *all, uint64_t number);
