/*
 * word.h - a word for the names of what this mount puts in staging.
 */
#pragma once

#include "providers/provider.h"

struct cache; /* cache/session/session.h */

/*
 * A word for names in the staging directory. Mounts with the same journal have the same one, one after the other;
 * the mount before was killed where cache_follows_killed() says so.
 */
#define CACHE_WORD_SIZE (2 * JOURNAL_ID_SIZE + 1)
void cache_word(const struct cache *c, char out[CACHE_WORD_SIZE]);
