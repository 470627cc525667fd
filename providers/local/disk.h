/*
 * disk.h - a disk for an embedded sandbox, which bounds the size of its contents.
 *
 * The disk is a file system in a sparse file .NAME.disk next to the sandbox's directory, mounted on
 * that directory. Only root can mount it. The mount stays until the sandbox is deleted or the
 * machine restarts; the next open of the sandbox mounts the disk again.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Called before NAME in the directory `path`, open as `store`, is made or opened. `asked_mb`: the
 * size for a new sandbox; 0: none asked for. *mb: the size of its disk; 0: no disk.
 * ERR_UNSUPPORTED: not root, or no disk can be made here. ERR_INVALID: the sandbox was made without
 * a disk, or with another size.
 */
enum err local_disk_open(int store, const char *path, const char *name, int64_t asked_mb,
	int64_t *mb, struct error *e);
/* Unmounts and removes the disk with all its contents. True: there was one. */
bool local_disk_remove(int store, const char *path, const char *name);
