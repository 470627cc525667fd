/*
 * handle.h - one open file, as the kernel knows it: what its flags mean, and when it counts as use.
 *
 * The kernel hands the number in `fh` back with every request on the handle. While a handle for
 * writing exists the sandbox is in use (cache/session/lifetime.h). Functions may be called from any
 * thread.
 */
#pragma once

#include "cache/cache.h"
#include "fs/lowlevel.h"

enum handle { HANDLE_READS, HANDLE_WRITES };

/* The file is open already. Sets `fh`, and `noflush`: its close sends no flush. */
void handle_begins(struct cache *c, struct fuse_file_info *fi);
/* Closes the file, too. */
void handle_ends(struct cache *c, struct inode *i, const struct fuse_file_info *fi);

/* The flags (enum write_flags) of a write through this handle. */
unsigned handle_write_flags(const struct fuse_file_info *fi);
