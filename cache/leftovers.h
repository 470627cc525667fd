/*
 * leftovers.h - what a mount has put into staging and what is nothing without it: removed from there at the mount's end.
 *
 * These are files that were removed while they were open, the records that the helper keeps of the mount's journal, and the
 * file of its change stream. The records stay where a change is still pending, for the next mount sends it, and where a
 * change was not answered: a copy of that may arrive later, and is refused by them. Then they go after STAGING_OWED_S.
 */
#pragma once

#include <stdbool.h>

struct cache;

/* After all else has ended. `journal`: the id of the mount's own, NULL: it had none; `is_all_sent`: it is empty. */
void leftovers_remove(struct cache *c, const unsigned char *journal, bool is_all_sent);
