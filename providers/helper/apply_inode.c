#include "providers/base/cleanup.h"
#include "providers/helper/apply.h"
#include "providers/helper/pin.h"
#include "providers/helper/user_xattrs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* ---- Attributes ---- */

/* Sets the size of the held inode, whose mode bits count unless the client had it open. */
static enum err set_size(struct work *w, const struct attr *held, struct error *e)
{
	const struct change *c = w->change;
	const struct expect same = expect_of(held);
	AUTO_CLOSE int fd = -1;
	enum err k;

	if (c->size > INT64_MAX)
		return error_set(e, ERR_TOO_LARGE, "%s: no such size", c->path);
	k = work_open_writer(w, &same, &fd, e);
	if (k != ERR_OK)
		return k;
	return ftruncate(fd, (off_t)c->size) ? error_errno(e, errno, "%s: truncate", c->path)
					     : ERR_OK;
}

static int set_owner(int pin, const struct change *c)
{
	return pin_chown(
		pin, c->set & SET_UID ? c->uid : (uid_t)-1, c->set & SET_GID ? c->gid : (gid_t)-1);
}

static int set_times(int pin, const struct change *c)
{
	const struct timespec unset = { .tv_nsec = UTIME_OMIT };
	const struct timespec times[2] = { c->set & SET_ATIME ? c->atime : unset,
		c->set & SET_MTIME ? c->mtime : unset };

	return pin_utimens(pin, times);
}

/*
 * Sets all attributes of the held inode but the size. Owner before mode, since chown(2) drops
 * set-ID bits.
 */
static enum err set_held(int pin, const struct change *c, struct error *e)
{
	/* A chown(2) with neither owner nor group still changes the ctime. */
	if ((!c->set || c->set & (SET_UID | SET_GID)) && set_owner(pin, c))
		return error_errno(e, errno, "%s: chown", c->path);
	if (c->set & SET_MODE && pin_chmod(pin, c->mode & 07777))
		return error_errno(e, errno, "%s: chmod", c->path);
	if (c->set & (SET_ATIME | SET_MTIME) && set_times(pin, c))
		return error_errno(e, errno, "%s: utimens", c->path);
	return ERR_OK;
}

enum err change_setattr(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int pin = -1;
	struct attr attr;
	enum err k = place_pin(&w->at, &c->target, &pin, &attr, c->path, e);

	if (k != ERR_OK)
		return k;
	/* The refusal comes before any change. */
	if (c->set & SET_MODE && S_ISLNK(attr.mode))
		return error_set(e, ERR_UNSUPPORTED, "%s: a link has no mode", c->path);
	if (c->set & SET_SIZE)
		k = set_size(w, &attr, e);
	if (k == ERR_OK)
		k = set_held(pin, c, e);
	return k == ERR_OK ? work_done(w, pin, e) : k;
}

/* ---- Extended attributes ---- */

static enum err pin_for_xattr(struct work *w, int *out_pin, struct error *e)
{
	const struct change *c = w->change;
	struct attr attr;

	if (!c->name || !user_xattr_name_ok(c->name))
		return error_set(e, ERR_UNSUPPORTED, "%s: only user.* attributes", c->path);
	return place_pin(&w->at, &c->target, out_pin, &attr, c->path, e);
}

static bool has_value(int pin, const struct change *c)
{
	AUTO_FREE char *value = malloc(c->data_len + 1);
	ssize_t len = value ? pin_getxattr(pin, c->name, value, c->data_len + 1) : -1;

	return len >= 0 && (size_t)len == c->data_len && !memcmp(value, c->data, c->data_len);
}

enum err change_setxattr(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	int flags = (c->flags & CHANGE_EXCL ? XATTR_CREATE : 0) |
		(c->flags & CHANGE_REPLACE ? XATTR_REPLACE : 0);
	AUTO_CLOSE int pin = -1;
	enum err k = pin_for_xattr(w, &pin, e);

	if (k != ERR_OK)
		return k;
	if (pin_setxattr(pin, c->name, c->data, c->data_len, flags) &&
		!(errno == EEXIST && w->is_again && has_value(pin, c)))
		return error_errno(e, errno, "%s: %s", c->path, c->name);
	return work_done(w, pin, e);
}

enum err change_removexattr(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int pin = -1;
	enum err k = pin_for_xattr(w, &pin, e);

	if (k != ERR_OK)
		return k;
	if (pin_removexattr(pin, c->name) && !(errno == ENODATA && w->is_again))
		return error_errno(e, errno, "%s: %s", c->path, c->name);
	return work_done(w, pin, e);
}

/* ---- Durability ---- */

enum err change_sync(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int fd = -1;
	/* The client had the file open: fsync(2) does not depend on reading rights. */
	enum err k = place_open(&w->at, O_RDONLY, &c->target, true, &fd, c->path, e);

	if (k == ERR_DENIED)
		k = place_open(&w->at, O_WRONLY, &c->target, true, &fd, c->path, e);
	if (k != ERR_OK)
		return k;
	if (fsync(fd))
		return error_errno(e, errno, "%s: fsync", c->path);
	return work_done(w, fd, e);
}
