/*
 * setgid.h - a set-group-ID bit that must be cleared when a file is written or changes its owner.
 *
 * The kernel clears set-user-ID bits of a file that is written or given away, and set-group-ID bits
 * where the group may execute. The file system must clear the bit of a file whose group may not
 * execute, when the writing process is neither privileged nor in that group.
 */
#pragma once

#include "fs/fs.h"

/* Clears the bit before a write, where it must go. */
enum err setgid_drop(const struct fs *fs, fuse_req_t req, const struct call *call, struct inode *i,
	struct error *e);

/* Clears the bit within a truncation or a change of owner: `change` then sets the mode, too. */
void setgid_drop_with(const struct fs *fs, fuse_req_t req, struct inode *i, struct change *change);
