/*
 * journal_export.h - the pending changes of a journal as a tar archive.
 *
 * New files, directories and links are in the archive as they would be in the sandbox. Of a file
 * that existed before only the written parts are there, with zeros around them. Changes that an
 * archive cannot express (removed, renamed or refused names, and where files were written) are in a
 * member of its own, JOURNAL_LISTING, a line for each change in the order in which they were made.
 */
#pragma once

#include "cache/journal/journal.h"

#define JOURNAL_LISTING ".sandboxfs-changes"

/*
 * Writes the archive to `fd`. A temporary directory (TMPDIR) needs the room for it. Nothing but the
 * archive is changed.
 */
enum err journal_export(struct journal *j, int fd, struct error *e);
