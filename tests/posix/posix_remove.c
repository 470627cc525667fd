/* posix_remove.c - unlink and rmdir. */
#include "tests/posix/posix.h"

#include <dirent.h>
#include <stdio.h>

static void unlink_refuses(void)
{
	OK(mkdir("d", 0755));
	make_file("f", 0644);
	FAILS(ENOENT, unlink("none"));
	FAILS(ENOENT, unlink(""));
	FAILS(EISDIR, unlink("d"));
	FAILS(ENOTDIR, unlink("f/x"));
	FAILS(ENOTDIR, unlink("f/"));
	FAILS(EISDIR, unlink("."));
	FAILS(ENAMETOOLONG, unlink(long_name(256)));
	FAILS(ENOENT, unlink(long_name(255)));
	FAILS(EINVAL, unlinkat(AT_FDCWD, "f", 0x4000000));
}

static void rmdir_refuses(void)
{
	OK(mkdir("d", 0755));
	OK(mkdir("d/e", 0755));
	make_file("f", 0644);
	OK(symlink("d", "l"));
	FAILS(ENOENT, rmdir("none"));
	FAILS(ENOTDIR, rmdir("f"));
	FAILS(ENOTDIR, rmdir("l"));
	FAILS(ENOTEMPTY, rmdir("d"));
	FAILS(EINVAL, rmdir("d/e/."));
	FAILS(ENOTEMPTY, rmdir("d/e/.."));
	FAILS(ENOTDIR, rmdir("f/x"));
	FAILS(ENAMETOOLONG, rmdir(long_name(256)));
	OK(rmdir("d/e/"));
	OK(rmdir("d"));
}

static bool has_number(const char *path, ino_t ino)
{
	struct stat st;

	return !lstat(path, &st) && st.st_ino == ino;
}

static void what_is_removed_and_remembered_keeps_its_number_alone(void)
{
	struct stat st;

	OK(mkdir("d", 0755));
	make_file("f", 0644);
	int dir = open("d", O_PATH), file = open("f", O_PATH);

	OK(fstat(file, &st));
	OK(unlink("f"));
	make_file("f", 0600);
	make_file("g", 0600);
	TRUE(!has_number("f", st.st_ino) && !has_number("g", st.st_ino));
	OK(fstat(dir, &st));
	OK(rmdir("d"));
	OK(mkdir("d", 0755));
	OK(mkdir("e", 0755));
	TRUE(!has_number("d", st.st_ino) && !has_number("e", st.st_ino));
	OK(close(dir));
	OK(close(file));
}

static void removing_moves_times(void)
{
	OK(mkdir("d", 0755));
	make_file("d/a", 0644);
	OK(link("d/a", "b"));
	struct stat dir = aged("d"), file = aged("b");
	OK(unlink("d/a"));
	SAME(moved_since("d", &dir), MOVED_BOTH);
	SAME(moved_since("b", &file), MOVED_CTIME);
	OK(mkdir("d/e", 0755));
	dir = aged("d");
	OK(rmdir("d/e"));
	SAME(moved_since("d", &dir), MOVED_BOTH);
	dir = aged("d");
	FAILS(ENOENT, unlink("d/none"));
	FAILS(ENOENT, rmdir("d/none"));
	SAME(moved_since("d", &dir), MOVED_NONE);
}

static void links_are_counted(void)
{
	make_file("a", 0644);
	SAME(nlink_of("a"), 1);
	OK(link("a", "b"));
	OK(link("a", "c"));
	SAME(nlink_of("a"), 3);
	OK(unlink("b"));
	SAME(nlink_of("c"), 2);
	OK(rename("c", "d"));
	SAME(nlink_of("d"), 2);
	OK(rename("d", "a"));
	TRUE(exists("d")); /* two names of one file: nothing happens */
	SAME(nlink_of("a"), 2);
}

static void directories_count_their_folders(void)
{
	nlink_t before = nlink_of(".");

	OK(mkdir("a", 0755));
	SAME(nlink_of("a"), 2);
	OK(mkdir("a/b", 0755));
	OK(mkdir("a/c", 0755));
	make_file("a/f", 0644);
	SAME(nlink_of("a"), 4);
	OK(rename("a/b", "b"));
	SAME(nlink_of("a"), 3);
	SAME(nlink_of("."), before + 2);
	OK(rmdir("a/c"));
	SAME(nlink_of("a"), 2);
}

static void an_open_file_outlives_its_name(void)
{
	char bytes[8] = "";
	struct stat st;
	int fd;

	make_text("f", "abc");
	fd = open("f", O_RDWR);
	OK(unlink("f"));
	OK(fstat(fd, &st));
	SAME(st.st_nlink, 0);
	SAME(st.st_size, 3);
	SAME(pwrite(fd, "defg", 4, 3), 4);
	SAME(pread(fd, bytes, 8, 0), 7);
	TRUE(!memcmp(bytes, "abcdefg", 7));
	OK(fchmod(fd, 0600));
	OK(ftruncate(fd, 2));
	OK(fsync(fd));
	OK(fstat(fd, &st));
	SAME(st.st_size, 2);
	SAME(st.st_mode & 07777, 0600);
	make_text("f", "new");
	SAME(pread(fd, bytes, 8, 0), 2);
	TRUE(holds("f", "new"));
	OK(close(fd));
	TRUE(holds("f", "new"));
}

