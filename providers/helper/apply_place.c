#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/apply.h"
#include "providers/helper/lift.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often a call is repeated when a name appears and vanishes meanwhile. */
#define PLACE_TRIES 8

/* ---- Where an empty file keeps the place ---- */

/*
 * Whether the inode has no attributes but those that the kernel gives. A list that does not fit is
 * not bare.
 */
static bool is_bare(int pin)
{
	static const char by_kernel[] = "security.";
	char names[4096];
	ssize_t len = pin_listxattr(pin, names, sizeof names);

	if (len < 0)
		return errno == EOPNOTSUPP;
	for (const char *name = names; name < names + len; name += strlen(name) + 1)
		if (strncmp(name, by_kernel, strlen(by_kernel)) != 0)
			return false;
	return true;
}

/* Files with set-ID bits are left out: the kernel drops the bits when contents are written. */
static bool is_empty(const struct attr *a)
{
	return S_ISREG(a->mode) && !a->size && a->nlink == 1 && !(a->mode & (S_ISUID | S_ISGID));
}

static bool is_still(const struct place *p, const struct attr *made)
{
	struct attr there;

	return place_is(p, made) && sys_stat(p->fd, p->name, &there) == 0 && is_empty(&there);
}

static bool is_same_owner(const struct attr *a, const struct attr *b)
{
	return a->uid == b->uid && a->gid == b->gid;
}

static int give_attributes(int pin, const struct attr *staged, const struct attr *made)
{
	if (!is_same_owner(staged, made) && pin_chown(pin, made->uid, made->gid))
		return -1;
	return pin_chmod(pin, made->mode & 07777);
}

static int exchange(const struct place *one, const struct place *other)
{
	return sys_renameat2(one->fd, one->name, other->fd, other->name, RENAME_EXCHANGE);
}

/* Another process may have opened the made file, or taken its name, at the last moment. */
static int drop_made(const struct place *from, const struct place *to, const struct attr *made)
{
	if (is_still(from, made)) {
		unlinkat(from->fd, from->name, 0);
		return 0;
	}
	exchange(from, to);
	errno = ESTALE;
	return -1;
}

/* Where the file system lacks the exchange, a moment remains between check and rename. */
static int replace_made(const struct place *from, const struct place *to, const struct attr *made)
{
	if (exchange(from, to) == 0)
		return drop_made(from, to, made);
	if (!rename_lacks_flags(errno))
		return -1;
	if (is_still(to, made))
		return renameat(from->fd, from->name, to->fd, to->name);
	errno = ESTALE;
	return -1;
}

/* ---- Where nothing is ---- */

/*
 * Gives a staged file the group of its set-group-ID directory, as a file made there would have.
 * Where the group is not ours to give, the staged group stays.
 */
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

/*
 * Gives the copy all that a rename would have kept. Only a superuser may give the copy away;
 * otherwise its owner is ours, as in staging.
 */
static int copy_attributes(int to, const struct attr *staged)
{
	(void)!fchown(to, staged->uid, staged->gid);
	if (fchmod(to, staged->mode & 07777))
		return -1;
	return futimens(to, (const struct timespec[]){ staged->atime, staged->mtime });
}

static int copy_all(int from, int to, const struct attr *staged)
{
	uint64_t count;

	return copy_bytes(from, 0, to, 0, staged->size, &count) ? -1 : copy_attributes(to, staged);
}

/* A name in the directory of the new one, which no user has chosen. */
struct temporary {
	char text[sizeof ".sandboxfs-" + PATH_NAME_MAX];
};

/* `made` NULL: nothing may be at the new name. */
static int move_to(const struct place *from, const struct place *to, const struct attr *made)
{
	return made ? replace_made(from, to, made) : rename_new(from, to);
}

