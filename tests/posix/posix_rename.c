/* posix_rename.c - rename and renameat2. */
#include "tests/posix/posix.h"

#include <stdio.h>

#define NOREPLACE 1
#define EXCHANGE  2

static int rename2(const char *from, const char *to, unsigned flags)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
}

static void kinds_must_fit(void)
{
	OK(mkdir("dir", 0755));
	OK(mkdir("full", 0755));
	make_file("full/x", 0644);
	make_file("file", 0644);
	OK(symlink("dir", "link"));
	FAILS(EISDIR, rename("file", "dir"));
	FAILS(ENOTDIR, rename("dir", "file"));
	FAILS(ENOTDIR, rename("dir", "link"));
	FAILS(ENOTEMPTY, rename("dir", "full"));
	FAILS(EINVAL, rename("dir", "dir/sub"));
	FAILS(ENOTDIR, rename("full", "full/x/y"));
	FAILS(ENOENT, rename("none", "x"));
	FAILS(ENOENT, rename("file", "none/x"));
	FAILS(ENOTDIR, rename("file/x", "y"));
	FAILS(ENOTDIR, rename("file", "new/"));
	FAILS(ENOTDIR, rename("file/", "new"));
	OK(rename("dir/", "dir2/"));
	OK(rename("full", "dir3"));
	OK(rename("dir3", "dir2")); /* over an empty directory */
	TRUE(exists("dir2/x"));
}

static void dots_are_refused(void)
{
	OK(mkdir("d", 0755));
	FAILS(EBUSY, rename("d/.", "e"));
	FAILS(EBUSY, rename("d/..", "e"));
	FAILS(EBUSY, rename("d", "."));
	FAILS(EBUSY, rename("d", "d/.."));
	FAILS(EBUSY, rename(".", "d"));
	TRUE(exists("d"));
}

static void ancestors_are_refused(void)
{
	OK(mkdir("a", 0755));
	OK(mkdir("a/b", 0755));
	OK(mkdir("a/b/c", 0755));
	FAILS(EINVAL, rename("a", "a/b/c/d"));
	FAILS(ENOTEMPTY, rename("a/b/c", "a"));
	FAILS(EINVAL, rename2("a", "a/b/c", EXCHANGE));
	FAILS(EINVAL, rename2("a/b/c", "a", EXCHANGE));
}

static void renaming_moves_times(void)
{
	OK(mkdir("a", 0755));
	OK(mkdir("b", 0755));
	make_file("a/f", 0644);
	struct stat from = aged("a"), to = aged("b"), file = aged("a/f");
	OK(rename("a/f", "b/g"));
	SAME(moved_since("a", &from), MOVED_BOTH);
	SAME(moved_since("b", &to), MOVED_BOTH);
	SAME(moved_since("b/g", &file), MOVED_CTIME);
	OK(mkdir("a/d", 0755));
	struct stat dir = aged("a/d");
	OK(rename("a/d", "b/d"));
	SAME(moved_since("b/d", &dir), MOVED_CTIME);
	from = aged("a");
	FAILS(ENOENT, rename("a/none", "b/x"));
	SAME(moved_since("a", &from), MOVED_NONE);
}

static void replaced_file_loses_a_link(void)
{
	make_text("a", "a");
	make_text("b", "b");
	OK(link("b", "b2"));
	struct stat before = aged("b2");
	OK(rename("a", "b"));
	SAME(nlink_of("b2"), 1);
	SAME(moved_since("b2", &before), MOVED_CTIME);
	TRUE(holds("b", "a") && holds("b2", "b") && !exists("a"));
}

static void inode_stays(void)
{
	make_file("a", 0644);
	OK(mkdir("d", 0755));
	ino_t file = stat_of("a").st_ino, dir = stat_of("d").st_ino;

	OK(rename("a", "d/b"));
	SAME(stat_of("d/b").st_ino, file);
	OK(rename("d", "e"));
	SAME(stat_of("e").st_ino, dir);
	SAME(stat_of("e/b").st_ino, file);
}

