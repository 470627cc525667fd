#include "providers/helper/user_xattrs.h"

#include "providers/helper/pin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* XATTR_LIST_MAX */
#define NAMES_MAX 65536
/* All values of one file together: one answer must fit into a frame. */
#define VALUES_MAX VERB_DATA_MAX
/* The most attributes of one file on the wire. */
#define COUNT_MAX 1024

bool user_xattr_name_ok(const char *name)
{
	return !strncmp(name, "user.", 5) && name[5];
}

void user_xattrs_release(struct user_xattrs *x)
{
	free(x->all);
	free(x->names);
	free(x->values);
	*x = (struct user_xattrs)USER_XATTRS_NONE;
}

static bool has_none(int number)
{
	return number == EOPNOTSUPP || number == EPERM || number == EACCES;
}

/* Each name ends with a NUL. */
static bool names_users(const char *names, ssize_t len)
{
	for (const char *name = names; name < names + len; name += strlen(name) + 1)
		if (user_xattr_name_ok(name))
			return true;
	return false;
}

/*
 * Most files have no names, or those of a label and an access list of the system: a file with
 * longer names may also have some of the user's.
 */
#define NAMES_ENOUGH 256

void user_xattrs_note(int fd, const char *name, struct attr *a)
{
	char names[NAMES_ENOUGH];
	ssize_t len = 0;

	/* The kernel allows user attributes on no other type. */
	if (S_ISREG(a->mode) || S_ISDIR(a->mode))
		len = pin_listxattr_at(fd, name, names, sizeof names);
	a->no_xattrs = len < 0 ? has_none(errno) : !names_users(names, len);
}

static enum err too_big(const char *path, struct error *e)
{
	return error_set(
		e, ERR_TOO_BIG_XATTR, "%s: its extended attributes exceed one answer", path);
}

/* Each name ends with a NUL, `len` bytes in all. */
static enum err read_values(
	int pin, struct user_xattrs *x, size_t len, const char *path, struct error *e)
{
	size_t used = 0;

	for (const char *name = x->names; name < x->names + len; name += strlen(name) + 1) {
		ssize_t got;

		if (!user_xattr_name_ok(name))
			continue;
		if (x->count == COUNT_MAX || used + VERB_XATTR_MAX > VALUES_MAX)
			return too_big(path, e);
		got = pin_getxattr(pin, name, x->values + used, VERB_XATTR_MAX);
		if (got < 0)
			continue; /* removed meanwhile, or not readable for us */
		x->all[x->count++] = (struct xattr){
			.name = name, .value = x->values + used, .value_len = (size_t)got
		};
		used += (size_t)got;
	}
	return ERR_OK;
}

enum err user_xattrs_read(int pin, struct user_xattrs *x, const char *path, struct error *e)
{
	ssize_t len = pin_listxattr(pin, NULL, 0);

	if (len == 0 || (len < 0 && has_none(errno)))
		return ERR_OK;
	x->names = malloc(NAMES_MAX);
	x->values = malloc(VALUES_MAX);
	x->all = calloc(COUNT_MAX, sizeof *x->all);
	if (!x->names || !x->values || !x->all)
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	len = pin_listxattr(pin, x->names, NAMES_MAX);
	if (len < 0)
		return errno == ERANGE || errno == E2BIG
			? too_big(path, e)
			: error_errno(e, errno, "%s: listxattr", path);
	return read_values(pin, x, (size_t)len, path, e);
}
