#include "providers/base/cleanup.h"
#include "providers/helper/apply.h"

#include "providers/helper/follow.h"
#include "providers/helper/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum second_path { ONE_PATH, MAYBE_TWO_PATHS, TWO_PATHS };

static const struct kind {
	enum err (*run)(struct work *w, struct error *e);
	enum second_path second;
} kinds[CHANGE_OP_END] = {
	[CHANGE_MKDIR] = { .run = change_mkdir },
	[CHANGE_CREATE] = { .run = change_create },
	[CHANGE_MKNOD] = { .run = change_mknod },
	[CHANGE_SYMLINK] = { .run = change_symlink },
	[CHANGE_LINK] = { .run = change_link, .second = TWO_PATHS },
	[CHANGE_UNLINK] = { .run = change_unlink, .second = MAYBE_TWO_PATHS },
	[CHANGE_RMDIR] = { .run = change_rmdir },
	[CHANGE_RENAME] = { .run = change_rename, .second = TWO_PATHS },
	[CHANGE_SETATTR] = { .run = change_setattr },
	[CHANGE_WRITE] = { .run = change_write },
	[CHANGE_APPEND] = { .run = change_append },
	[CHANGE_FALLOCATE] = { .run = change_fallocate },
	[CHANGE_COPY] = { .run = change_copy, .second = TWO_PATHS },
	[CHANGE_PLACE] = { .run = change_place, .second = TWO_PATHS },
	[CHANGE_SETXATTR] = { .run = change_setxattr },
	[CHANGE_REMOVEXATTR] = { .run = change_removexattr },
	[CHANGE_SYNC] = { .run = change_sync },
};

/* ---- For the kinds of change ---- */

enum err work_done(struct work *w, int fd, struct error *e)
{
	enum err k = attr_of_fd(fd, &w->result->attr, e);

	w->result->has_attr = k == ERR_OK;
	return k;
}

enum err work_open(struct work *w, int flags, int *out_fd, struct error *e)
{
	const struct change *c = w->change;

	return place_open(
		&w->at, flags, &c->target, c->flags & CHANGE_BY_HANDLE, out_fd, c->path, e);
}

/* ---- The file that is written to ---- */

bool change_is_writing(const struct change *c)
{
	return c->op == CHANGE_WRITE || (c->op == CHANGE_SETATTR && c->set & SET_SIZE);
}

void writer_close(struct writer *writer)
{
	cleanup_close(&writer->fd);
	writer->fd = -1;
}

static bool goes_on(struct work *w, const struct expect *target, int *out_fd)
{
	const struct writer *writer = w->writer;
	AUTO_CLOSE int pin = -1;
	struct attr there;

	if (writer->fd < 0 ||
		place_pin(&w->at, target, &pin, &there, w->change->path, NULL) != ERR_OK ||
		there.dev != writer->dev || there.ino != writer->ino)
		return false;
	*out_fd = fcntl(writer->fd, F_DUPFD_CLOEXEC, 0);
	return *out_fd >= 0;
}

/* Without a free descriptor the next change opens the file again. */
static void keep_open(struct writer *writer, int fd)
{
	struct attr attr;

	writer_close(writer);
	if (attr_of_fd(fd, &attr, NULL) != ERR_OK)
		return;
	writer->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	writer->dev = attr.dev;
	writer->ino = attr.ino;
}

enum err work_open_writer(struct work *w, const struct expect *target, int *out_fd, struct error *e)
{
	const struct change *c = w->change;
	bool is_by_handle = c->flags & CHANGE_BY_HANDLE;

	/* Without a handle the present mode bits count. */
	if (w->writer && is_by_handle && goes_on(w, target, out_fd))
		return ERR_OK;
	enum err k = place_open(&w->at, O_WRONLY, target, is_by_handle, out_fd, c->path, e);

	if (k == ERR_OK && w->writer && change_is_writing(c))
		keep_open(w->writer, *out_fd);
	return k;
}

