#include "providers/helper/root.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/birth.h"
#include "providers/helper/lift.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"
#include "providers/helper/user_xattrs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* ---- The root ---- */

static enum err read_identity(struct identity *out, struct error *e)
{
	int count = getgroups(0, NULL);
	AUTO_FREE gid_t *groups = calloc((size_t)count + 1, sizeof *groups);

	if (!groups)
		return error_set(e, ERR_NO_MEMORY, "groups");
	count = getgroups(count, groups);
	if (count < 0)
		return error_errno(e, errno, "getgroups");
	*out = (struct identity){ .uid = geteuid(), .gid = getegid() };
	for (int i = 0; i < count && i < IDENTITY_GROUPS_MAX; i++)
		out->groups[out->groups_count++] = groups[i];
	return ERR_OK;
}

static bool lacks_openat2(void)
{
	AUTO_CLOSE int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = sys_open_beneath(dir, ".", O_PATH | O_CLOEXEC);

	return fd < 0;
}

/* Another process may have made the directory first: staging must not be writable for others. */
static enum err check_staging(int fd, const char *staging, struct attr *out, struct error *e)
{
	enum err k = attr_of_fd(fd, out, e);

	if (k != ERR_OK)
		return k;
	if (out->uid != geteuid())
		return error_set(e, ERR_DENIED, "%s: belongs to another user", staging);
	if (out->mode & 077 && fchmod(fd, 0700))
		return error_errno(e, errno, "%s: chmod", staging);
	return ERR_OK;
}

static enum err open_staging(struct root *r, const char *staging, struct error *e)
{
	struct attr attr;
	enum err k;

	if (mkdir(staging, 0700) && errno != EEXIST)
		return error_errno(e, errno, "%s", staging);
	r->staging_fd = open(staging, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->staging_fd < 0)
		return error_errno(e, errno, "%s", staging);
	k = check_staging(r->staging_fd, staging, &attr, e);
	if (k == ERR_OK)
		r->staging = expect_of(&attr);
	return k;
}

static int open_beneath(int dir_fd, const char *dir, bool walks);

