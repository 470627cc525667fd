/*
 * ops_attributes.c - calls about attributes of a file: stat, mode, owner, times, extended
 * attributes, locks.
 */
#include "tests/oracle/ops.h"

#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

static const struct stat_rules plain_rules = { .nlink = true };

static void add_stat(struct outcome *o, const struct stat *st)
{
	/* Times are compared by the whole tree's comparison, which knows the rules. */
	struct stat without_times = *st;

	without_times.st_mtim = without_times.st_ctim = (struct timespec){ 0 };
	text_add_stat(&o->facts, &without_times, &plain_rules);
}

static void run_stat(struct side *s, const struct call *c, struct outcome *o)
{
	struct stat st;

	if (!outcome_take(o, fstatat(AT(0), &st, c->flags)))
		add_stat(o, &st);
}

static void run_fstat(struct side *s, const struct call *c, struct outcome *o)
{
	struct stat st;

	if (!outcome_take(o, fstat(SLOT(0), &st)))
		add_stat(o, &st);
}

static void run_statx(struct side *s, const struct call *c, struct outcome *o)
{
	struct statx stx;

	if (outcome_take(o, statx(AT(0), c->choice | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx)))
		return;
	text_add(&o->facts, "mask=%x mode=%o nlink=%u uid=%u gid=%u\n",
		stx.stx_mask & STATX_BASIC_STATS, stx.stx_mode, stx.stx_nlink, stx.stx_uid,
		stx.stx_gid);
	if (!S_ISDIR(stx.stx_mode))
		text_add(&o->facts, "size=%ju\n", (uintmax_t)stx.stx_size);
}

static void run_btime(struct side *s, const struct call *c, struct outcome *o)
{
	struct statx stx;

	if (!outcome_take(o, statx(AT(0), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &stx)))
		text_add(&o->facts, "btime %s\n", stx.stx_mask & STATX_BTIME ? "known" : "unknown");
}

/* Two names of one inode, and two inodes apart, on either side. */
static void run_same(struct side *s, const struct call *c, struct outcome *o)
{
	struct stat a, b;

	if (outcome_take(o, fstatat(AT(0), &a, 0)) || outcome_take(o, fstatat(AT(1), &b, 0)))
		return;
	text_add(
		&o->facts, "%s\n", a.st_ino == b.st_ino && a.st_dev == b.st_dev ? "same" : "apart");
}

static void run_statvfs(struct side *s, const struct call *c, struct outcome *o)
{
	struct statvfs v;

	if (!outcome_take(o, fstatvfs(SLOT(0), &v)))
		text_add(&o->facts, "longest name %lu\n", v.f_namemax);
}

static void run_access(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, faccessat(AT(0), (int)c->mode & 7, c->flags));
}

static void run_chmod(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, fchmodat(AT(0), c->mode, 0));
}

static void run_fchmod(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, fchmod(SLOT(0), c->mode));
}

static void run_chown(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, fchownat(AT(0), c->uid, c->gid, c->flags));
}

/*
 * This is an op of its own: a FUSE kernel answers it alone for a set-group-id file of another user.
 */
static void run_chown_nothing(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, fchownat(AT(0), (uid_t)-1, (gid_t)-1, c->flags));
}

static void run_fchown(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, fchown(SLOT(0), c->uid, c->gid));
}

static void run_utimens(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, utimensat(AT(0), c->times, c->flags));
}

static void run_futimens(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, futimens(SLOT(0), c->times));
}

/* ---- Extended attributes ---- */

static unsigned char value[128 * 1024];

/* Lengths around the limits of file systems and of the kernel, most of them short. */
static size_t value_length(const struct call *c)
{
	static const size_t edges[] = { 0, 3000, 65536, 65537 };

	return c->salt % 16 < 4 ? edges[c->salt % 4] : c->length % 200;
}

