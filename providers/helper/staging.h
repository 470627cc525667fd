/*
 * staging.h - what mounts that are dead have left in staging.
 *
 * By the names of the files: "n-<journal>-..." of new ones that were not yet given their name,
 * "u-<journal>-..." of removed ones that were kept open, "seq-<journal>" and "seq-aside-<journal>"
 * of records (helper/sequence.h), "fence-<journal>" of fences (helper/fence.h), "once-<journal>"
 * of what was asked for one by one (helper/once.h), "watch-<watcher>" of watches
 * (helper/watcher_file.h).
 */
#pragma once

#include "providers/helper/root.h"

/* Nothing of a mount that lives is left alone so long. */
#define STAGING_UNLINKED_S ((int64_t)24 * 3600)
/* Whoever comes back without his record would do changes twice, and without a new file could not give it its name. */
#define STAGING_OWED_S (30 * STAGING_UNLINKED_S)

/* Removes what was last changed so many seconds before `now_s` (since 1970). */
void staging_clean(const struct root *r, int64_t now_s);
