/* posix_attributes.c - modes, permissions, extended attributes. */
#include "tests/posix/posix.h"

#include <sys/xattr.h>

static void chmod_sets_all_twelve_bits(void)
{
	static const mode_t modes[] = { 0, 0777, 01777, 02755, 04755, 06755, 07777, 0444, 0111 };

	make_file("f", 0644);
	OK(mkdir("d", 0755));
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		OK(chmod("f", modes[i]));
		SAME(mode_of("f"), modes[i]);
		OK(chmod("d", modes[i]));
		SAME(mode_of("d"), modes[i]);
	}
}

static void chmod_moves_ctime_alone(void)
{
	make_file("f", 0644);
	OK(symlink("f", "l"));
	struct stat before = aged("f"), link = aged("l");
	OK(chmod("f", 0600));
	SAME(moved_since("f", &before), MOVED_CTIME);
	before = aged("f");
	OK(chmod("l", 0640)); /* follows */
	SAME(moved_since("f", &before), MOVED_CTIME);
	SAME(moved_since("l", &link), MOVED_NONE);
	SAME(mode_of("f"), 0640);
	FAILS(ENOENT, chmod("none", 0600));
	FAILS(ENOTDIR, chmod("f/x", 0600));
}

static void only_the_owner_changes_the_mode(void)
{
	make_file("f", 0666);
	AS(USER_A)
	{
		FAILS(EPERM, chmod("f", 0600));
	}
	OK(chown("f", USER_A, USER_A));
	AS(USER_A)
	{
		OK(chmod("f", 0600));
	}
	AS(USER_B)
	{
		FAILS(EPERM, chmod("f", 0666));
	}
	SAME(mode_of("f"), 0600);
}

static void setgid_of_a_foreign_group_is_dropped(void)
{
	make_file("f", 0644);
	OK(chown("f", USER_A, GROUP_SHARED));
	AS(USER_A)
	{
		OK(chmod("f", 02755));
	}
	SAME(mode_of("f"), 0755);
	OK(chown("f", USER_B, GROUP_SHARED));
	AS(USER_B)
	{
		OK(chmod("f", 02755)); /* B is of that group */
	}
	SAME(mode_of("f"), 02755);
}

static void writing_clears_suid_for_users(void)
{
	make_file("f", 0666);
	OK(chown("f", USER_A, USER_A));
	OK(chmod("f", 06777));
	AS(USER_B)
	{
		int fd = open("f", O_WRONLY);

		SAME(write(fd, "x", 1), 1);
		SAME(mode_of("f"), 0777);
		OK(close(fd));
	}
	OK(chmod("f", 06777));
	AS(USER_B)
	{
		OK(truncate("f", 0));
	}
	SAME(mode_of("f"), 0777);
	OK(chmod("f", 06777));
	AS(USER_B)
	{
		OK(close(open("f", O_WRONLY | O_TRUNC)));
	}
	SAME(mode_of("f"), 0777);
}

/*
 * A setgid bit without group execution stands for mandatory locking and is no privilege, so the bit
 * stays.
 */
static void writing_keeps_setgid_without_group_execution(void)
{
	make_file("f", 0666);
	OK(chown("f", USER_A, USER_A));
	OK(chmod("f", 02666));
	AS(USER_A)
	{
		int fd = open("f", O_WRONLY);

		SAME(write(fd, "x", 1), 1);
		OK(close(fd));
	}
	SAME(mode_of("f"), 02666);
}

static bool writes(int fd)
{
	return pwrite(fd, "x", 1, 0) == 1;
}

static bool allocates(int fd)
{
	return !fallocate(fd, 0, 0, 8192);
}

static bool punches(int fd)
{
	return !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
}

static bool zeroes(int fd)
{
	return !fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 4096);
}

static bool cuts(int fd)
{
	return !ftruncate(fd, 100);
}

static bool copies(int fd)
{
	off_t from = 4096, to = 0;

	return copy_file_range(fd, &from, fd, &to, 4096, 0) == 4096;
}

