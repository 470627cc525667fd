/*
 * background_fetch.h - a large file that is read here and there, fetched whole behind its reader.
 *
 * Each of such reads costs a round trip, in which the link carries next to nothing. After some of them the file streams
 * into `stored`, as long as the reader goes on and does not find it all there; he still asks for what has not come yet. One
 * file at a time.
 *
 * Locks: its own one, above the tree's. Any function may be called from any thread. Functions take NULL for `f`: nothing is
 * fetched behind.
 */
#pragma once

#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

struct background_fetch;

enum err background_fetch_new(struct background_fetch **out, struct cache *c, struct error *e);
/* No read may be under way. A call is cancelled and waited for. */
void background_fetch_free(struct background_fetch *f);

/* `i` was read somewhere; `asked`: and the sandbox was asked for it alone. */
void background_fetch_note(struct background_fetch *f, struct inode *i, bool asked);