static void a_file_replaced_by_rename_stays_open(void)
{
	char bytes[8];
	struct stat st;
	int fd;

	make_text("old", "old");
	make_text("new", "newer");
	fd = open("old", O_RDWR);
	OK(rename("new", "old"));
	SAME(pread(fd, bytes, 8, 0), 3);
	SAME(pwrite(fd, "X", 1, 0), 1);
	OK(fstat(fd, &st));
	SAME(st.st_nlink, 0);
	TRUE(holds("old", "newer"));
	OK(close(fd));
}

static void no_names_left_behind(void)
{
	int fds[20];
	DIR *dir;
	int names = 0;

	for (int i = 0; i < 20; i++) {
		fds[i] = open("f", O_CREAT | O_EXCL | O_RDWR, 0600);
		OK(fds[i]);
		OK(unlink("f"));
	}
	dir = opendir(".");
	while (readdir(dir))
		names++;
	SAME(names, 2);
	closedir(dir);
	for (int i = 0; i < 20; i++)
		OK(close(fds[i]));
}

static void nothing_can_be_made_in_a_removed_directory(void)
{
	int fd;

	OK(mkdir("d", 0755));
	fd = open("d", O_RDONLY | O_DIRECTORY);
	OK(rmdir("d"));
	FAILS(ENOENT, openat(fd, "f", O_CREAT | O_RDWR, 0644));
	FAILS(ENOENT, mkdirat(fd, "e", 0755));
	FAILS(ENOENT, symlinkat("x", fd, "l"));
	FAILS(ENOENT, openat(fd, "f", O_RDONLY));
	OK(mkdir("d", 0755));
	FAILS(ENOENT, openat(fd, "f", O_CREAT | O_RDWR, 0644));
	OK(fchdir(fd));
	FAILS(ENOENT, mkdir("e", 0755));
	OK(close(fd));
}

static void sticky_directories_protect_names(void)
{
	OK(mkdir("tmp", 0777));
	OK(chmod("tmp", 01777));
	AS(USER_A)
	{
		make_file("tmp/f", 0666);
		OK(mkdir("tmp/d", 0777));
	}
	AS(USER_B)
	{
		make_file("tmp/mine", 0644);
		FAILS(EPERM, unlink("tmp/f"));
		FAILS(EPERM, rmdir("tmp/d"));
		FAILS(EPERM, rename("tmp/f", "tmp/g"));
		FAILS(EPERM, rename("tmp/mine", "tmp/f"));
		OK(rename("tmp/mine", "tmp/yours"));
		OK(unlink("tmp/yours"));
	}
	AS(USER_A)
	{
		OK(unlink("tmp/f"));
		OK(rmdir("tmp/d"));
	}
	OK(chown("tmp", USER_B, USER_B));
	AS(USER_A)
	{
		make_file("tmp/f", 0666);
	}
	AS(USER_B)
	{
		OK(unlink("tmp/f")); /* the directory is B's */
	}
}

static void removing_needs_write_on_the_directory_not_on_the_file(void)
{
	OK(mkdir("d", 0755));
	make_file("d/f", 0666);
	OK(mkdir("d/e", 0777));
	AS(USER_A)
	{
		FAILS(EACCES, unlink("d/f"));
		FAILS(EACCES, rmdir("d/e"));
		FAILS(EACCES, rename("d/f", "d/g"));
	}
	OK(chmod("d", 0777));
	OK(chmod("d/f", 0));
	AS(USER_A)
	{
		OK(unlink("d/f"));
		OK(rmdir("d/e"));
	}
}

const struct posix_case cases_remove[] = {
	{ "unlink refuses", unlink_refuses, 0 },
	{ "rmdir refuses", rmdir_refuses, 0 },
	{ "removing moves the times of the directory and ctime of the file", removing_moves_times,
		0 },
	{ "what is removed and remembered keeps its inode number alone",
		what_is_removed_and_remembered_keeps_its_number_alone, 0 },
	{ "links are counted", links_are_counted, 0 },
	{ "a directory counts its folders", directories_count_their_folders, 0 },
	{ "an open file outlives its name", an_open_file_outlives_its_name, 0 },
	{ "a file replaced by a rename stays open", a_file_replaced_by_rename_stays_open, 0 },
	{ "unlinked open files leave no names", no_names_left_behind, 0 },
	{ "nothing can be made in a removed directory", nothing_can_be_made_in_a_removed_directory,
		0 },
	{ "sticky directories protect names", sticky_directories_protect_names, 1 },
	{ "removing needs write permission on the directory",
		removing_needs_write_on_the_directory_not_on_the_file, 1 },
	{ 0 },
};
