#include "providers/base/cleanup.h"
#include "providers/helper/apply.h"
#include "providers/helper/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

bool place_is(const struct place *p, const struct attr *a)
{
	struct attr there;

	return sys_stat(p->fd, p->name, &there) == 0 && there.dev == a->dev && there.ino == a->ino;
}

bool place_is_held(const struct place *p, int pin)
{
	struct attr held;

	return sys_stat(pin, "", &held) == 0 && place_is(p, &held);
}

/* ---- Renaming to a name that must be free ---- */

/* A directory can replace an empty one: mkdir(2) of an empty one fails where the name exists. */
static int rename_dir_new(const struct place *from, const struct place *to)
{
	int failure;

	if (mkdirat(to->fd, to->name, 0700))
		return -1;
	if (renameat(from->fd, from->name, to->fd, to->name) == 0)
		return 0;
	failure = errno;
	unlinkat(to->fd, to->name, AT_REMOVEDIR);
	errno = failure;
	return -1;
}

static int rename_file_new(const struct place *from, const struct place *to)
{
	if (linkat(from->fd, from->name, to->fd, to->name, 0))
		return -1;
	return unlinkat(from->fd, from->name, 0);
}

bool rename_lacks_flags(int number)
{
	return number == EINVAL || number == ENOSYS;
}

int rename_new(const struct place *from, const struct place *to)
{
	struct attr attr;

	if (sys_renameat2(from->fd, from->name, to->fd, to->name, RENAME_NOREPLACE) == 0)
		return 0;
	if (!rename_lacks_flags(errno) || sys_stat(from->fd, from->name, &attr))
		return -1;
	return S_ISDIR(attr.mode) ? rename_dir_new(from, to) : rename_file_new(from, to);
}

/* ---- Keeping what is replaced ---- */

struct replaced {
	bool exists;
	int pin; /* owned; -1: nothing is there */
	struct attr attr;
};

static void replaced_release(struct replaced *r)
{
	cleanup_close(&r->pin);
}

#define AUTO_REPLACED __attribute__((cleanup(replaced_release)))

/*
 * link(2) is refused where rename(2) is not: a file of another owner (protected_hardlinks), a file
 * system without links.
 */
static bool cannot_link(int number)
{
	return number == EPERM || number == EACCES || number == EMLINK || number == EOPNOTSUPP;
}

/*
 * Exchanges the two and then moves the old file away from the old name: the new name is never
 * missing.
 */
static int replace_by_exchange(const struct work *w, const struct place *kept)
{
	const struct place *from = &w->at, *to = &w->at2;
	int failure;

	if (sys_renameat2(from->fd, from->name, to->fd, to->name, RENAME_EXCHANGE))
		return -1;
	if (rename_new(from, kept) == 0)
		return 0;
	failure = errno;
	sys_renameat2(from->fd, from->name, to->fd, to->name, RENAME_EXCHANGE);
	errno = failure;
	return -1;
}

static int rename_linked(const struct work *w, const struct place *kept, bool is_link_ours)
{
	int failure;

	if (renameat(w->at.fd, w->at.name, w->at2.fd, w->at2.name) == 0)
		return 0;
	failure = errno;
	if (is_link_ours)
		unlinkat(kept->fd, kept->name, 0);
	errno = failure;
	return -1;
}

/* A copy that was broken off hides from link(2) that staging is on another file system. */
static int link_kept(const struct work *w, const struct place *kept, int replaced)
{
	int result = linkat(w->at2.fd, w->at2.name, kept->fd, kept->name, 0);

	if (!result || errno != EEXIST || !w->is_again || place_is_held(kept, replaced))
		return result;
	unlinkat(kept->fd, kept->name, 0);
	return linkat(w->at2.fd, w->at2.name, kept->fd, kept->name, 0);
}

/* The replaced inode gets its second name first, so that it always has one. */
static int rename_keeping(const struct work *w, const struct place *kept, int replaced)
{
	bool is_link_ours = link_kept(w, kept, replaced) == 0;

	if (!is_link_ours && cannot_link(errno))
		return replace_by_exchange(w, kept);
	if (!is_link_ours && errno == EXDEV)
		return copy_kept(&w->at2, kept, replaced) ? -1 : rename_linked(w, kept, true);
	if (!is_link_ours && !(errno == EEXIST && place_is_held(kept, replaced)))
		return -1;
	if (!place_is_held(kept, replaced)) {
		unlinkat(kept->fd, kept->name, 0);
		errno = ESTALE;
		return -1;
	}
	return rename_linked(w, kept, is_link_ours);
}

static enum err rename_and_keep(struct work *w, int replaced, struct error *e)
{
	const struct change *c = w->change;
	AUTO_PLACE struct place kept = PLACE_NONE;
	enum err k = root_place(w->root, c->keep, NULL, &kept, e);

