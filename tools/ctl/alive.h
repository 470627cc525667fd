/*
 * alive.h - a sandbox that would end by itself is given more time while somebody works in it (cache/session/lifetime.h).
 */
#pragma once

#include "providers/provider.h"

struct lifetime;

struct alive {
	struct lifetime *lifetime; /* NULL: it has no end */
};

#define AUTO_ALIVE __attribute__((cleanup(alive_end)))

/* `p` outlives it. */
enum err alive_begin(struct alive *a, struct provider *p, const struct call *call, struct error *e);
void alive_end(struct alive *a);
