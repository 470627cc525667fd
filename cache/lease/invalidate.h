/*
 * invalidate.h - invalidates what is known: after commands, and for changes that no stream reports.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "providers/provider.h"

struct cache; /* cache/session/session.h */

/*
 * A command that cache_execute() did not wait for has ended: what is known is invalid, as after a
 * command that it waited for.
 */
void cache_command_ended(struct cache *c);
/*
 * As cache_command_ended(), for a caller that waits for the command. Where the kernel has many
 * names, and a stream lives, an audit comes first, and the kernel keeps what the audit confirms.
 * `root`: the root's attributes in the command's answer, which was asked for at `seen`.
 */
void cache_command_answered(
	struct cache *c, const struct call *call, uint64_t seen, const struct attr *root);

/*
 * Invalidates everything known: the next question goes to the sandbox, and everything that was
 * handed out is reported to the observer as outdated.
 */
void cache_invalidate_all(struct cache *c);
/*
 * As cache_invalidate_all(), for a caller that waits and was just answered by the sandbox. Where
 * the kernel has many names, and a stream lives, an audit comes first, and the kernel keeps what
 * the audit confirms.
 */
void cache_check_all(struct cache *c, const struct call *call);
/*
 * As cache_invalidate_all(), because of changes that no stream reports. Bytes that were read ahead
 * stay: they are checked against the file's version anyway.
 */
void cache_invalidate_unreported(struct cache *c);
