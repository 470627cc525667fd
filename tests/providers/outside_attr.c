#include "tests/providers/outside_there.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static struct attr attr_here(const struct subject *s, const char *path)
{
	struct statx x;

	cr_assert(statx(s->tree.fd, path, AT_SYMLINK_NOFOLLOW | (*path ? 0 : AT_EMPTY_PATH),
			  STATX_BASIC_STATS | STATX_BTIME, &x) == 0,
		"%s: %s", path, strerror(errno));
	return (struct attr){ .dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.ino = x.stx_ino,
		.btime_ns = x.stx_mask & STATX_BTIME
			? (uint64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec
			: 0,
		.mode = x.stx_mode,
		.nlink = x.stx_nlink,
		.uid = x.stx_uid,
		.gid = x.stx_gid,
		.rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
		.size = x.stx_size,
		.blocks = x.stx_blocks,
		.blksize = x.stx_blksize,
		.atime = { x.stx_atime.tv_sec, x.stx_atime.tv_nsec },
		.mtime = { x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec },
		.ctime = { x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec } };
}

/*
 * A time as stat(1) prints it: the seconds rounded down, and the fraction counted away from zero.
 */
static struct timespec read_time(long long seconds, long fraction)
{
	bool is_before = seconds < 0 && fraction;

	return (struct timespec){ (time_t)seconds, is_before ? 1000000000 - fraction : fraction };
}

static void read_times(const char *line, struct attr *a)
{
	long long seconds[4];
	long fractions[4];
	int count = sscanf(line, "%lld %*d.%ld %lld %*d.%ld %lld %*d.%ld %lld %*d.%ld", &seconds[0],
		&fractions[0], &seconds[1], &fractions[1], &seconds[2], &fractions[2], &seconds[3],
		&fractions[3]);

	cr_assert(eq(int, count, 8), "%s", line);
	a->atime = read_time(seconds[0], fractions[0]);
	a->mtime = read_time(seconds[1], fractions[1]);
	a->ctime = read_time(seconds[2], fractions[2]);
	a->btime_ns = (uint64_t)seconds[3] * 1000000000 + (uint64_t)fractions[3];
}

static struct attr attr_there(const struct subject *s, const char *path)
{
	static const char script[] = "stat -c '%d %i %f %h %u %g %t %T %s %b %o %X %.9X %Y %.9Y %Z "
				     "%.9Z %W %.9W' \"./$1\"";
	AUTO_FREE char *said = say_there(s, script, path, NULL);
	struct attr a = { 0 };
	unsigned major, minor;
	int count, end = 0;

	count = sscanf(said,
		"%" SCNu64 " %" SCNu64 " %" SCNx32 " %" SCNu32 " %" SCNu32 " %" SCNu32
		" %x %x %" SCNu64 " %" SCNu64 " %" SCNu32 " %n",
		&a.dev, &a.ino, &a.mode, &a.nlink, &a.uid, &a.gid, &major, &minor, &a.size,
		&a.blocks, &a.blksize, &end);
	cr_assert(eq(int, count, 11), "%s", said);
	a.rdev = makedev(major, minor);
	read_times(said + end, &a);
	return a;
}

struct attr outside_attr(const struct subject *s, const char *path)
{
	struct attr a = is_here(s) ? attr_here(s, path) : attr_there(s, path);

	if (s->lacks & LACKS_BIRTH)
		a.btime_ns = 0;
	return a;
}

struct expect outside_expect(const struct subject *s, const char *path)
{
	struct attr a = outside_attr(s, path);

	return (struct expect){ .dev = a.dev, .ino = a.ino, .btime_ns = a.btime_ns };
}
