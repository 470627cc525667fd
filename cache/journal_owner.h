/*
 * journal_owner.h - what a journal's file "owner" says of the process that has it: "process 12, mounted on /mnt".
 */
#pragma once

#include "cache/journal.h"

/* `mount`: where the sandbox is mounted; NULL: nowhere. The result is the length. */
int journal_owner_text(char who[JOURNAL_OWNER_MAX], const char *mount);

/*
 * Whether nothing is mounted any more where the owner's mount was, as its own process sees it: then it is about to end. Of
 * a process that cannot be looked at, as one of another namespace, it is not known: false.
 */
bool journal_owner_is_leaving(const char *who);
