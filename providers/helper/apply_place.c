#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/apply.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* A name that appears and vanishes under our hands is tried so often. */
#define PLACE_TRIES 8

/* ---- Where nothing is ---- */

/* A file made in a set-group-ID directory has its group. Not ours to give: then the staged group stays. */
static void adopt_group(const struct work *w, int pin)
{
	struct attr dir, staged, now;

	if (sys_stat(w->at2.fd, "", &dir) || sys_stat(pin, "", &staged))
		return;
	if (!(dir.mode & S_ISGID) || dir.gid == staged.gid || pin_chown(pin, (uid_t)-1, dir.gid))
		return;
	if (sys_stat(pin, "", &now) == 0 && now.mode != staged.mode)
		pin_chmod(pin, staged.mode & 07777);
}

/* What a rename would have taken along. Only a superuser may give it away; else it is ours as it was in staging. */
static int copy_all(int from, int to, const struct attr *staged)
{
	uint64_t count;

	if (copy_bytes(from, 0, to, 0, staged->size, &count))
		return -1;
	(void)!fchown(to, staged->uid, staged->gid);
	if (fchmod(to, staged->mode & 07777))
		return -1;
	return futimens(to, (const struct timespec[]){ staged->atime, staged->mtime });
}

/* A name beside the new one, that nobody has chosen for his own. */
struct beside {
	char text[sizeof ".sandboxfs-" + PATH_NAME_MAX];
};

static int move_copy(const struct work *w, int from, const struct beside *beside)
{
	struct place copy = { .fd = w->at2.fd, .name = (char *)beside->text };
	AUTO_CLOSE int to = openat(
		copy.fd, copy.name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct attr staged;

	if (to < 0 || sys_stat(from, "", &staged) || copy_all(from, to, &staged))
		return -1;
	return rename_new(&copy, &w->at2);
}

/* Staging is on another file system. */
static enum err move_across(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int from = -1;
	struct beside beside;
	struct attr attr;
	enum err k = place_open(&w->at, O_RDONLY, &c->target, true, &from, c->path, e);

	if (k != ERR_OK)
		return k;
	snprintf(beside.text, sizeof beside.text, ".sandboxfs-%s", w->at.name);
	if (move_copy(w, from, &beside)) {
		k = error_errno(e, errno, "%s", c->path2);
		unlinkat(w->at2.fd, beside.text, 0);
		return k;
	}
	unlinkat(w->at.fd, w->at.name, 0);
	k = place_stat(&w->at2, &attr, c->path2, e);
	w->result->attr = attr;
	w->result->has_attr = k == ERR_OK;
	return k;
}

static enum err move_in(struct work *w, int pin, struct error *e)
{
	const struct change *c = w->change;

	/* Through a handle it was given all its attributes. */
	if (!(c->flags & CHANGE_BY_HANDLE))
		adopt_group(w, pin);
	if (rename_new(&w->at, &w->at2) == 0)
		return work_done(w, pin, e);
	return errno == EXDEV ? move_across(w, e) : error_errno(e, errno, "%s", c->path2);
}

/* ---- Where a file is: its inode stays ---- */

static enum err copy_over(struct work *w, int from, int to, struct error *e)
{
	const struct change *c = w->change;
	struct attr staged;
	enum err k = attr_of_fd(from, &staged, e);

	if (k != ERR_OK)
		return k;
	if (copy_bytes(from, 0, to, 0, staged.size, &w->result->count))
		return error_errno(e, errno, "%s", c->path2);
	if (w->result->count != staged.size)
		return error_set(e, ERR_STALE, "%s: became shorter", c->path);
	if (ftruncate(to, (off_t)staged.size))
		return error_errno(e, errno, "%s: truncate", c->path2);
	/* Not ours to set: then they are those of the copying. */
	futimens(to, (const struct timespec[]){ staged.atime, staged.mtime });
	return ERR_OK;
}

/* The staged file goes only when all of it has arrived: until then the change can be done again. */
static enum err overwrite(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int from = -1, to = -1;
	struct attr there;
	enum err k = place_stat(&w->at2, &there, c->path2, e);

	if (k == ERR_OK && S_ISDIR(there.mode))
		return error_set(e, ERR_IS_DIR, "%s: is a directory", c->path2);
	if (k == ERR_OK)
		k = work_open2(w, O_WRONLY, &to, e);
	if (k == ERR_OK)
		k = place_open(&w->at, O_RDONLY, &c->target, true, &from, c->path, e);
	if (k == ERR_OK)
		k = copy_over(w, from, to, e);
	if (k != ERR_OK)
		return k;
	unlinkat(w->at.fd, w->at.name, 0);
	return work_done(w, to, e);
}

/* ---- The change ---- */

static enum err pin_staged(struct work *w, int *out_pin, struct error *e)
{
	const struct change *c = w->change;
	struct attr attr;
	enum err k;

	if (!w->at.is_staged)
		return error_set(e, ERR_INVALID, "%s: not a name of staging", c->path);
	k = place_pin(&w->at, &c->target, out_pin, &attr, c->path, e);
	if (k == ERR_OK && !S_ISREG(attr.mode))
		return error_set(e, ERR_INVALID, "%s: is no file", c->path);
	return k;
}

static bool is_replacement(const struct change *c)
{
	if (c->flags & CHANGE_EXCL)
		return false;
	return c->target2.dev || c->target2.ino || c->flags & CHANGE_REPLACE;
}

enum err change_place(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	AUTO_CLOSE int pin = -1;
	enum err k = pin_staged(w, &pin, e);

	if (k != ERR_OK)
		return k;
	for (int tries = 0; tries < PLACE_TRIES; tries++) {
		/* Meant for a certain file: if that is gone, this is not the moment to make another. */
		k = is_replacement(c) ? ERR_EXISTS : move_in(w, pin, e);
		if (k != ERR_EXISTS || c->flags & CHANGE_EXCL)
			return k;
		k = overwrite(w, e);
		if (k != ERR_NOT_FOUND)
			return k;
		if (is_replacement(c))
			return error_set(e, ERR_STALE, "%s: is gone", c->path2);
	}
	return error_set(e, ERR_STALE, "%s: comes and goes", c->path2);
}
