/*
 * handle.h - one open file, as the kernel knows it: what its flags mean, when it counts as use.
 *
 * The number in `fh` is what the kernel hands back with every request on the handle. While a handle
 * for writing is there the sandbox is in use (cache/session/lifetime.h). Functions may be called from any
 * thread.
 */
#pragma once

#include "cache/cache.h"
#include "fs/lowlevel.h"

enum handle { HANDLE_READS, HANDLE_WRITES };

/* The file is open already. Sets `fh`, and `noflush`: whether its close need not ask. */
void handle_begins(struct cache *c, struct fuse_file_info *fi);
/* Closes the file, too. */
void handle_ends(struct cache *c, struct inode *i, const struct fuse_file_info *fi);

/* Of a write: enum write_flags. */
unsigned handle_write_flags(const struct fuse_file_info *fi);
