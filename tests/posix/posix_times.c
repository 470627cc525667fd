/* posix_times.c - utimensat, and the other calls that move times. */
#include "tests/posix/posix.h"

#include <time.h>

static void check_time(struct timespec got, const struct timespec *wanted)
{
	SAME(got.tv_sec, wanted->tv_sec);
	SAME(got.tv_nsec, wanted->tv_nsec);
}

static void times_are_kept_to_the_nanosecond(void)
{
	static const struct timespec rows[][2] = {
		{ { 1000000000, 1 }, { 1100000000, 999999999 } },
		{ { 0, 0 }, { 0, 1 } },
		{ { -1, 500000000 }, { -86400, 0 } },
		{ { 2147483647, 0 }, { 2147483648, 7 } },
		{ { 4294967296, 123 }, { 8589934592, 456 } },
	};

	make_file("f", 0644);
	OK(mkdir("d", 0755));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		OK(utimensat(AT_FDCWD, "f", rows[i], 0));
		check_time(stat_of("f").st_atim, &rows[i][0]);
		check_time(stat_of("f").st_mtim, &rows[i][1]);
		OK(utimensat(AT_FDCWD, "d", rows[i], 0));
		check_time(stat_of("d").st_atim, &rows[i][0]);
		check_time(stat_of("d").st_mtim, &rows[i][1]);
	}
}

static void omit_and_now(void)
{
	const struct timespec only_mtime[2] = { { 0, UTIME_OMIT }, { 1200000000, 5 } };
	const struct timespec mtime_now[2] = { { 0, UTIME_OMIT }, { 0, UTIME_NOW } };
	const struct timespec neither[2] = { { 0, UTIME_OMIT }, { 0, UTIME_OMIT } };

	make_file("f", 0644);
	struct stat before = aged("f");
	OK(utimensat(AT_FDCWD, "f", only_mtime, 0));
	check_time(stat_of("f").st_atim, &before.st_atim);
	check_time(stat_of("f").st_mtim, &only_mtime[1]);
	OK(utimensat(AT_FDCWD, "f", mtime_now, 0));
	check_time(stat_of("f").st_atim, &before.st_atim);
	TRUE(time(NULL) - stat_of("f").st_mtim.tv_sec < 100);
	before = aged("f");
	OK(utimensat(AT_FDCWD, "f", neither, 0));
	SAME(moved_since("f", &before), MOVED_NONE);
	OK(utimensat(AT_FDCWD, "f", NULL, 0));
	SAME(moved_since("f", &before), MOVED_BOTH);
}

static void setting_times_moves_ctime(void)
{
	const struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };

	make_file("f", 0644);
	struct stat before = aged("f");
	OK(utimensat(AT_FDCWD, "f", times, 0));
	SAME(moved_since("f", &before), MOVED_CTIME);
}

static void links_have_times_of_their_own(void)
{
	const struct timespec times[2] = { { 1000, 1 }, { 2000, 2 } };

	make_file("f", 0644);
	OK(symlink("f", "l"));
	struct stat before = aged("f");
	OK(utimensat(AT_FDCWD, "l", times, AT_SYMLINK_NOFOLLOW));
	check_time(stat_of("l").st_mtim, &times[1]);
	SAME(moved_since("f", &before), MOVED_NONE);
	OK(utimensat(AT_FDCWD, "l", times, 0));
	check_time(stat_of("f").st_mtim, &times[1]);
}

static void bad_times_are_refused(void)
{
	const struct timespec bad[2] = { { 0, 1000000000 }, { 0, 0 } };
	const struct timespec good[2] = { { 0, 0 }, { 0, 0 } };

	make_file("f", 0644);
	FAILS(EINVAL, utimensat(AT_FDCWD, "f", bad, 0));
	FAILS(ENOENT, utimensat(AT_FDCWD, "none", good, 0));
	FAILS(ENOTDIR, utimensat(AT_FDCWD, "f/x", good, 0));
}

static void who_may_set_times(void)
{
	const struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };
	const struct timespec half[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };

	make_file("f", 0666);
	AS(USER_A)
	{
		OK(utimensat(AT_FDCWD, "f", NULL, 0)); /* a user who may write may set "now" */
		FAILS(EPERM, utimensat(AT_FDCWD, "f", times, 0));
		FAILS(EPERM, utimensat(AT_FDCWD, "f", half, 0));
	}
	OK(chmod("f", 0644));
	AS(USER_A)
	{
		FAILS(EACCES, utimensat(AT_FDCWD, "f", NULL, 0));
	}
	OK(chown("f", USER_A, USER_A));
	OK(chmod("f", 0));
	AS(USER_A)
	{
		OK(utimensat(AT_FDCWD, "f", times, 0));
		OK(utimensat(AT_FDCWD, "f", NULL, 0));
	}
}

static void writing_and_truncating_move_both(void)
{
	make_text("f", "abc");
	int fd = open("f", O_RDWR);
	struct stat before = aged("f");
	SAME(write(fd, "x", 1), 1);
	SAME(moved_since("f", &before), MOVED_BOTH);
	before = aged("f");
	OK(ftruncate(fd, 10));
	SAME(moved_since("f", &before), MOVED_BOTH);
	before = aged("f");
	OK(ftruncate(fd, 10)); /* unchanged size, through a descriptor */
	SAME(moved_since("f", &before), MOVED_BOTH);
	before = aged("f");
	OK(truncate("f", 10)); /* unchanged size, by name */
	SAME(moved_since("f", &before), MOVED_BOTH);
	before = aged("f");
	OK(close(open("f", O_WRONLY | O_TRUNC)));
	SAME(moved_since("f", &before), MOVED_BOTH);
	before = aged("f");
	OK(close(open("f", O_WRONLY | O_TRUNC))); /* empty already */
	SAME(moved_since("f", &before), MOVED_BOTH);
	before = aged("f");
	SAME(write(fd, "", 0), 0);
	OK(close(open("f", O_RDWR | O_CREAT, 0644)));
	SAME(moved_since("f", &before), MOVED_NONE);
	OK(close(fd));
}

static void a_written_time_survives_close(void)
{
	const struct timespec times[2] = { { 1000, 1 }, { 2000, 2 } };
	int fd = open("f", O_CREAT | O_RDWR, 0644);

	SAME(write(fd, "abc", 3), 3);
	OK(futimens(fd, times));
	OK(close(fd));
	check_time(stat_of("f").st_mtim, &times[1]);
	fd = open("f", O_RDONLY);
	OK(fsync(fd));
	OK(close(fd));
	check_time(stat_of("f").st_mtim, &times[1]);
}

static void link_moves_ctime(void)
{
	make_file("f", 0644);
	struct stat before = aged("f");
	OK(link("f", "g"));
	SAME(moved_since("f", &before), MOVED_CTIME);
}

const struct posix_case cases_times[] = {
	{ "times are kept to the nanosecond", times_are_kept_to_the_nanosecond, 0 },
	{ "UTIME_OMIT and UTIME_NOW", omit_and_now, 0 },
	{ "setting times moves ctime", setting_times_moves_ctime, 0 },
	{ "links have times of their own", links_have_times_of_their_own, 0 },
	{ "bad times are refused", bad_times_are_refused, 0 },
	{ "who may set times", who_may_set_times, 1 },
	{ "writing and truncating move mtime and ctime", writing_and_truncating_move_both, 0 },
	{ "a time set after a write survives the close", a_written_time_survives_close, 0 },
	{ "link moves ctime", link_moves_ctime, 0 },
	{ 0 },
};