static void a_moved_directory_takes_its_open_files_along(void)
{
	int dir, fd;

	OK(mkdir("a", 0755));
	OK(mkdir("a/b", 0755));
	dir = open("a/b", O_RDONLY | O_DIRECTORY);
	fd = open("a/b/f", O_CREAT | O_RDWR, 0644);
	OK(rename("a", "z"));
	SAME(write(fd, "abc", 3), 3);
	OK(close(openat(dir, "g", O_CREAT | O_RDWR, 0644)));
	OK(fchdir(dir));
	OK(mkdir("h", 0755));
	OK(chdir("../.."));
	TRUE(holds("z/b/f", "abc") && exists("z/b/g") && exists("z/b/h"));
	OK(close(fd));
	OK(close(dir));
}

static void noreplace(void)
{
	make_text("a", "a");
	make_text("b", "b");
	OK(mkdir("d", 0755));
	FAILS(EEXIST, rename2("a", "b", NOREPLACE));
	FAILS(EEXIST, rename2("a", "d", NOREPLACE));
	FAILS(EEXIST, rename2("a", "a", NOREPLACE));
	OK(rename2("a", "c", NOREPLACE));
	TRUE(holds("c", "a") && holds("b", "b"));
	FAILS(EINVAL, rename2("b", "c", NOREPLACE | EXCHANGE));
}

static void exchange(void)
{
	make_text("a", "a");
	OK(mkdir("d", 0755));
	make_text("d/x", "x");
	nlink_t links = nlink_of(".");

	OK(rename2("a", "d", EXCHANGE));
	TRUE(holds("d", "a") && holds("a/x", "x"));
	SAME(nlink_of("."), links);
	OK(mkdir("e", 0755));
	OK(mkdir("e/sub", 0755));
	OK(rename2("d", "e/sub",
		EXCHANGE)); /* a directory changes places with a file of another directory */
	SAME(nlink_of("e"), 2);
	SAME(nlink_of("."), links + 2);
	FAILS(ENOENT, rename2("a", "none", EXCHANGE));
}

static void a_directory_that_changes_parents_needs_write_on_itself(void)
{
	OK(mkdir("a", 0777));
	OK(chmod("a", 0777));
	OK(mkdir("b", 0777));
	OK(chmod("b", 0777));
	AS(USER_A)
	{
		OK(mkdir("a/own", 0555));
		OK(mkdir("a/other", 0755));
	}
	AS(USER_A)
	{
		/* the ".." of the directory would change */
		FAILS(EACCES, rename("a/own", "b/own"));
		OK(rename("a/own", "a/own2"));
	}
	AS(USER_B)
	{
		FAILS(EACCES, rename("a/other", "b/other"));
		OK(rename("a/other", "a/other2"));
	}
}

static void renaming_needs_both_directories(void)
{
	OK(mkdir("open", 0777));
	OK(chmod("open", 0777));
	OK(mkdir("shut", 0755));
	make_file("open/f", 0666);
	make_file("shut/g", 0666);
	AS(USER_A)
	{
		FAILS(EACCES, rename("open/f", "shut/f"));
		FAILS(EACCES, rename("shut/g", "open/g"));
		OK(rename("open/f", "open/h"));
	}
}

const struct posix_case cases_rename[] = {
	{ "the kinds of both names must fit", kinds_must_fit, 0 },
	{ "dots are refused", dots_are_refused, 0 },
	{ "a directory does not go into itself", ancestors_are_refused, 0 },
	{ "renaming moves the times of both directories and ctime of the file",
		renaming_moves_times, 0 },
	{ "what is replaced loses a link", replaced_file_loses_a_link, 0 },
	{ "the inode stays", inode_stays, 0 },
	{ "a moved directory takes its open files along",
		a_moved_directory_takes_its_open_files_along, 0 },
	{ "RENAME_NOREPLACE", noreplace, 0 },
	{ "RENAME_EXCHANGE", exchange, 0 },
	{ "a directory that changes parents needs write permission on itself",
		a_directory_that_changes_parents_needs_write_on_itself, 1 },
	{ "renaming needs write permission on both directories", renaming_needs_both_directories,
		1 },
	{ 0 },
};
