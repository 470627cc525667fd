/*
 * ops.h - shared by the ops_*.c files: how a path and a slot of a call become arguments.
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
 * false: fchdir(2) failed, which the outcome has.
 */
static inline bool op_enter(struct side *s, const struct where *w, struct outcome *o)
{
	return outcome_take(o, fchdir(w->base == BASE_SLOT ? s->slot[w->slot] : s->root)) == 0;
}

/* Puts a new descriptor into the slot. The slot keeps its old one where the call failed. */
static inline void op_keep(struct side *s, int slot, int fd, struct outcome *o)
{
	outcome_take_fd(o, fd);
	if (fd < 0)
		return;
	if (s->slot[slot] >= 0)
		close(s->slot[slot]);
	s->slot[slot] = fd;
}
