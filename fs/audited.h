/*
 * audited.h - records (audit.h) of what requests have changed. Before the reply: what a reply ends
 * is not touched after it.
 */
#pragma once

#include "fs/fs.h"

/* A name in a directory; `to` likewise, where it was moved or linked to. */
void audited_name(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *dir,
	const char *name);
void audited_names(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *dir,
	const char *name, const struct inode *dir2, const char *name2);
/* What an inode is, but for its contents. */
void audited_inode(const struct fs *fs, fuse_req_t req, const char *op, const struct inode *i);
/*
 * A second name: where the file stood before, by audited_path(), to be freed. NULL: it had no name.
 */
char *audited_path(const struct fs *fs, const struct inode *i);
void audited_link(const struct fs *fs, fuse_req_t req, const char *path, const struct inode *dir,
	const char *name);
void audited_write(const struct fs *fs, fuse_req_t req, const struct inode *i, uint64_t bytes);
/* A handle of it, which wrote or not, is closed. */
void audited_close(const struct fs *fs, const struct inode *i);