	if (k != ERR_OK)
		return k;
	if (!kept.is_staged)
		return error_set(e, ERR_INVALID, "%s: not a name of staging", c->keep);
	if (rename_keeping(w, &kept, replaced))
		return error_errno(e, errno, "%s", c->path2);
	return ERR_OK;
}

/* ---- The change ---- */

static bool is_same_inode(const struct attr *a, const struct attr *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/*
 * A directory cannot replace a file, nor the reverse: then the kernel's refusal is the answer and
 * nothing is kept.
 */
static bool wants_keeping(
	const struct change *c, const struct attr *moved, const struct replaced *r)
{
	return c->keep && !(c->flags & (CHANGE_NOREPLACE | CHANGE_EXCHANGE)) && r->exists &&
		!S_ISDIR(r->attr.mode) && !S_ISDIR(moved->mode) && !is_same_inode(moved, &r->attr);
}

static enum err find_replaced(const struct work *w, struct replaced *out, struct error *e)
{
	const struct change *c = w->change;
	const struct expect *x = &c->target2;

	out->pin = openat(w->at2.fd, w->at2.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	out->exists = out->pin >= 0;
	if (!out->exists && errno != ENOENT)
		return error_errno(e, errno, "%s", c->path2);
	enum err k = out->exists ? attr_of_fd(out->pin, &out->attr, e) : ERR_OK;

	if (k != ERR_OK)
		return k;
	if (out->exists ? expect_met(x, &out->attr) : expect_is_any(x))
		return ERR_OK;
	return error_set(e, ERR_STALE, "%s: is not the file it was", c->path2);
}

static int rename_plain(const struct work *w)
{
	if (w->change->flags & CHANGE_NOREPLACE)
		return rename_new(&w->at, &w->at2);
	return sys_renameat2(w->at.fd, w->at.name, w->at2.fd, w->at2.name,
		w->change->flags & CHANGE_EXCHANGE ? RENAME_EXCHANGE : 0);
}

/*
 * EINVAL may also mean a directory moved into itself; for two files EINVAL can only mean that
 * exchange is unsupported.
 */
static bool lacks_exchange(const struct work *w, const struct attr *moved, const struct replaced *r)
{
	return w->change->flags & CHANGE_EXCHANGE && rename_lacks_flags(errno) && r->exists &&
		!(S_ISDIR(moved->mode) || S_ISDIR(r->attr.mode));
}

static enum err rename_moved(
	struct work *w, const struct attr *moved, const struct replaced *r, struct error *e)
{
	const struct change *c = w->change;

	if (wants_keeping(c, moved, r))
		return rename_and_keep(w, r->pin, e);
	if (rename_plain(w) == 0)
		return ERR_OK;
	if (lacks_exchange(w, moved, r))
		return error_set(e, ERR_UNSUPPORTED, "%s: cannot be exchanged here", c->path);
	return error_errno(e, errno, "%s to %s", c->path, c->path2);
}

/* Another file may have come under the name just before: then that file was moved. */
static enum err check_moved(struct work *w, int moved, struct error *e)
{
	const struct change *c = w->change;
	enum err k = place_stat(&w->at2, &w->result->attr, c->path2, e);

	if (k == ERR_OK && !expect_is_any(&c->target) && !place_is_held(&w->at2, moved))
		return error_set(e, ERR_STALE, "%s: is not the file it was", c->path);
	w->result->has_attr = k == ERR_OK;
	return k;
}

/* The inode that lost a name by the rename has a new ctime. */
static void learn_over(struct work *w, const struct replaced *r)
{
	struct attr there;

	if (r->exists && !sys_stat(r->pin, "", &there) && S_ISREG(there.mode) && there.nlink)
		w->result->over = (struct version){
			.size = there.size, .mtime = there.mtime, .ctime = there.ctime
		};
}

enum err change_rename(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_REPLACED struct replaced replaced = { .pin = -1 };
	AUTO_CLOSE int pin = -1;
	struct attr moved;
	enum err k;

	if (c->flags & CHANGE_NOREPLACE && c->flags & CHANGE_EXCHANGE)
		return error_set(e, ERR_INVALID, "%s: either exchanged or not replaced", c->path);
	k = place_pin(&w->at, &c->target, &pin, &moved, c->path, e);
	if (k == ERR_OK)
		k = find_replaced(w, &replaced, e);
	if (k == ERR_OK)
		k = rename_moved(w, &moved, &replaced, e);
	if (k == ERR_OK)
		learn_over(w, &replaced);
	return k == ERR_OK ? check_moved(w, pin, e) : k;
}
