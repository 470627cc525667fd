/*
 * background_fetch.h - a large file that is read here and there, fetched whole in the background.
 *
 * Each of such reads costs a round trip, in which the link carries next to nothing. After some of
 * them the file streams into the block store, as long as the reader goes on and does not find
 * everything there. The reader still asks for bytes that have not come yet. One file at a time.
 *
 * Locks: its own one, above the tree's. Any function may be called from any thread. Functions take
 * NULL for `f`: nothing is fetched in the background.
 */
#pragma once

#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

struct background_fetch;

enum err background_fetch_new(struct background_fetch **out, struct cache *c, struct error *e);
/* Called when no read is under way. A call is cancelled and waited for. */
void background_fetch_free(struct background_fetch *f);

/*
 * `i` was read somewhere; `asked_ms`: how long the sandbox was asked for these bytes alone;
 * negative: they were here.
 */
void background_fetch_note(struct background_fetch *f, struct inode *i, int64_t asked_ms);
