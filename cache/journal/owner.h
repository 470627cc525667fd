/*
 * owner.h - a journal's file "owner" names the process that has the journal, as in
 * "process 12, mounted on /mnt".
 */
#pragma once

#include "cache/journal/journal.h"

/* `mount`: where the sandbox is mounted; NULL: nowhere. Returns the length. */
int journal_owner_text(char who[JOURNAL_OWNER_MAX], const char *mount);

/*
 * Whether nothing is mounted any more where the owner's mount was, as the owner's own process sees
 * the machine: then the owner is about to end. false also for a process that cannot be looked at,
 * such as one of another namespace.
 */
bool journal_owner_is_leaving(const char *who);
