/* posix_links.c - symbolic and hard links. */
#include "tests/posix/posix.h"

#include <stdio.h>

static void readlink_gives_what_was_written(void)
{
	static const char *const targets[] = { "a", "../a", "../../../../../x", "/etc/passwd", "/",
		"./a/../b//c/", "new\nline", "\xff\xfe", " " };
	char text[5000];

	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		size_t len = strlen(targets[i]);

		OK(symlink(targets[i], "l"));
		SAME(readlink("l", text, sizeof text), len);
		TRUE(!memcmp(text, targets[i], len));
		SAME(size_of("l"), len);
		OK(unlink("l"));
	}
}

static void link_text_limits(void)
{
	char text[5000];

	OK(symlink(long_name(4095), "l"));
	SAME(size_of("l"), 4095);
	SAME(readlink("l", text, sizeof text), 4095);
	SAME(readlink("l", text, 10), 10);
	FAILS(ENAMETOOLONG, symlink(long_name(4096), "m"));
	FAILS(ENOENT, symlink("", "m"));
	FAILS(EINVAL, readlink("l", text, 0));
	make_file("f", 0644);
	FAILS(EINVAL, readlink("f", text, sizeof text));
	FAILS(EINVAL, readlink(".", text, sizeof text));
	SAME(stat_of("l").st_mode, S_IFLNK | 0777);
}

static void loops_end(void)
{
	struct stat st;

	OK(symlink("b", "a"));
	OK(symlink("a", "b"));
	OK(symlink("self", "self"));
	FAILS(ELOOP, open("a", O_RDONLY));
	FAILS(ELOOP, stat("self", &st));
	FAILS(ELOOP, mkdir("a/x", 0755));
	FAILS(ELOOP, open("a", O_CREAT | O_RDWR, 0644));
	FAILS(ELOOP, chmod("self", 0644));
	FAILS(ELOOP, truncate("self", 0));
	FAILS(ELOOP, rename("a/x", "y"));
	OK(rename("a", "c"));
	OK(unlink("self"));
}

static void forty_links_are_followed_and_no_more(void)
{
	char name[32], target[32] = "file";
	struct stat st;

	make_file("file", 0644);
	for (int i = 1; i <= 41; i++) {
		snprintf(name, sizeof name, "l%d", i);
		OK(symlink(target, name));
		memcpy(target, name, sizeof target);
	}
	OK(stat("l40", &st));
	FAILS(ELOOP, stat("l41", &st));
}

static void links_on_the_way_are_followed(void)
{
	OK(mkdir("d", 0755));
	OK(mkdir("d/e", 0755));
	make_text("d/f", "f");
	OK(symlink("d/e", "up"));
	TRUE(holds("up/../f", "f")); /* the ".." of the directory that the link leads to */
	OK(symlink("../f", "d/e/l"));
	TRUE(holds("up/l", "f"));
	OK(rename("d", "moved"));
	FAILS(ENOENT, open("up/l", O_RDONLY));
	TRUE(holds("moved/e/l", "f"));
}

static void hard_links_are_one_file(void)
{
	make_text("a", "abc");
	OK(mkdir("d", 0755));
	OK(link("a", "d/b"));
	SAME(stat_of("a").st_ino, stat_of("d/b").st_ino);
	make_text("d/b", "other");
	TRUE(holds("a", "other"));
	OK(chmod("a", 0600));
	SAME(mode_of("d/b"), 0600);
	int fd = open("a", O_RDWR);
	OK(unlink("a"));
	SAME(pwrite(fd, "O", 1, 0), 1);
	TRUE(holds("d/b", "Other"));
	OK(close(fd));
}

static void link_refuses(void)
{
	make_file("f", 0644);
	OK(mkdir("d", 0755));
	OK(symlink("nowhere", "l"));
	FAILS(EPERM, link("d", "e"));
	FAILS(ENOENT, link("none", "e"));
	FAILS(EEXIST, link("f", "f"));
	FAILS(ENOTDIR, link("f/x", "e"));
	FAILS(ENOENT, link("f", "none/e"));
	FAILS(ENAMETOOLONG, link("f", long_name(256)));
	OK(link("l", "m")); /* a link to the link */
	TRUE(S_ISLNK(stat_of("m").st_mode));
	FAILS(ENOENT, linkat(AT_FDCWD, "l", AT_FDCWD, "n", AT_SYMLINK_FOLLOW));
}

static void a_removed_file_gets_no_new_name(void)
{
	char path[64];
	int fd = open("f", O_CREAT | O_RDWR, 0644);

	OK(unlink("f"));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	FAILS(ENOENT, linkat(AT_FDCWD, path, AT_FDCWD, "g", AT_SYMLINK_FOLLOW));
	OK(close(fd));
}

const struct posix_case cases_links[] = {
	{ "readlink gives what was written", readlink_gives_what_was_written, 0 },
	{ "how long a link may be", link_text_limits, 0 },
	{ "loops end with ELOOP", loops_end, 0 },
	{ "forty links are followed and no more", forty_links_are_followed_and_no_more, 0 },
	{ "links on the way are followed", links_on_the_way_are_followed, 0 },
	{ "hard links are one file", hard_links_are_one_file, 0 },
	{ "link refuses", link_refuses, 0 },
	{ "a removed file gets no new name", a_removed_file_gets_no_new_name, 0 },
	{ 0 },
};
