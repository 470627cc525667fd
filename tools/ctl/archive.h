/*
 * archive.h - a tree of this machine as a tar archive, and back; the only user of libarchive.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

/*
 * Writes the tree below `dir` to `fd`, with paths from there. Holes stay holes where tar knows
 * them. `repeats_directories`: all directories come once more at the end, for programs that set a
 * directory's time and mode before all its entries are there.
 */
enum err archive_tree(const char *dir, int fd, bool repeats_directories, struct error *e);

/*
 * Unpacks the archive that is read from `fd` below `dir`, which is empty: files, links and
 * directories, with their permissions and times. ERR_PROTOCOL: a member would lie outside `dir`.
 */
enum err archive_unpack(int fd, const char *dir, struct error *e);
