/*
 * sys.h - system calls that not every libc offers.
 *
 * The helper program is built with musl, whose 1.2.3 has neither statx(2) nor renameat2(2) and uses
 * no kernel headers, so sys.c defines what these calls need. Each function gives -1 and errno as
 * its man page says.
 */
#pragma once

#include "providers/verbs.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE  2
#endif

/*
 * openat2(2): no symbolic link is followed, not even the last component, and no path leads out of
 * `dir_fd`.
 */
int sys_open_beneath(int dir_fd, const char *path, int flags);

/*
 * lstat(2) of `name` in the directory `fd`, or of `fd` itself when `name` is "". With fstatat(2)
 * where statx is missing.
 */
int sys_stat(int fd, const char *name, struct attr *out);

int sys_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);

/*
 * Whether the file system of `fd` is made of layers, as a container's is (overlayfs,
 * fuse-overlayfs). A file of a lower layer is copied at its first change and has a new time of
 * birth then.
 */
bool sys_is_layered(int fd);

/* fchmodat2(2), since Linux 6.6, of an inode held with O_PATH. */
int sys_chmod_held(int fd, mode_t mode);
