#include "providers/base/cleanup.h"
#include "providers/helper/apply.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* How often a call is repeated when a name appears and vanishes meanwhile. */
#define CREATE_TRIES 8

/* ---- To whom new inodes belong ---- */

static bool has_owner(const struct change *c)
{
	return c->uid != CHANGE_NO_OWNER || c->gid != CHANGE_NO_OWNER;
}

/* chown(2) drops set-ID bits that were asked for. */
static int chown_keeping_mode(int fd, uid_t uid, gid_t gid, const struct attr *made)
{
	struct attr now;

	if (pin_chown(fd, uid, gid) || sys_stat(fd, "", &now))
		return -1;
	return now.mode == made->mode ? 0 : pin_chmod(fd, made->mode & 07777);
}

/*
 * Gives a new inode the owner that it would have if `uid` had made it. In a set-group-ID directory
 * the group is the directory's, which the kernel has already set.
 */
static int give_away(const struct work *w, int fd)
{
	struct attr dir, made;
	bool inherits;

	if (sys_stat(w->at.fd, "", &dir) || sys_stat(fd, "", &made))
		return -1;
	inherits = dir.mode & S_ISGID;
	return chown_keeping_mode(fd, w->change->uid, inherits ? (gid_t)-1 : w->change->gid, &made);
}

/* If the owner cannot be set, the new inode is removed, so that the change fails as a whole. */
static enum err give_new(struct work *w, int fd, int unlink_flags, struct error *e)
{
	const struct change *c = w->change;

	if (has_owner(c) && give_away(w, fd)) {
		enum err k = error_errno(e, errno, "%s: chown", c->path);

		unlinkat(w->at.fd, w->at.name, unlink_flags);
		return k;
	}
	return ERR_OK;
}

static enum err finish_new(struct work *w, int fd, int unlink_flags, struct error *e)
{
	enum err k = give_new(w, fd, unlink_flags, e);

	if (k != ERR_OK)
		return k;
	work_set_mtime(w, fd);
	return work_done(w, fd, e);
}

/*
 * Holds the inode that was just made. Another process may have replaced it in between: such an
 * inode is not ours to give.
 */
static enum err finish_made(struct work *w, mode_t type, struct error *e)
{
	AUTO_CLOSE int pin = -1;
	struct attr attr;
	enum err k = place_pin(&w->at, NULL, &pin, &attr, w->change->path, e);

	if (k != ERR_OK)
		return k;
	if (w->is_again && attr.uid == w->change->uid) {
		work_set_mtime(w, pin);
		return work_done(w, pin, e);
	}
	if (has_owner(w->change) && ((attr.mode & S_IFMT) != type || attr.uid != geteuid()))
		return error_set(e, ERR_STALE, "%s: was replaced at once", w->change->path);
	return finish_new(w, pin, S_ISDIR(type) ? AT_REMOVEDIR : 0, e);
}

/* ---- Making ---- */

/* Called after mkdir(2) and its like: `result` is 0, or -1 and errno. */
static enum err made(struct work *w, int result, mode_t type, struct error *e)
{
	if (result && !(errno == EEXIST && again_is_made(w, type)))
		return error_errno(e, errno, "%s", w->change->path);
	return finish_made(w, type, e);
}

/*
 * Whether a directory is already there, which then stays unchanged. A link to a directory is none.
 */
static bool takes_directory(struct work *w)
{
	AUTO_CLOSE int pin = -1;
	struct attr attr;

	if (!(w->change->flags & CHANGE_TAKES) || again_is_made(w, S_IFDIR) ||
		place_pin(&w->at, NULL, &pin, &attr, w->change->path, NULL) != ERR_OK ||
		!S_ISDIR(attr.mode))
		return false;
	w->result->count = 1;
	return work_done(w, pin, NULL) == ERR_OK;
}

enum err change_mkdir(struct work *w, struct error *e)
{
	int result = mkdirat(w->at.fd, w->at.name, w->change->mode & 07777);

	if (result && errno == EEXIST) {
		if (takes_directory(w))
			return ERR_OK;
		errno = EEXIST;
	}
	return made(w, result, S_IFDIR, e);
}

enum err change_mknod(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	const mode_t type = (c->mode & S_IFMT) ? c->mode & S_IFMT : S_IFREG;

	return made(w, mknodat(w->at.fd, w->at.name, type | (c->mode & 07777), c->rdev), type, e);
}

enum err change_symlink(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	char text[VERB_LINK_MAX];

	if (c->data_len >= sizeof text)
		return error_set(
			e, ERR_NAME_TOO_LONG, "%s: link of %zu bytes", c->path, c->data_len);
	if (c->data_len && memchr(c->data, 0, c->data_len))
		return error_set(e, ERR_INVALID, "%s: NUL in the link", c->path);
	if (c->data_len)
		memcpy(text, c->data, c->data_len);
	text[c->data_len] = 0;
	return made(w, symlinkat(text, w->at.fd, w->at.name), S_IFLNK, e);
}

static enum err take_existing(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int pin = -1;
	struct attr attr;
	enum err k = place_pin(&w->at, &c->target, &pin, &attr, c->path, e);

	if (k != ERR_OK)
		return k;
	if (S_ISDIR(attr.mode))
		return error_set(e, ERR_IS_DIR, "%s: is a directory", c->path);
	if (S_ISLNK(attr.mode))
		return error_set(e, ERR_STALE, "%s: has become a symbolic link", c->path);
	if (!S_ISREG(attr.mode))
		return error_set(e, ERR_EXISTS, "%s: exists and is no regular file", c->path);
	return work_done(w, pin, e);
}

