/*
 * ops.h - what the ops_*.c files share: how a path, a slot and a buffer of a call become arguments.
 */
#pragma once

#include "tests/oracle/trace.h"

#include <errno.h>
#include <unistd.h>

#define AT(n)   op_at(s, &c->at[n]), c->at[n].path
#define SLOT(n) (s->slot[c->slot[n]])

/* The directory argument of an *at() call. */
static inline int op_at(struct side *s, const struct where *w)
{
	if (w->base == BASE_SLOT)
		return s->slot[w->slot];
	if (w->base == BASE_ROOT)
		return s->root;
	return fchdir(s->root) ? -1 : AT_FDCWD;
}

/*
 * For calls that take a path alone: the working directory becomes the one the path starts from.
 * false: it cannot.
 */
static inline bool op_enter(struct side *s, const struct where *w, struct outcome *o)
{
	return outcome_take(o, fchdir(w->base == BASE_SLOT ? s->slot[w->slot] : s->root)) == 0;
}

/* A new descriptor is the slot's from here on; where there is none the slot keeps what it had. */
static inline void op_keep(struct side *s, int slot, int fd, struct outcome *o)
{
	outcome_take_fd(o, fd);
	if (fd < 0)
		return;
	if (s->slot[slot] >= 0)
		close(s->slot[slot]);
	s->slot[slot] = fd;
}
