/*
 * setgid.h - a set-group-ID bit that must go when somebody writes or changes the owner.
 *
 * The kernel takes set-user-ID bits from a file that is written or given away, and set-group-ID bits where the group may
 * execute. What it leaves to the file system is the bit on a file whose group may not execute, when who does it is neither
 * privileged nor in that group.
 */
#pragma once

#include "fs/fs.h"

/* Takes it away before a write, where it must go. */
enum err setgid_drop(const struct fs *fs, fuse_req_t req, const struct call *call, struct inode *i,
	struct error *e);

/* The same within a truncation or a change of owner: `change` then sets the mode, too. */
void setgid_drop_with(const struct fs *fs, fuse_req_t req, struct inode *i, struct change *change);
