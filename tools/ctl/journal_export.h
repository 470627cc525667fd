/*
 * journal_export.h - what a journal owes, as a tar archive.
 *
 * New files, directories and links are in it as they would be in the sandbox; of a file that was there before only what was
 * written since, and zeros around it. What an archive cannot say (what was removed, renamed or refused, and where files
 * were written) is in a member of its own, JOURNAL_LISTING, a line for each change in the order in which they were made.
 */
#pragma once

#include "cache/journal/journal.h"

#define JOURNAL_LISTING ".sandboxfs-changes"

/*
 * Writes it to `fd`. It is put together in a temporary directory (TMPDIR), which has to have the room. What is changed is
 * the archive alone.
 */
enum err journal_export(struct journal *j, int fd, struct error *e);
