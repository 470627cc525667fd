/*
 * user_xattrs.h - the extended attributes of a file that are the user's: names that start with
 * "user.".
 */
#pragma once

#include "providers/base/error.h"
#include "providers/verbs.h"

bool user_xattr_name_ok(const char *name);

/*
 * Sets `no_xattrs` of the result of sys_stat(): of `name` in the directory `fd`, or of `fd` itself
 * when `name` is "".
 */
void user_xattrs_note(int fd, const char *name, struct attr *a);

struct user_xattrs {
	struct xattr *all; /* names and values lie in `names` and `values` */
	size_t count;
	char *names;
	unsigned char *values;
};

#define USER_XATTRS_NONE                                                                           \
	{                                                                                          \
		0                                                                                  \
	}
#define AUTO_USER_XATTRS __attribute__((cleanup(user_xattrs_release)))

/*
 * Reads the user's attributes of an inode held with O_PATH. A file system without attributes has
 * none; an attribute whose value may not be read is left out. ERR_TOO_BIG_XATTR: the attributes do
 * not fit into one answer.
 */
enum err user_xattrs_read(int pin, struct user_xattrs *out, const char *path, struct error *e);
void user_xattrs_release(struct user_xattrs *x);
