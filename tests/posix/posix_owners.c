/* posix_owners.c - chown. */
#include "tests/posix/posix.h"

static void root_gives_away(void)
{
	make_file("f", 0644);
	OK(symlink("f", "l"));
	OK(chown("f", USER_A, USER_B));
	SAME(stat_of("f").st_uid, USER_A);
	SAME(stat_of("f").st_gid, USER_B);
	OK(chown("f", (uid_t)-1, GROUP_SHARED));
	SAME(stat_of("f").st_uid, USER_A);
	SAME(stat_of("f").st_gid, GROUP_SHARED);
	OK(lchown("l", USER_B, USER_B));
	SAME(stat_of("l").st_uid, USER_B);
	SAME(stat_of("f").st_uid, USER_A);
	OK(chown("l", 0, 0));
	SAME(stat_of("f").st_uid, 0);
}

static void users_give_only_their_groups(void)
{
	make_file("f", 0644);
	OK(chown("f", USER_B, USER_B));
	AS(USER_B)
	{
		FAILS(EPERM, chown("f", USER_A, (gid_t)-1));
		FAILS(EPERM, chown("f", (uid_t)-1, USER_A));
		OK(chown("f", (uid_t)-1, GROUP_SHARED));
		OK(chown("f", USER_B, USER_B));
		OK(chown("f", (uid_t)-1, (gid_t)-1));
	}
	AS(USER_A)
	{
		FAILS(EPERM, chown("f", USER_A, USER_A));
		FAILS(EPERM, chown("f", (uid_t)-1, USER_A));
	}
	SAME(stat_of("f").st_gid, USER_B);
}

static void chown_moves_ctime_alone(void)
{
	make_file("f", 0644);
	struct stat before = aged("f");
	OK(chown("f", USER_A, USER_A));
	SAME(moved_since("f", &before), MOVED_CTIME);
	OK(symlink("f", "l"));
	before = aged("l");
	OK(lchown("l", USER_A, USER_A));
	SAME(moved_since("l", &before), MOVED_CTIME);
}

static void chown_clears_suid_of_programs(void)
{
	static const struct {
		mode_t before, after;
	} rows[] = { { 06755, 0755 }, { 04711, 0711 }, { 02755, 0755 }, { 02644, 02644 },
		{ 06644, 02644 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		make_file("f", 0644);
		OK(chown("f", USER_B, USER_B));
		OK(chmod("f", rows[i].before));
		AS(USER_B)
		{
			OK(chown("f", USER_B, USER_B));
		}
		SAME(mode_of("f"), rows[i].after);
		OK(chmod("f", rows[i].before));
		OK(chown("f", USER_A, USER_A)); /* root's chown too */
		SAME(mode_of("f"), rows[i].after);
		OK(unlink("f"));
	}
}

/* The bit would stay if the sandbox's root made the call for an ordinary user. */
static void chown_clears_sgid_of_other_groups(void)
{
	make_file("f", 0644);
	OK(chown("f", USER_B, 0));
	OK(chmod("f", 06644));
	AS(USER_B)
	{
		OK(chown("f", USER_B, (gid_t)-1));
	}
	SAME(mode_of("f"), 0644);
	OK(chmod("f", 06644));
	AS(USER_B)
	{
		OK(chown("f", (uid_t)-1, GROUP_SHARED));
	}
	SAME(mode_of("f"), 0644);
	SAME(stat_of("f").st_gid, GROUP_SHARED);
}

static void chown_keeps_the_bits_of_directories(void)
{
	OK(mkdir("d", 0755));
	OK(chmod("d", 07755));
	OK(chown("d", USER_A, USER_A));
	SAME(mode_of("d"), 07755);
}

static void chown_refuses(void)
{
	make_file("f", 0644);
	FAILS(ENOENT, chown("none", 0, 0));
	FAILS(ENOTDIR, chown("f/x", 0, 0));
	FAILS(ENAMETOOLONG, chown(long_name(256), 0, 0));
	FAILS(EINVAL, fchownat(AT_FDCWD, "f", 0, 0, 0x4000000));
	OK(fchownat(open("f", O_RDONLY), "", USER_A, USER_A, AT_EMPTY_PATH));
	SAME(stat_of("f").st_uid, USER_A);
}

const struct posix_case cases_owners[] = {
	{ "root gives files away", root_gives_away, 1 },
	{ "users give only their own groups", users_give_only_their_groups, 1 },
	{ "chown moves ctime alone", chown_moves_ctime_alone, 1 },
	{ "chown clears suid and sgid of what can be executed", chown_clears_suid_of_programs, 1 },
	{ "chown clears sgid of a group one is not in", chown_clears_sgid_of_other_groups, 1 },
	{ "chown keeps the bits of directories", chown_keeps_the_bits_of_directories, 1 },
	{ "chown refuses", chown_refuses, 1 },
	{ 0 },
};