void root_find(const struct root *r, struct root *now)
{
	*now = *r;
	if (r->base_fd == AT_FDCWD)
		now->dir_fd = open(r->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	else
		now->dir_fd = open_beneath(r->base_fd, r->path, r->walk);
	now->missing = now->dir_fd < 0 ? errno : 0;
}

void root_let(struct root *now)
{
	cleanup_close(&now->dir_fd);
	now->dir_fd = -1;
}

enum err root_check(const struct root *r, struct error *e)
{
	return r->dir_fd < 0 ? error_errno(e, r->missing, "%s", r->path) : ERR_OK;
}

static enum err fill(struct root *r, const char *staging, bool may_lack, struct error *e)
{
	struct root now;
	enum err k;

	root_find(r, &now);
	r->dir_fd = now.dir_fd;
	r->missing = now.missing;
	k = may_lack ? ERR_OK : root_check(r, e);
	if (k == ERR_OK)
		k = read_identity(&r->identity, e);
	return k == ERR_OK && staging ? open_staging(r, staging, e) : k;
}

static enum err open_at(struct root *r, int base_fd, const char *dir, const char *staging,
	bool may_lack, struct error *e)
{
	enum err k;

	*r = (struct root){ .dir_fd = -1,
		.staging_fd = -1,
		.base_fd = base_fd,
		.path = strdup(dir),
		.walk = lacks_openat2(),
		.is_superuser = geteuid() == 0 };
	k = r->path ? fill(r, staging, may_lack, e) : error_set(e, ERR_NO_MEMORY, "%s", dir);
	if (k != ERR_OK)
		root_close(r);
	return k;
}

enum err root_open(struct root *r, const char *dir, const char *staging, struct error *e)
{
	return open_at(r, AT_FDCWD, dir, staging, false, e);
}

enum err root_open_any(struct root *r, const char *dir, const char *staging, struct error *e)
{
	return open_at(r, AT_FDCWD, dir, staging, true, e);
}

enum err root_open_below(
	struct root *r, int base_fd, const char *dir, const char *staging, struct error *e)
{
	return open_at(r, base_fd, dir, staging, false, e);
}

void root_close(struct root *r)
{
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	if (r->staging_fd >= 0)
		close(r->staging_fd);
	free(r->path);
	r->path = NULL;
	r->dir_fd = r->staging_fd = -1;
}

bool root_hides(const struct root *r, const struct attr *a)
{
	/* Staging was seen by this process, so its file system still has the same number. */
	return r->staging_fd >= 0 && r->staging.dev == a->dev && expect_met(&r->staging, a);
}

/* ---- The way to a place ---- */

static bool is_link(int dir_fd, const char *name)
{
	struct attr attr;

	return sys_stat(dir_fd, name, &attr) == 0 && S_ISLNK(attr.mode);
}

static int step(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* O_DIRECTORY gives ENOTDIR first; openat2 gives ELOOP. */
	if (fd < 0 && errno == ENOTDIR)
		errno = is_link(dir_fd, name) ? ELOOP : ENOTDIR;
	return fd;
}

/* As openat2, one component at a time. */
static int walk(int dir_fd, const char *dir)
{
	AUTO_CLOSE int at = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (at >= 0 && *dir) {
		size_t len = strcspn(dir, "/");
		char name[PATH_NAME_MAX + 1];
		int next;

		memcpy(name, dir, len);
		name[len] = 0;
		next = step(at, name);
		cleanup_close(&at);
		at = next;
		dir += len + (dir[len] == '/');
	}
	return take_fd(&at);
}

static int open_beneath(int dir_fd, const char *dir, bool walks)
{
	if (walks || strlen(dir) >= PATH_MAX)
		return walk(dir_fd, dir);
	return sys_open_beneath(dir_fd, *dir ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static enum err open_tree_dir(const struct root *r, const char *dir, int *out_fd, struct error *e)
{
	enum err k = root_check(r, e);
	int fd = k == ERR_OK ? open_beneath(r->dir_fd, dir, r->walk) : -1;

	if (k != ERR_OK)
		return k;
	if (fd < 0 && errno == ELOOP)
		return error_set(e, ERR_STALE, "%s: has become a symbolic link", dir);
	if (fd < 0)
		return error_errno(e, errno, "%s", dir);
	*out_fd = fd;
	return ERR_OK;
}

static enum err open_parent(const struct root *r, const char *path, int *out_fd, struct error *e)
{
	const char *name = path_name(path);
	AUTO_FREE char *dir = strndup(path, name > path ? (size_t)(name - path - 1) : 0);

	if (!dir)
		return error_set(e, ERR_NO_MEMORY, "%s", path);
	return open_tree_dir(r, dir, out_fd, e);
}

static enum err find_staging(const struct root *r, int *out_fd, struct error *e)
{
	*out_fd = r->staging_fd;
	return *out_fd < 0 ? error_set(e, ERR_UNSUPPORTED, "there is no staging directory")
			   : ERR_OK;
}

static enum err check_expected(int fd, const struct expect *x, const char *path, struct error *e)
{
	struct attr attr;
	enum err k;

	if (expect_is_any(x))
		return ERR_OK;
	k = attr_of_fd(fd, &attr, e);
	if (k == ERR_OK && !expect_met(x, &attr))
		return error_set(e, ERR_STALE, "%s: lies in another directory now", path);
	return k;
}

enum err root_place(const struct root *r, const char *path, const struct expect *parent,
	struct place *out, struct error *e)
{
	AUTO_PLACE struct place p = PLACE_NONE;
	enum err k = path_check(path, e);

	*out = p;
	if (k != ERR_OK)
		return k;
	p.name = *path ? path_name(path) : ".";
	p.is_staged = path_is_staged(path);
	k = p.is_staged ? find_staging(r, &p.fd, e) : open_parent(r, path, &p.fd, e);
	/* The directory above the root is not checked: the root is whatever its path leads to. */
	if (k == ERR_OK && strchr(path, '/'))
		k = check_expected(p.fd, parent, path, e);
	if (k != ERR_OK)
		return k;
	*out = p;
	p.fd = -1;
	return ERR_OK;
}

void place_release(struct place *p)
{
	if (!p->is_staged)
		cleanup_close(&p->fd);
	free(p->moved);
	p->moved = NULL;
	p->fd = -1;
}

/* ---- Attributes and expected inodes ---- */

enum err attr_of_fd(int fd, struct attr *out, struct error *e)
{
	if (sys_stat(fd, "", out))
		return error_errno(e, errno, "fstat");
	if (out->btime_ns && sys_is_layered(fd))
		birth_keep_since_start(out);
	user_xattrs_note(fd, "", out);
	return ERR_OK;
}

enum err place_stat(const struct place *p, struct attr *out, const char *path, struct error *e)
{
	if (sys_stat(p->fd, p->name, out))
		return error_errno(e, errno, "%s", path);
	if (out->btime_ns && sys_is_layered(p->fd))
		birth_keep_since_start(out);
	user_xattrs_note(p->fd, p->name, out);
	return ERR_OK;
}

bool expect_is_any(const struct expect *x)
{
	return !x || (!x->dev && !x->ino && !x->btime_ns);
}

/*
 * A file system without a device has another number whenever it is mounted, as a container's layers
 * have when the container starts again.
 */
static bool may_be_same_device(uint64_t one, uint64_t other)
{
	return one == other || (!major(one) && !major(other));
}

bool expect_met(const struct expect *x, const struct attr *a)
{
	if (expect_is_any(x))
		return true;
	if (x->ino != a->ino || !may_be_same_device(x->dev, a->dev))
		return false;
	return !is_born_apart(x->btime_ns, a->btime_ns);
}

struct expect expect_of(const struct attr *a)
{
	return (struct expect){ .dev = a->dev, .ino = a->ino, .btime_ns = a->btime_ns };
}

/*
 * In staging a name always means the same file. The inode number may change on a file system of
 * layers, and what was removed on another file system is a copy.
 */
static bool is_staged_copy(const struct place *p)
{
	return p->is_staged &&
		(sys_is_layered(p->fd) ||
			!strncmp(p->name, STAGED_UNLINKED, strlen(STAGED_UNLINKED)));
}

enum err place_pin(const struct place *p, const struct expect *target, int *out_fd,
	struct attr *out, const char *path, struct error *e)
{
	AUTO_CLOSE int fd = openat(p->fd, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	enum err k;

	if (fd < 0)
		return error_errno(e, errno, "%s", path);
	k = attr_of_fd(fd, out, e);
	if (k != ERR_OK)
		return k;
	if (!expect_met(target, out) && !is_staged_copy(p))
		return error_set(e, ERR_STALE, "%s: is not the file it was", path);
	*out_fd = take_fd(&fd);
	return ERR_OK;
}

/* ---- Opening ---- */

/*
 * Without /proc there is only the name: the opened inode must be the held one. O_NONBLOCK: a fifo
 * that came meanwhile must not block.
 */
static int open_by_name(const struct place *p, int flags, int pin)
{
	AUTO_CLOSE int fd = openat(p->fd, p->name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct attr held, opened;

	/*
	 * The attributes are read after the open: opening for writing may copy the file from a
	 * lower layer, which gives the held inode and the opened one a new number.
	 */
	if (fd < 0 || sys_stat(fd, "", &opened) || sys_stat(pin, "", &held))
		return -1;
	const struct expect same = expect_of(&held);

	if (expect_met(&same, &opened))
		return take_fd(&fd);
	errno = ESTALE;
	return -1;
}

static int open_held(const struct place *p, int pin, int flags, const struct attr *held)
{
	int fd = pin_open(pin, S_ISDIR(held->mode) ? flags | O_DIRECTORY : flags);

	return fd < 0 && errno == EOPNOTSUPP ? open_by_name(p, flags, pin) : fd;
}

static enum err check_openable(const struct attr *a, const char *path, struct error *e)
{
	if (S_ISLNK(a->mode))
		return error_set(e, ERR_STALE, "%s: has become a symbolic link", path);
	if (!S_ISREG(a->mode) && !S_ISDIR(a->mode))
		return error_set(e, ERR_INVALID, "%s: is neither a file nor a directory", path);
	return ERR_OK;
}

/*
 * In staging a name keeps its meaning, so one open is enough; a file that fails this check goes the
 * general way.
 */
static bool open_staged(const struct place *p, int flags, const struct expect *target, int *out_fd)
{
	AUTO_CLOSE int fd = openat(p->fd, p->name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct attr attr;

	if (fd < 0 || attr_of_fd(fd, &attr, NULL) || !S_ISREG(attr.mode) ||
		(!expect_met(target, &attr) && !is_staged_copy(p)))
		return false;
	*out_fd = take_fd(&fd);
	return true;
}

enum err place_open(const struct place *p, int flags, const struct expect *target, bool by_handle,
	int *out_fd, const char *path, struct error *e)
{
	AUTO_CLOSE int pin = -1;
	struct attr attr;

	if (p->is_staged && open_staged(p, flags, target, out_fd))
		return ERR_OK;
	enum err k = place_pin(p, target, &pin, &attr, path, e);
	int fd;

	if (k == ERR_OK)
		k = check_openable(&attr, path, e);
	if (k != ERR_OK)
		return k;
	fd = open_held(p, pin, flags, &attr);
	if (fd < 0 && errno == EACCES && by_handle && S_ISREG(attr.mode))
		fd = lift_and_open(pin, flags);
	if (fd < 0)
		return error_errno(e, errno, "%s", path);
	*out_fd = fd;
	return ERR_OK;
}

enum err root_open_dir(const struct root *r, const char *path, const struct expect *target,
	int *out_fd, struct error *e)
{
	AUTO_PLACE struct place p = PLACE_NONE;
	AUTO_CLOSE int pin = -1;
	struct attr attr;
	enum err k = root_place(r, path, NULL, &p, e);

	if (k == ERR_OK)
		k = place_pin(&p, target, &pin, &attr, path, e);
	if (k != ERR_OK)
		return k;
	if (!S_ISDIR(attr.mode))
		return error_set(e, ERR_NOT_DIR, "%s: not a directory", path);
	*out_fd = pin_open_dir(pin);
	return *out_fd < 0 ? error_errno(e, errno, "%s", path) : ERR_OK;
}