static void run_setxattr(struct side *s, const struct call *c, struct outcome *o)
{
	size_t len = value_length(c);

	pattern_fill(value, len, c->salt);
	if (op_enter(s, &c->at[0], o))
		outcome_take(o, lsetxattr(c->at[0].path, c->text, value, len, c->choice));
}

/*
 * A removed directory that is still open keeps its attributes on a mount, but not the extended
 * ones.
 */
static bool is_removed_directory(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISDIR(st.st_mode) && st.st_nlink == 0;
}

static void run_fsetxattr(struct side *s, const struct call *c, struct outcome *o)
{
	size_t len = value_length(c);

	pattern_fill(value, len, c->salt);
	if (is_removed_directory(SLOT(0)))
		return;
	outcome_take(o, fsetxattr(SLOT(0), c->text, value, len, c->choice));
}

/* The buffer has room, has none (asks for the size), or has too little (ERANGE). */
static void run_getxattr(struct side *s, const struct call *c, struct outcome *o)
{
	static const size_t rooms[] = { sizeof value, sizeof value, 0, 1, 50 };
	size_t room = rooms[c->salt % 5];

	if (!op_enter(s, &c->at[0], o))
		return;
	long len = outcome_take(o, lgetxattr(c->at[0].path, c->text, value, room));
	if (len >= 0 && room)
		text_add_data(&o->facts, value, (size_t)len);
}

static void run_fgetxattr(struct side *s, const struct call *c, struct outcome *o)
{
	if (is_removed_directory(SLOT(0)))
		return;
	long len = outcome_take(o, fgetxattr(SLOT(0), c->text, value, sizeof value));

	if (len >= 0)
		text_add_data(&o->facts, value, (size_t)len);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order of names is free. */
static void add_sorted(struct outcome *o, char *names, size_t len)
{
	char *sorted[4096];
	size_t count = 0;

	for (char *n = names; n < names + len && count < 4096; n += strlen(n) + 1)
		if (!strncmp(n, "user.", 5))
			sorted[count++] = n;
	if (count)
		qsort(sorted, count, sizeof *sorted, compare_names);
	for (size_t i = 0; i < count; i++) {
		text_add_escaped(&o->facts, sorted[i], strlen(sorted[i]));
		text_add(&o->facts, "\n");
	}
}

static void run_listxattr(struct side *s, const struct call *c, struct outcome *o)
{
	if (!op_enter(s, &c->at[0], o))
		return;
	long len = outcome_take(o, llistxattr(c->at[0].path, (char *)value, sizeof value));
	if (len > 0)
		add_sorted(o, (char *)value, (size_t)len);
}

static void run_removexattr(struct side *s, const struct call *c, struct outcome *o)
{
	if (op_enter(s, &c->at[0], o))
		outcome_take(o, lremovexattr(c->at[0].path, c->text));
}

/* ---- Locks: between the descriptors of one process, never waiting ---- */

static void run_flock(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, flock(SLOT(0), c->choice | LOCK_NB));
}

static struct flock range_lock(const struct call *c)
{
	static const short types[] = { F_RDLCK, F_WRLCK, F_UNLCK };

	return (struct flock){ .l_type = types[c->salt % 3],
		.l_whence = SEEK_SET,
		.l_start = c->offset[0],
		.l_len = (off_t)c->length };
}

static void run_fcntl_lock(struct side *s, const struct call *c, struct outcome *o)
{
	struct flock lock = range_lock(c);

	if (outcome_take(o, fcntl(SLOT(0), c->choice, &lock)))
		return;
	if (c->choice == F_GETLK || c->choice == F_OFD_GETLK)
		text_add(&o->facts, "type %d from %jd, %jd bytes\n", lock.l_type,
			(intmax_t)lock.l_start, (intmax_t)lock.l_len);
}

static const struct flag stat_flags[] = { { "AT_SYMLINK_NOFOLLOW", AT_SYMLINK_NOFOLLOW, 50 },
	{ "AT_EMPTY_PATH", AT_EMPTY_PATH, 10 }, { 0 } };