/* A hole of any size takes no time and no room. */
static int copy_data(int from, int to, uint64_t size)
{
	off_t at = 0, end = (off_t)size;
	uint64_t count;

	while ((at = lseek(from, at, SEEK_DATA)) >= 0 && at < end) {
		off_t hole = lseek(from, at, SEEK_HOLE);
		off_t until = hole < 0 || hole > end ? end : hole;

		if (copy_bytes(
			    from, (uint64_t)at, to, (uint64_t)at, (uint64_t)(until - at), &count))
			return -1;
		at = until;
	}
	if (at < 0 && errno != ENXIO)
		return copy_bytes(from, 0, to, 0, size, &count);
	return ftruncate(to, end);
}

/* An open file may have a mode that forbids its owner to read it. */
static int open_held(const struct place *from, int held)
{
	int fd = pin_open(held, O_RDONLY);

	if (fd < 0 && errno == EOPNOTSUPP)
		fd = openat(from->fd, from->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 && errno == EACCES ? lift_and_open(held, O_RDONLY) : fd;
}

/* The copy takes a while, in which another file may come under the name. */
static int copy_held(const struct place *from, int held, int to, const struct attr *attr)
{
	AUTO_CLOSE int in = open_held(from, held);

	if (in < 0 || copy_data(in, to, attr->size) || copy_attributes(to, attr))
		return -1;
	if (place_is_held(from, held))
		return 0;
	errno = ESTALE;
	return -1;
}

void drop_kept(const struct place *kept)
{
	int failure = errno;

	unlinkat(kept->fd, kept->name, 0);
	errno = failure;
}

int copy_kept(const struct place *from, const struct place *kept, int held)
{
	AUTO_CLOSE int to = -1;
	struct attr attr;

	if (sys_stat(held, "", &attr))
		return -1;
	if (!S_ISREG(attr.mode))
		return 0;
	/* Programs there would read the other name, and never see what is written to a copy. */
	if (attr.nlink > 1) {
		errno = EXDEV;
		return -1;
	}
	to = openat(
		kept->fd, kept->name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -1;
	if (copy_held(from, held, to, &attr) == 0)
		return 0;
	drop_kept(kept);
	return -1;
}

static struct temporary temporary_of(const struct work *w)
{
	struct temporary temporary;

	snprintf(temporary.text, sizeof temporary.text, ".sandboxfs-%s", w->at.name);
	return temporary;
}

static int move_copy(
	const struct work *w, int from, const struct temporary *temporary, const struct attr *made)
{
	struct place copy = { .fd = w->at2.fd, .name = (char *)temporary->text };
	AUTO_CLOSE int to = openat(
		copy.fd, copy.name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct attr staged;

	if (to < 0 || sys_stat(from, "", &staged) || copy_all(from, to, &staged))
		return -1;
	return move_to(&copy, &w->at2, made);
}

static enum err describe_placed(struct work *w, struct error *e)
{
	struct attr attr;
	enum err k = place_stat(&w->at2, &attr, w->change->path2, e);

	w->result->attr = attr;
	w->result->has_attr = k == ERR_OK;
	return k;
}

/* For staging on another file system. */
static enum err move_across(struct work *w, const struct attr *made, struct error *e)
{
	const struct change *c = w->change;
	const struct temporary temporary = temporary_of(w);
	AUTO_CLOSE int from = -1;
	enum err k = place_open(&w->at, O_RDONLY, &c->target, true, &from, c->path, e);

	if (k != ERR_OK)
		return k;
	if (move_copy(w, from, &temporary, made)) {
		k = error_errno(e, errno, "%s", c->path2);
		unlinkat(w->at2.fd, temporary.text, 0);
		return k;
	}
	unlinkat(w->at.fd, w->at.name, 0);
	return describe_placed(w, e);
}

static enum err move_in(struct work *w, int pin, struct error *e)
{
	const struct change *c = w->change;

	/* A client with a handle has set all attributes already. */
	if (!(c->flags & CHANGE_BY_HANDLE))
		adopt_group(w, pin);
	if (rename_new(&w->at, &w->at2) == 0)
		return work_done(w, pin, e);
	return errno == EXDEV ? move_across(w, NULL, e) : error_errno(e, errno, "%s", c->path2);
}

/*
 * Whether the empty file at the new name is unchanged; its attributes then go to `pin`. An empty
 * staged file need not replace it.
 */
static bool is_ready_to_replace(const struct work *w, int pin, struct attr *made)
{
	const struct change *c = w->change;
	AUTO_CLOSE int there = -1;
	struct attr staged;

	if (place_pin(&w->at2, &c->target2, &there, made, c->path2, NULL) != ERR_OK ||
		!is_empty(made) || !is_bare(there))
		return false;
	return sys_stat(pin, "", &staged) == 0 && staged.size > 0 &&
		give_attributes(pin, &staged, made) == 0;
}

/* false: nothing was done, and the contents are to be copied over the existing file. */
static bool move_over_made(struct work *w, int pin)
{
	struct attr made;

	if (!is_ready_to_replace(w, pin, &made))
		return false;
	if (replace_made(&w->at, &w->at2, &made))
		return errno == EXDEV && move_across(w, &made, NULL) == ERR_OK;
	work_done(w, pin, NULL);
	return true;
}

/* Whether the file that was made empty is now at `p`. */
static bool is_made_one(const struct work *w, const struct place *p)
{
	struct attr attr;

	return sys_stat(p->fd, p->name, &attr) == 0 && expect_met(&w->change->target2, &attr) &&
		is_empty(&attr);
}

/*
 * Completes the exchange of a killed run, at the name or at the copy's name, which had not yet
 * checked the file that came back.
 */
static bool was_moved_over_made(struct work *w)
{
	const struct temporary temporary = temporary_of(w);
	struct place copied = { .fd = w->at2.fd, .name = (char *)temporary.text };
	bool is_temporary = w->is_again && w->change->target2.ino && is_made_one(w, &copied);
	bool is_here = again_has_moved(w);

	if (is_here && !is_made_one(w, &w->at)) {
		exchange(&w->at, &w->at2);
		return false;
	}
	if (is_temporary)
		unlinkat(copied.fd, copied.name, 0);
	if (is_temporary || is_here)
		unlinkat(w->at.fd, w->at.name, 0);
	return is_temporary || is_here;
}

/* ---- Where a file is: its inode stays ---- */

/*
 * The staged file is removed only after all of it was copied: until then the change can be
 * repeated.
 */
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

static enum err check_staged(const struct work *w, struct error *e)
{
	if (w->at.is_staged)
		return ERR_OK;
	return error_set(e, ERR_INVALID, "%s: not a name of staging", w->change->path);
}

/* A file that a killed run left there is not used. */
enum err place_make(struct work *w, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	enum err k = check_staged(w, e);

	if (k != ERR_OK)
		return k;
	unlinkat(w->at.fd, w->at.name, 0);
	k = work_create(w, &fd, e);
	return k == ERR_OK ? work_write(w, fd, e) : k;
}

static enum err pin_staged(struct work *w, int *out_pin, struct error *e)
{
	const struct change *c = w->change;
	struct attr attr;
	enum err k = check_staged(w, e);

	if (k == ERR_OK)
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

static enum err place(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	bool was_made = c->flags & CHANGE_EXCHANGE && !(c->flags & CHANGE_EXCL);
	AUTO_CLOSE int pin = -1;

	if (was_made && was_moved_over_made(w))
		return describe_placed(w, e);
	enum err k = pin_staged(w, &pin, e);

	if (k != ERR_OK || (was_made && move_over_made(w, pin)))
		return k;
	for (int tries = 0; tries < PLACE_TRIES; tries++) {
		/*
		 * The change is meant for a certain file: if that file is gone, no other is made.
		 */
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

enum err change_place(struct work *w, struct error *e)
{
	enum err k = place(w, e);

	/* Also for a file that the run before had written. */
	if (k == ERR_OK && w->change->flags & CHANGE_MAKES)
		w->result->count = w->change->data_len;
	return k;
}
