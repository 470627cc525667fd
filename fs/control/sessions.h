/*
 * sessions.h - the names of sessions (providers/user_session.h) that a mount has seen, each with a
 * number for its node.
 *
 * Which sessions there are is known by the sandbox alone. A name stays as long as the mount does,
 * and its number stands for nothing else: a session that ended and begins anew has another.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/user_session.h"

#include <stdbool.h>

struct exec_last;
struct sessions;

struct session {
	char name[USER_SESSION_NAME_MAX + 1];
	struct exec_last *last; /* its last finished command, for who did not write one */
	bool is_listed;         /* the sandbox had it when it was asked; under the lock */
	bool has_ended;         /* likewise under the lock */
};

enum err sessions_new(struct sessions **out, struct error *e);
void sessions_free(struct sessions *all);

/* The number of that name, which is seen with it; 0: it is none, or too many were seen. */
uint64_t sessions_find(struct sessions *all, const char *name);
/* Stays as long as `all`. `number` is one that sessions_find() gave. */
const struct session *sessions_at(struct sessions *all, uint64_t number);

/* Those there are, a line each. */
void sessions_set_listed(struct sessions *all, const char *names);
/* The next that is listed after that number; 0: no more. */
uint64_t sessions_next(struct sessions *all, uint64_t number);
void sessions_end(struct sessions *all, uint64_t number);
