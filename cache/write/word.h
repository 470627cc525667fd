/*
 * word.h - the word in the names of this mount's files in staging.
 */
#pragma once

#include "providers/provider.h"

struct cache; /* cache/session/session.h */

/*
 * Mounts with the same journal follow each other and have the same word. The mount before was
 * killed where cache_follows_killed() says so.
 */
#define CACHE_WORD_SIZE (2 * JOURNAL_ID_SIZE + 1)
void cache_word(const struct cache *c, char out[CACHE_WORD_SIZE]);
