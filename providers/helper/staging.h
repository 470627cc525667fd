/*
 * staging.h - what mounts that are dead have left in staging.
 *
 * By the names of the files: "n-<journal>-..." of new ones that were not yet given their name, "u-<mount>-..." of removed
 * ones that were kept open, "seq-<journal>" of records (helper/sequence.h).
 */
#pragma once

#include "providers/helper/root.h"

/* Nothing of a mount that lives is left alone so long; its own files are spared all the same. */
#define STAGING_FILES_S ((int64_t)24 * 3600)
/* A record is small, and whoever comes back without his would do changes twice. */
#define STAGING_RECORDS_S (30 * STAGING_FILES_S)

/* Removes what was last changed so many seconds before `now_s` (since 1970) and is not of `journal`. */
void staging_clean(
	const struct root *r, const unsigned char journal[JOURNAL_ID_SIZE], int64_t now_s);
