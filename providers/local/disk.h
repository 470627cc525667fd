/*
 * disk.h - a disk of its own for an embedded sandbox, which bounds what the sandbox holds.
 *
 * A file system in a sparse file .NAME.disk beside the sandbox's directory, on which it is mounted.
 * That takes root. Once mounted it stays until the sandbox is deleted, or the machine is started
 * again: whoever opens the sandbox next mounts it.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Before NAME of the directory `path`, open as `store`, is made or opened. `asked_mb`: how large, of a
 * sandbox that is new; 0: nobody asks. *mb: how large its disk is; 0: it has none. ERR_UNSUPPORTED: not
 * root, or no disk can be made here. ERR_INVALID: it was made without one, or with another.
 */
enum err local_disk_open(int store, const char *path, const char *name, int64_t asked_mb,
	int64_t *mb, struct error *e);
/* Unmounts and removes it, with all it holds. True: there was one. */
bool local_disk_remove(int store, const char *path, const char *name);