static const struct flag nofollow[] = { { "AT_SYMLINK_NOFOLLOW", AT_SYMLINK_NOFOLLOW, 50 }, { 0 } };
static const struct flag access_flags[] = { { "AT_EACCESS", AT_EACCESS, 40 },
	{ "AT_SYMLINK_NOFOLLOW", AT_SYMLINK_NOFOLLOW, 10 }, { 0 } };
static const struct flag statx_choices[] = { { "AT_STATX_SYNC_AS_STAT", 0, 2 },
	{ "AT_STATX_FORCE_SYNC", AT_STATX_FORCE_SYNC, 1 }, { 0 } };
static const struct flag setxattr_choices[] = { { "0", 0, 4 }, { "XATTR_CREATE", XATTR_CREATE, 1 },
	{ "XATTR_REPLACE", XATTR_REPLACE, 1 }, { 0 } };
static const struct flag flocks[] = { { "LOCK_SH", LOCK_SH, 2 }, { "LOCK_EX", LOCK_EX, 2 },
	{ "LOCK_UN", LOCK_UN, 3 }, { 0 } };
static const struct flag fcntl_locks[] = { { "F_SETLK", F_SETLK, 2 },
	{ "F_OFD_SETLK", F_OFD_SETLK, 3 }, { "F_GETLK", F_GETLK, 1 },
	{ "F_OFD_GETLK", F_OFD_GETLK, 2 }, { 0 } };

const struct op ops_attributes[] = {
	{ "stat", 50, USES_PATH, NULL, stat_flags, run_stat },
	{ "fstat", 30, USES_SLOT, NULL, NULL, run_fstat },
	{ "statx", 12, USES_PATH, statx_choices, NULL, run_statx },
	{ "btime", 3, USES_PATH, NULL, NULL, run_btime },
	{ "same", 8, USES_PATH | USES_PATH2, NULL, NULL, run_same },
	{ "statvfs", 2, USES_SLOT, NULL, NULL, run_statvfs },
	{ "access", 15, USES_PATH | USES_MODE, NULL, access_flags, run_access },
	{ "chmod", 25, USES_PATH | USES_MODE, NULL, NULL, run_chmod },
	{ "fchmod", 12, USES_SLOT | USES_MODE, NULL, NULL, run_fchmod },
	{ "chown", 18, USES_PATH | USES_OWNER, NULL, nofollow, run_chown },
	{ "chown_nothing", 2, USES_PATH, NULL, nofollow, run_chown_nothing },
	{ "fchown", 8, USES_SLOT | USES_OWNER, NULL, NULL, run_fchown },
	{ "utimens", 25, USES_PATH | USES_TIMES | SETS_ATIME, NULL, nofollow, run_utimens },
	{ "futimens", 10, USES_SLOT | USES_TIMES | SETS_ATIME, NULL, NULL, run_futimens },
	{ "setxattr", 15, USES_PATH | USES_XATTR, setxattr_choices, NULL, run_setxattr },
	{ "fsetxattr", 8, USES_SLOT | USES_XATTR, setxattr_choices, NULL, run_fsetxattr },
	{ "getxattr", 12, USES_PATH | USES_XATTR, NULL, NULL, run_getxattr },
	{ "fgetxattr", 6, USES_SLOT | USES_XATTR, NULL, NULL, run_fgetxattr },
	{ "listxattr", 8, USES_PATH, NULL, NULL, run_listxattr },
	{ "removexattr", 8, USES_PATH | USES_XATTR, NULL, NULL, run_removexattr },
	{ "flock", 10, USES_SLOT, flocks, NULL, run_flock },
	{ "fcntl_lock", 12, USES_SLOT | USES_OFFSET | USES_LENGTH, fcntl_locks, NULL,
		run_fcntl_lock },
	{ 0 },
};
