/*
 * staging.h - removes what dead mounts have left in staging.
 *
 * The names of the files say what they are:
 * - "n-<journal>-...": new files that were not yet given their name
 * - "u-<journal>-...": removed files that were kept open
 * - "seq-<journal>" and "seq-aside-<journal>": records (helper/sequence.h)
 * - "fence-<journal>": fences (helper/fence.h)
 * - "once-<journal>": results of single requests (helper/once.h)
 * - "watch-<watcher>": watches (helper/watcher_file.h)
 */
#pragma once

#include "providers/helper/root.h"

/* A live mount touches each of its files more often than this. */
#define STAGING_UNLINKED_S ((int64_t)24 * 3600)
/*
 * A mount that returns without its record would make changes twice, and without a new file could
 * not give it its name.
 */
#define STAGING_UNSYNCED_S (30 * STAGING_UNLINKED_S)

/* Removes files that were last changed so many seconds before `now_s` (since 1970). */
void staging_clean(const struct root *r, int64_t now_s);