enum err work_open2(struct work *w, int flags, int *out_fd, struct error *e)
{
	const struct change *c = w->change;

	return place_open(
		&w->at2, flags, &c->target2, c->flags & CHANGE_BY_HANDLE, out_fd, c->path2, e);
}

/* ---- One change ---- */

static enum err check_change(const struct change *c, struct error *e)
{
	if (c->op < CHANGE_MKDIR || c->op >= CHANGE_OP_END)
		return error_set(e, ERR_INVALID, "no such change: %d", (int)c->op);
	if (!c->path || (kinds[c->op].second == TWO_PATHS && !c->path2))
		return error_set(e, ERR_INVALID, "a change without its path");
	if (c->offset > INT64_MAX || c->offset2 > INT64_MAX)
		return error_set(e, ERR_INVALID, "%s: no such offset", c->path);
	if (c->flags & CHANGE_MAKES && c->op != CHANGE_PLACE)
		return error_set(e, ERR_INVALID, "%s: made, but not to be placed", c->path);
	return ERR_OK;
}

static bool has_second(const struct change *c)
{
	return kinds[c->op].second != ONE_PATH && c->path2;
}

/*
 * A change that makes, moves or removes is of a name. Any other change is of an inode, whatever its
 * name is now.
 */
static bool is_of_inode(const struct change *c)
{
	return c->op >= CHANGE_SETATTR && c->op != CHANGE_PLACE;
}

static bool is_of_inode2(const struct change *c)
{
	return c->op == CHANGE_COPY || (c->op == CHANGE_PLACE && !(c->flags & CHANGE_EXCHANGE));
}

static bool stat_dir(const struct place *p, struct attr *out)
{
	return p->fd >= 0 && !p->is_staged && attr_of_fd(p->fd, out, NULL) == ERR_OK;
}

/* The directories after the change, but not staging: no client needs its attributes. */
static void describe_parents(struct work *w)
{
	struct change_result *r = w->result;

	r->has_parent = stat_dir(&w->at, &r->parent);
	r->has_parent2 = stat_dir(&w->at2, &r->parent2);
	if (r->has_parent && r->has_parent2 && r->parent.dev == r->parent2.dev &&
		r->parent.ino == r->parent2.ino)
		r->has_parent2 = false;
}

static bool is_version(const struct version *v, const struct attr *a)
{
	return v->size == a->size && time_equals(v->mtime, a->mtime) &&
		time_equals(v->ctime, a->ctime);
}

/*
 * Whether the file has since only been copied from a lower layer, as by an open for writing: the
 * time of birth and the ctime are new then, but the contents are the same.
 */
static bool is_copied_up(const struct place *p, const struct version *v, const struct attr *a)
{
	const struct timespec born = { .tv_sec = (time_t)(a->btime_ns / 1000000000),
		.tv_nsec = (long)(a->btime_ns % 1000000000) };

	return v->size == a->size && time_equals(v->mtime, a->mtime) &&
		time_is_after(born, v->ctime) && sys_is_layered(p->fd);
}

/* A rename changes the ctime. */
static bool is_version_moved(const struct version *v, const struct attr *a)
{
	return v->size == a->size && time_equals(v->mtime, a->mtime) &&
		!time_is_after(v->ctime, a->ctime);
}

static enum err check_version(const struct place *p, const struct version *v,
	const struct expect *x, const char *path, struct error *e)
{
	static const struct attr none;
	struct attr there;

	if (is_version(v, &none))
		return ERR_OK;
	if (sys_stat(p->fd, p->name, &there))
		return error_set(e, ERR_CONFLICT, "%s: is gone", path);
	/* Another inode is no conflict here: the change itself reports it. */
	if (!expect_met(x, &there) || is_version(v, &there) || is_copied_up(p, v, &there))
		return ERR_OK;
	if (p->moved && is_version_moved(v, &there))
		return ERR_OK;
	return error_set(e, ERR_CONFLICT, "%s: was changed in the sandbox", path);
}

