/*
 * invalidate.h - what is known is put in doubt, by commands and by what no stream told.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "providers/provider.h"

struct cache; /* cache/session/session.h */

/* A command that cache_execute() did not wait for has ended: what is known is doubted as after one that it did. */
void cache_command_ended(struct cache *c);
/*
 * As cache_command_ended(), for one who waits for it: where the kernel has much, and a stream lives,
 * an audit comes first, and the kernel keeps what that confirms. `root`: as the command's answer told
 * it, which was asked for at `seen`.
 */
void cache_command_answered(
	struct cache *c, const struct call *call, uint64_t seen, const struct attr *root);

/* Doubts everything known: the next question goes to the sandbox, and the observer is told of all that was handed out. */
void cache_invalidate_all(struct cache *c);
/*
 * The same, for one who waits for it and was just answered: where the kernel has much, and a stream
 * lives, an audit comes first, and the kernel keeps what that confirms.
 */
void cache_check_all(struct cache *c, const struct call *call);
/* As cache_invalidate_all(), on account of what no stream tells: what is being read ahead knows by itself what it is worth. */
void cache_invalidate_unreported(struct cache *c);