/* The mode as the kernel keeps it: a request for the mode alone need not reach the file system. */
static unsigned kept_mode_of(const char *path)
{
	struct statx stx = { 0 };

	OK(statx(AT_FDCWD, path, 0, STATX_MODE, &stx));
	return stx.stx_mode & 07777;
}

static void who_is_in_no_group_of_the_file_loses_its_setgid_bit(void)
{
	static const struct {
		const char *what;
		bool (*change)(int fd);
	} rows[] = { { "a write", writes }, { "an allocation", allocates }, { "a hole", punches },
		{ "zeroing", zeroes }, { "a cut", cuts }, { "a copy", copies } };

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		int unsupported = 0;

		make_file("f", 0666);
		OK(truncate("f", 16384));
		OK(chmod("f", 02666));
		SAME(kept_mode_of("f"), 02666);
		AS(USER_B)
		{
			int fd = open("f", O_RDWR);

			if (!rows[n].change(fd))
				unsupported = errno;
			OK(close(fd));
		}
		/* Not every file system allocates. */
		if (unsupported != EOPNOTSUPP)
			posix_check(!unsupported && kept_mode_of("f") == 0666, __FILE__, __LINE__,
				"%s leaves %o (errno %d)", rows[n].what, kept_mode_of("f"),
				unsupported);
		OK(unlink("f"));
	}
}

static void root_keeps_suid_when_writing(void)
{
	make_file("f", 06755);
	int fd = open("f", O_WRONLY);

	SAME(write(fd, "x", 1), 1);
	OK(close(fd));
	SAME(mode_of("f"), 06755);
}