/* The removal says that itself: there are no contents of others that it would take away. */
static bool is_gone_already(const struct work *w)
{
	struct attr there;

	return w->change->op == CHANGE_UNLINK && sys_stat(w->at.fd, w->at.name, &there) &&
		errno == ENOENT;
}

static enum err check_versions(const struct work *w, struct error *e)
{
	const struct change *c = w->change;

	if (is_gone_already(w))
		return ERR_OK;
	enum err k = check_version(&w->at, &c->version, &c->target, c->path, e);

	if (k != ERR_OK || !has_second(c))
		return k;
	return check_version(&w->at2, &c->version2, &c->target2, c->path2, e);
}

/*
 * Whether the inode expected at the place got another number when it was copied from a lower layer.
 * A change of the batch made the copy, or another process, which is recognized where a version is
 * expected, too.
 */
static bool follow_copy(
	const struct work *w, const struct place *p, const struct version *v, struct expect *x)
{
	static const struct attr none;
	struct attr there;

	if (expect_is_any(x) || p->fd < 0 || sys_stat(p->fd, p->name, &there) ||
		expect_met(x, &there))
		return false;
	bool is_ours = w->copied && copied_has(w->copied, x, &there);

	/*
	 * A file with several names gets a new inode for one of them; a copy by others that still
	 * has several names is another file.
	 */
	if (!is_ours && (is_version(v, &none) || there.nlink != 1 || !is_copied_up(p, v, &there)))
		return false;
	*x = expect_of(&there);
	return true;
}

/* A place of a change, the first or the second, and the inode expected there. */
struct sought {
	const char *path;
	const struct expect *parent; /* NULL: any directory */
	const struct version *version;
	struct expect *target; /* also gets the inode that a copy from a lower layer made */
	bool is_name;          /* the place is of a name, so its inode is not searched elsewhere */
};

static enum err find_place(
	struct work *w, const struct sought *s, struct place *at, bool *is_copied, struct error *e)
{
	enum err k = root_place(w->root, s->path, s->parent, at, e);

	if (k == ERR_OK && follow_copy(w, at, s->version, s->target))
		*is_copied = true;
	else if (!s->is_name && !w->stays && w->follow)
		k = follow_place(w->follow, s->path, s->target, s->version, k, at, e);
	return k;
}

static enum err find_places(struct work *w, bool checks, struct error *e)
{
	struct change c = *w->change;
	const struct sought one = { .path = c.path,
		.parent = checks ? &c.parent : NULL,
		.version = &c.version,
		.target = &c.target,
		.is_name = !is_of_inode(&c) };
	const struct sought two = { .path = c.path2,
		.parent = checks ? &c.parent2 : NULL,
		.version = &c.version2,
		.target = &c.target2,
		.is_name = !is_of_inode2(&c) };
	bool is_copied = false;
	enum err k = find_place(w, &one, &w->at, &is_copied, e);

	if (k == ERR_OK && has_second(&c))
		k = find_place(w, &two, &w->at2, &is_copied, e);
	if (k == ERR_OK && is_copied) {
		w->followed = c;
		w->change = &w->followed;
	}
	return k;
}

/* Whether the file's contents after the change follow from those before and the change. */
static bool goes_on_with_contents(const struct change *c)
{
	switch (c->op) {
	case CHANGE_WRITE:
	case CHANGE_APPEND:
	case CHANGE_LINK:
	case CHANGE_UNLINK:
	case CHANGE_RENAME:
	case CHANGE_SETXATTR:
	case CHANGE_REMOVEXATTR: return true;
	case CHANGE_SETATTR: return !(c->set & SET_SIZE);
	case CHANGE_PLACE: return !(c->flags & CHANGE_MAKES);
	default: return false;
	}
}