static int create(const struct work *w)
{
	return openat(w->at.fd, w->at.name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
		w->change->mode & 07777);
}

enum err work_create(struct work *w, int *out_fd, struct error *e)
{
	*out_fd = create(w);
	if (*out_fd < 0)
		return error_errno(e, errno, "%s", w->change->path);
	return give_new(w, *out_fd, 0, e);
}

enum err change_create(struct work *w, struct error *e)
{
	const struct change *c = w->change;

	for (int tries = 0; tries < CREATE_TRIES; tries++) {
		AUTO_CLOSE int fd = create(w);
		enum err k;

		if (fd >= 0)
			return finish_new(w, fd, 0, e);
		if (errno == EEXIST && again_is_made(w, S_IFREG))
			return finish_made(w, S_IFREG, e);
		if (errno != EEXIST || c->flags & CHANGE_EXCL)
			return error_errno(e, errno, "%s", c->path);
		k = take_existing(w, e);
		if (k != ERR_NOT_FOUND)
			return k;
	}
	return error_set(e, ERR_STALE, "%s: comes and goes", c->path);
}

static bool again_is_linked(const struct work *w, const struct attr *linked)
{
	return w->is_again && !w->before.ino && place_is(&w->at2, linked);
}

/*
 * Whether the new name is the held file. Overlayfs over several file systems may give one file a
 * number for each of its names: then only the number differs.
 */
static bool is_linked(const struct work *w, int pin)
{
	struct attr held, there;

	if (place_is_held(&w->at2, pin))
		return true;
	return sys_is_layered(w->at2.fd) && sys_stat(pin, "", &held) == 0 &&
		sys_stat(w->at2.fd, w->at2.name, &there) == 0 &&
		attr_is_same_version(&held, &there) && held.mode == there.mode &&
		held.nlink == there.nlink;
}

enum err change_link(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int pin = -1;
	struct attr attr;
	enum err k = place_pin(&w->at, &c->target, &pin, &attr, c->path, e);

	if (k != ERR_OK)
		return k;
	if (linkat(w->at.fd, w->at.name, w->at2.fd, w->at2.name, 0) &&
		!(errno == EEXIST && again_is_linked(w, &attr)))
		return error_errno(e, errno, "%s", c->path2);
	if (!is_linked(w, pin)) {
		unlinkat(w->at2.fd, w->at2.name, 0);
		return error_set(e, ERR_STALE, "%s: is not the file it was", c->path);
	}
	k = place_stat(&w->at2, &w->result->attr, c->path2, e);
	w->result->has_attr = k == ERR_OK;
	return k;
}

/* ---- Removing ---- */

/* Another file may have come under the name just before the rename: then that file goes back. */
static enum err check_kept(struct work *w, int meant, struct error *e)
{
	if (place_is_held(&w->at2, meant))
		return ERR_OK;
	rename_new(&w->at2, &w->at);
	return error_set(e, ERR_STALE, "%s: is not the file it was", w->change->path);
}

static enum err remove_name(struct work *w, struct error *e)
{
	if (unlinkat(w->at.fd, w->at.name, 0))
		return error_errno(e, errno, "%s", w->change->path);
	return ERR_OK;
}

/* For staging on another file system: programs here that have the file open go on with a copy. */
static enum err keep_copy(struct work *w, int meant, struct error *e)
{
	enum err k;

	if (copy_kept(&w->at, &w->at2, meant))
		return error_errno(e, errno, "%s", w->change->path);
	k = remove_name(w, e);
	if (k != ERR_OK)
		drop_kept(&w->at2);
	w->result->has_attr = k == ERR_OK &&
		place_stat(&w->at2, &w->result->attr, w->change->path2, NULL) == ERR_OK;
	return k;
}

/* The inode stays alive under a name in staging. */
static enum err keep_unlinked(struct work *w, int meant, struct error *e)
{
	const struct change *c = w->change;

	if (!w->at2.is_staged)
		return error_set(e, ERR_INVALID, "%s: not a name of staging", c->path2);
	if (rename_new(&w->at, &w->at2) == 0)
		return check_kept(w, meant, e);
	/* The inode is already kept under this name, since another of its names was removed. */
	if (errno == EEXIST && place_is_held(&w->at2, meant))
		return remove_name(w, e);
	if (errno == EXDEV)
		return keep_copy(w, meant, e);
	return error_errno(e, errno, "%s", c->path);
}

enum err change_unlink(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int pin = -1;
	struct attr attr;
	enum err k = place_pin(&w->at, &c->target, &pin, &attr, c->path, e);

	if (k != ERR_OK)
		return k;
	if (S_ISDIR(attr.mode))
		return error_set(e, ERR_IS_DIR, "%s: is a directory", c->path);
	k = c->path2 ? keep_unlinked(w, pin, e) : remove_name(w, e);
	return k == ERR_OK && !w->result->has_attr ? work_done(w, pin, e) : k;
}

enum err change_rmdir(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int pin = -1;
	struct attr attr;
	enum err k = place_pin(&w->at, &c->target, &pin, &attr, c->path, e);

	if (k != ERR_OK)
		return k;
	if (unlinkat(w->at.fd, w->at.name, AT_REMOVEDIR))
		return error_errno(e, errno, "%s", c->path);
	return ERR_OK;
}
