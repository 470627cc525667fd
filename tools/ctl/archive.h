/*
 * archive.h - a tree of this machine as a tar archive; the only place that knows libarchive.
 */
#pragma once

#include "providers/base/error.h"

/* Writes what is below `dir` to `fd`, by paths from there. Holes stay holes where tar knows them. */
enum err archive_tree(const char *dir, int fd, struct error *e);
