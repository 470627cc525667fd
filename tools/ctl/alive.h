/*
 * alive.h - gives a sandbox that would end by itself more time while a command works in it
 * (cache/session/lifetime.h).
 */
#pragma once

#include "providers/provider.h"

struct lifetime;

struct alive {
	struct lifetime *lifetime; /* NULL: the sandbox has no end */
};

#define AUTO_ALIVE __attribute__((cleanup(alive_end)))

/* `p` outlives `a`. */
enum err alive_begin(struct alive *a, struct provider *p, const struct call *call, struct error *e);
void alive_end(struct alive *a);