static void rights_decide_by_class(void)
{
	static const struct {
		mode_t mode;
		uid_t uid, gid, as;
		bool reads, writes;
	} rows[] = {
		{ 0400, USER_A, USER_A, USER_A, 1, 0 },
		{ 0200, USER_A, USER_A, USER_A, 0, 1 },
		{ 0077, USER_A, USER_A, USER_A, 0, 0 }, /* the owner's class only */
		{ 0040, USER_A, GROUP_SHARED, USER_B, 1, 0 },
		{ 0020, USER_A, GROUP_SHARED, USER_B, 0, 1 },
		{ 0707, USER_A, GROUP_SHARED, USER_B, 0, 0 }, /* the group's class only */
		{ 0004, USER_A, USER_A, USER_B, 1, 0 },
		{ 0002, USER_A, USER_A, USER_B, 0, 1 },
		{ 0770, USER_A, USER_A, USER_B, 0, 0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		make_file("f", 0600);
		OK(chown("f", rows[i].uid, rows[i].gid));
		OK(chmod("f", rows[i].mode));
		AS(rows[i].as)
		{
			int reader = open("f", O_RDONLY), writer = open("f", O_WRONLY);

			SAME(reader >= 0, rows[i].reads);
			SAME(writer >= 0, rows[i].writes);
			SAME(faccessat(AT_FDCWD, "f", R_OK, AT_EACCESS) == 0, rows[i].reads);
			SAME(faccessat(AT_FDCWD, "f", W_OK, AT_EACCESS) == 0, rows[i].writes);
			if (!rows[i].writes)
				FAILS(EACCES, truncate("f", 0));
			close(reader);
			close(writer);
		}
		OK(unlink("f"));
	}
}

static void search_permission_counts_on_the_way(void)
{
	OK(mkdir("d", 0755));
	make_file("d/f", 0644);
	OK(chmod("d", 0644));
	AS(USER_A)
	{
		struct stat st;

		FAILS(EACCES, stat("d/f", &st));
		FAILS(EACCES, open("d/f", O_RDONLY));
		FAILS(EACCES, faccessat(AT_FDCWD, "d/f", F_OK, AT_EACCESS));
		FAILS(EACCES, chdir("d"));
	}
	OK(chmod("d", 0711));
	AS(USER_A)
	{
		OK(open("d/f", O_RDONLY));
		FAILS(EACCES, open("d", O_RDONLY));
	}
}

static void an_open_descriptor_keeps_its_rights(void)
{
	make_file("f", 0666);
	AS(USER_A)
	{
		int fd = open("f", O_RDWR);

		OK(fd);
		posix_back(NULL);
		OK(chmod("f", 0));
		posix_become(USER_A);
		SAME(pwrite(fd, "abc", 3, 0), 3);
		OK(ftruncate(fd, 2));
		FAILS(EACCES, open("f", O_RDONLY));
		OK(close(fd));
	}
}

static void xattrs_of_user(void)
{
	static const char big[65537];
	char bytes[100];

	make_file("f", 0644);
	if (setxattr("f", "user.a", "1", 1, 0) && errno == ENOTSUP)
		return;
	OK(setxattr("f", "user.a", "value", 5, 0));
	SAME(getxattr("f", "user.a", bytes, sizeof bytes), 5);
	TRUE(!memcmp(bytes, "value", 5));
	SAME(getxattr("f", "user.a", NULL, 0), 5);
	FAILS(ERANGE, getxattr("f", "user.a", bytes, 3));
	FAILS(EEXIST, setxattr("f", "user.a", "", 0, XATTR_CREATE));
	FAILS(ENODATA, setxattr("f", "user.none", "", 0, XATTR_REPLACE));
	FAILS(ENODATA, getxattr("f", "user.none", bytes, sizeof bytes));
	FAILS(ENODATA, removexattr("f", "user.none"));
	OK(setxattr("f", "user.empty", "", 0, XATTR_CREATE));
	SAME(getxattr("f", "user.empty", bytes, sizeof bytes), 0);
	FAILS(EOPNOTSUPP, setxattr("f", "nonsense.a", "", 0, 0));
	FAILS(E2BIG, setxattr("f", "user.big", big, sizeof big, 0));
	OK(symlink("f", "l"));
	FAILS(EPERM, lsetxattr("l", "user.a", "", 0, 0));
	struct stat before = aged("f");
	OK(setxattr("f", "user.b", "2", 1, 0));
	SAME(moved_since("f", &before), MOVED_CTIME);
	OK(removexattr("f", "user.a"));
	SAME(listxattr("f", bytes, sizeof bytes), sizeof "user.empty" + sizeof "user.b");
}

static void xattrs_need_the_files_rights(void)
{
	char bytes[10];

	make_file("f", 0644);
	if (setxattr("f", "user.a", "1", 1, 0) && errno == ENOTSUP)
		return;
	AS(USER_A)
	{
		FAILS(EACCES, setxattr("f", "user.a", "2", 1, 0));
		SAME(getxattr("f", "user.a", bytes, sizeof bytes), 1);
	}
	OK(chmod("f", 0600));
	AS(USER_A)
	{
		FAILS(EACCES, getxattr("f", "user.a", bytes, sizeof bytes));
	}
}

const struct posix_case cases_attributes[] = {
	{ "chmod sets all twelve bits", chmod_sets_all_twelve_bits, 1 },
	{ "chmod moves ctime alone, and follows links", chmod_moves_ctime_alone, 0 },
	{ "only the owner changes the mode", only_the_owner_changes_the_mode, 1 },
	{ "the setgid bit of a foreign group is dropped", setgid_of_a_foreign_group_is_dropped, 1 },
	{ "writing and truncating clear suid and sgid for users", writing_clears_suid_for_users,
		1 },
	{ "writing keeps setgid without group execution",
		writing_keeps_setgid_without_group_execution, 1 },
	{ "every change of contents by who is in no group of the file drops its setgid bit",
		who_is_in_no_group_of_the_file_loses_its_setgid_bit, 1 },
	{ "root keeps suid when writing", root_keeps_suid_when_writing, 1 },
	{ "owner, group and others each have their own rights", rights_decide_by_class, 1 },
	{ "search permission counts on the way", search_permission_counts_on_the_way, 1 },
	{ "an open descriptor keeps its rights", an_open_descriptor_keeps_its_rights, 1 },
	{ "extended attributes of user.*", xattrs_of_user, 0 },
	{ "extended attributes need the file's rights", xattrs_need_the_files_rights, 1 },
	{ 0 },
};
