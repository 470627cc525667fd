/*
 * pin.h - acting on an inode that is held with O_PATH.
 *
 * A name may come to mean another file between two system calls; a pin cannot. A call that would
 * follow a name goes through the pin's own entry in /proc/self/fd instead, which leads to the inode
 * itself, whatever became of its names. Where there is no /proc, the functions that need it fail
 * with EOPNOTSUPP. Each gives -1 and errno like its system call.
 */
#pragma once

#include <sys/types.h>
#include <time.h>

/* "/proc/self/fd/" and an int */
#define PIN_PATH_SIZE 32

void pin_path(int pin, char out[PIN_PATH_SIZE]);

/* Opens a directory to be read; the time of access stays unchanged where the system allows that. */
int pin_open_dir(int pin);
/* Opens the inode itself; `flags` without O_CREAT and O_NOFOLLOW. A directory needs no /proc. */
int pin_open(int pin, int flags);

int pin_chmod(int pin, mode_t mode);
/* (uid_t)-1 and (gid_t)-1 leave the owner and the group as they are. */
int pin_chown(int pin, uid_t uid, gid_t gid);
int pin_utimens(int pin, const struct timespec times[2]);

ssize_t pin_listxattr(int pin, char *names, size_t size);
/* Lists `name` in the directory `pin`; a link is not followed. "": `pin` itself. */
ssize_t pin_listxattr_at(int pin, const char *name, char *names, size_t size);
ssize_t pin_getxattr(int pin, const char *name, void *value, size_t size);
int pin_setxattr(int pin, const char *name, const void *value, size_t len, int flags);
int pin_removexattr(int pin, const char *name);
