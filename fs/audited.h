/*
 * audited.h - records (audit.h) of the changes that requests made. To be called before the reply:
 * an object that a reply may end is not touched after it.
 */
#pragma once

#include "fs/fs.h"

/* A name in a directory. audited_names(): also the name where it was moved or linked to. */
void audited_name(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *dir,
	const char *name);
void audited_names(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *dir,
	const char *name, const struct inode *dir2, const char *name2);
/* A change of an inode other than of its contents. */
void audited_inode(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *i);
/*
 * Before a second name is made: the path where the file stands so far, for audited_link(); the
 * caller frees it. NULL: the file had no name.
 */
char *audited_path(const struct fs *fs, const struct inode *i);
void audited_link(const struct fs *fs, fuse_req_t req, const char *path, const struct inode *dir,
	const char *name);
void audited_write(const struct fs *fs, fuse_req_t req, const struct inode *i, uint64_t bytes);
/* A handle of the inode is closed, whether anything was written through it or not. */
void audited_close(const struct fs *fs, const struct inode *i);
