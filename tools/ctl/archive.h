/*
 * archive.h - a tree of this machine as a tar archive, and back; the only place that knows libarchive.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

/*
 * Writes what is below `dir` to `fd`, by paths from there. Holes stay holes where tar knows them.
 * `repeats_directories`: each comes once more behind all, for programs that give a directory its
 * time and its mode before all that is in it is there.
 */
enum err archive_tree(const char *dir, int fd, bool repeats_directories, struct error *e);

/*
 * Makes what is in the archive that is read from `fd` below `dir`, which is empty: files, links and
 * directories, with their permissions and times. ERR_PROTOCOL: a member would be elsewhere.
 */
enum err archive_unpack(int fd, const char *dir, struct error *e);