/* The time of birth is left out: on a file system of layers, where this counts, it changes. */
static void learn_found(struct work *w)
{
	const struct expect *x = change_keeps_inode(w->change);
	const struct place *p = x == &w->change->target2 ? &w->at2 : &w->at;
	struct attr there;

	if (x && p->fd >= 0 && sys_stat(p->fd, p->name, &there) == 0)
		w->found = (struct expect){ .dev = there.dev, .ino = there.ino };
}

/*
 * The name of the inode that the change makes, moves or removes is `path`, or `path2` for a new
 * link.
 */
static void learn_before(struct work *w)
{
	struct attr named, made = { 0 };
	bool is_link = w->change->op == CHANGE_LINK;
	bool is_there = sys_stat(w->at.fd, w->at.name, &named) == 0;

	if (is_there && S_ISREG(named.mode) && goes_on_with_contents(w->change))
		w->result->before = (struct version){
			.size = named.size, .mtime = named.mtime, .ctime = named.ctime
		};
	const struct attr *known = is_link ? &made : &named;

	if (is_link)
		is_there = sys_stat(w->at2.fd, w->at2.name, &made) == 0;
	if (is_there)
		w->before = (struct before){ .size = known->size, .ino = known->ino };
}

enum err work_prepare(struct work *w, struct error *e)
{
	enum err k = check_change(w->change, e);

	if (k == ERR_OK)
		k = find_places(w, true, e);
	/* For a repeated change the version was checked before it began. */
	if (k != ERR_OK || w->is_again)
		return k;
	k = check_versions(w, e);
	if (k == ERR_OK && w->change->flags & CHANGE_MAKES)
		k = place_make(w, e);
	learn_before(w);
	learn_found(w);
	return k;
}

enum err work_carry_out(struct work *w, struct error *e)
{
	enum err k;

	if (w->is_again && again_is_gone(w)) {
		work_describe(w);
		return ERR_OK;
	}
	k = kinds[w->change->op].run(w, e);
	/* ERR_NOT_FOUND in an existing directory may be what was wanted. */
	if (k == ERR_OK || k == ERR_NOT_FOUND)
		describe_parents(w);
	return k;
}

void work_refused(const struct work *w)
{
	if (!(w->change->flags & CHANGE_MAKES) || !w->at.is_staged)
		return;
	unlinkat(w->at.fd, w->at.name, 0);
	w->result->count = 0;
}

void work_release(struct work *w)
{
	place_release(&w->at);
	place_release(&w->at2);
}

/* ---- A change that is over ---- */

/* The name that a change leaves behind. */
static const struct place *left_behind(const struct work *w)
{
	switch (w->change->op) {
	case CHANGE_LINK:
	case CHANGE_RENAME:
	case CHANGE_PLACE:
	case CHANGE_COPY: return &w->at2;
	case CHANGE_UNLINK: return w->change->path2 ? &w->at2 : &w->at;
	default: return &w->at;
	}
}

/*
 * The count is that of the whole change: a partial write was refused, and the count of a copy is no
 * longer known.
 */
static void describe_bytes(struct work *w)
{
	const struct change *c = w->change;
	struct change_result *r = w->result;

	if (c->op == CHANGE_WRITE || c->op == CHANGE_APPEND || c->flags & CHANGE_MAKES)
		r->count = c->data_len;
	if (c->op == CHANGE_COPY)
		r->count = c->length;
	if (c->op == CHANGE_APPEND && r->has_attr && r->attr.size >= r->count)
		r->offset = r->attr.size - r->count;
}

void work_tell_parents(struct work *w)
{
	if (check_change(w->change, NULL) != ERR_OK)
		return;
	find_places(w, false, NULL);
	describe_parents(w);
}

/* Perhaps its name is gone again. */
void work_describe(struct work *w)
{
	const struct change *c = w->change;
	const struct place *p;

	if (check_change(c, NULL) != ERR_OK)
		return;
	work_release(w);
	find_places(w, false, NULL);
	p = left_behind(w);
	w->result->has_attr = p->fd >= 0 && place_stat(p, &w->result->attr, "", NULL) == ERR_OK;
	describe_bytes(w);
	describe_parents(w);
}
