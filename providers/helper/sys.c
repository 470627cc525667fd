#include "providers/helper/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The number is the same on every architecture. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* <linux/openat2.h> */
struct kernel_open_how {
	/* cppcheck-suppress unusedStructMember ; the kernel reads them */
	uint64_t flags, mode, resolve;
};

enum { RESOLVE_NO_MAGIC = 2, RESOLVE_NO_LINKS = 4, RESOLVE_BELOW = 8 };

/* <linux/stat.h> */
struct kernel_time {
	int64_t sec;
	uint32_t nsec;
	/* cppcheck-suppress unusedStructMember */
	int32_t reserved;
};

struct kernel_statx {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, spare0;
	uint64_t ino, size, blocks, attributes_mask;
	struct kernel_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t spare[14];
};

_Static_assert(sizeof(struct kernel_statx) == 256, "the kernel's struct statx");

enum { WANT_BASIC = 0x7ff, WANT_BTIME = 0x800 };

int sys_open_beneath(int dir_fd, const char *path, int flags)
{
	struct kernel_open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_BELOW | RESOLVE_NO_LINKS | RESOLVE_NO_MAGIC,
	};

	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
}

static struct timespec to_timespec(const struct kernel_time *t)
{
	return (struct timespec){ .tv_sec = t->sec, .tv_nsec = t->nsec };
}

static uint64_t to_ns(const struct kernel_time *t)
{
	return (uint64_t)t->sec * 1000000000 + t->nsec;
}

static bool is_device(uint32_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

static void from_statx(const struct kernel_statx *s, struct attr *out)
{
	*out = (struct attr){
		.dev = makedev(s->dev_major, s->dev_minor),
		.ino = s->ino,
		.btime_ns = s->mask & WANT_BTIME ? to_ns(&s->btime) : 0,
		.mode = s->mode,
		.nlink = s->nlink,
		.uid = s->uid,
		.gid = s->gid,
		.rdev = is_device(s->mode) ? makedev(s->rdev_major, s->rdev_minor) : 0,
		.size = s->size,
		.blocks = s->blocks,
		.blksize = s->blksize,
		.atime = to_timespec(&s->atime),
		.mtime = to_timespec(&s->mtime),
		.ctime = to_timespec(&s->ctime),
	};
}

static int stat_without_statx(int fd, const char *name, int flags, struct attr *out)
{
	struct stat s;

	if (fstatat(fd, name, &s, flags))
		return -1;
	*out = (struct attr){
		.dev = s.st_dev,
		.ino = s.st_ino,
		.mode = s.st_mode,
		.nlink = (uint32_t)s.st_nlink,
		.uid = s.st_uid,
		.gid = s.st_gid,
		.rdev = is_device(s.st_mode) ? s.st_rdev : 0,
		.size = (uint64_t)s.st_size,
		.blocks = (uint64_t)s.st_blocks,
		.blksize = (uint32_t)s.st_blksize,
		.atime = s.st_atim,
		.mtime = s.st_mtim,
		.ctime = s.st_ctim,
	};
	return 0;
}

int sys_stat(int fd, const char *name, struct attr *out)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);
	struct kernel_statx s;

	if (syscall(SYS_statx, fd, name, flags, WANT_BASIC | WANT_BTIME, &s) == 0) {
		from_statx(&s, out);
		return 0;
	}
	/*
	 * EPERM: older container filters refuse an unknown call with it; statx itself never returns
	 * EPERM.
	 */
	if (errno == ENOSYS || errno == EPERM)
		return stat_without_statx(fd, name, flags, out);
	return -1;
}

int sys_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	if (!flags)
		return renameat(from_fd, from, to_fd, to);
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int sys_chmod_held(int fd, mode_t mode)
{
	return (int)syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH);
}

/* <linux/magic.h> */
enum { MAGIC_OVERLAYFS = 0x794c7630, MAGIC_FUSE = 0x65735546 };

bool sys_is_layered(int fd)
{
	struct statfs s;

	if (fstatfs(fd, &s))
		return false;
	return (uint32_t)s.f_type == MAGIC_OVERLAYFS || (uint32_t)s.f_type == MAGIC_FUSE;
}
